# Sourced by the scripts beside it: a scratch folder, and how they end.
# shellcheck shell=sh
set -u
: "${EVOCC_SOURCE_DIR:?run this through ctest}" "${EVOCC_BINARY_DIR:?run this through ctest}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/evocc-test.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM

fail() {
    echo "FAILED: $*"
    exit 1
}
skip() {
    echo "$*"
    exit 77
}
