#!/bin/sh
# tools/ptxas: who is asked first, and a fetch (from a fake package index) that succeeds whole or
# leaves nothing behind.
. "$(dirname "$0")/lib.sh"
mkdir -p "$scratch/tree/tools" "$scratch/bin" "$scratch/path" "$scratch/cuda/bin"
cp "$EVOCC_SOURCE_DIR/tools/ptxas" "$EVOCC_SOURCE_DIR/tools/ptxas-wheel.txt" "$scratch/tree/tools/"
for tool in sh dirname mkdir mktemp rm tail uname cat; do
    for folder in /usr/bin /bin; do
        [ -x "$folder/$tool" ] && ln -sf "$folder/$tool" "$scratch/bin/$tool" && break
    done
done
# program <path> <body>
program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod +x "$1"
}
program "$scratch/path/ptxas" 'exit 0'
program "$scratch/cuda/bin/ptxas" 'exit 0'
program "$scratch/tree/tools/setup" 'exit 0'

# find <expected exit> <expected path> <NAME=value...>: without --fetch unless the last is fetch
find_ptxas() {
    expected=$1
    path=$2
    shift 2
    said=$(env -i PATH="$scratch/bin" "$@" 2>"$scratch/err")
    got=$?
    [ "$got" = "$expected" ] && [ "$said" = "$path" ] ||
        fail "$*: exit $got '$said', not $expected '$path'; $(cat "$scratch/err")"
}
tool=$scratch/tree/tools/ptxas
find_ptxas 0 "$scratch/path/ptxas" PATH="$scratch/path:$scratch/bin" "$tool"
find_ptxas 0 "$scratch/cuda/bin/ptxas" PATH="$scratch/path:$scratch/bin" CUDA_HOME="$scratch/cuda" "$tool"
find_ptxas 0 "$scratch/path/ptxas" EVOCC_REAL_PTXAS="$scratch/path/ptxas" CUDA_HOME="$scratch/cuda" "$tool"
find_ptxas 1 '' EVOCC_REAL_PTXAS=/no/such/program "$tool"
grep -q 'EVOCC_REAL_PTXAS is /no/such/program' "$scratch/err" || fail "the bad variable is not named"
find_ptxas 1 '' "$tool"
grep -q 'tools/ptxas --fetch' "$scratch/err" || fail "the remedy is not named"

# Its own name: python3 on PATH may be a script that starts it.
python=$(python3 -c 'import sys, zipfile; print(sys.executable)' 2>/dev/null) ||
    skip "python3 is missing"
# wheel <name in the wheel> <its text>: what the fake index serves
wheel() {
    rm -f "$scratch/served.whl"
    "$python" - "$scratch/served.whl" "$1" "$2" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("nvidia/cu13/bin/" + sys.argv[2], sys.argv[3])
    wheel.writestr("nvidia/cu13/bin/nvcc", "not wanted")
    wheel.writestr("x.dist-info/licenses/License.txt", "terms")
PYTHON
}
# `python3 -m pip download ... -d FOLDER` copies the served wheel; scripts go to the real one.
program "$scratch/bin/python3" "[ \"\$1\" = -m ] || exec $python \"\$@\"
[ -e '$scratch/served.whl' ] || { echo 'no route to the index' >&2; exit 1; }
while [ \$# -gt 1 ]; do shift; done
$(command -v cp) '$scratch/served.whl' \"\$1/\""

find_ptxas 1 '' "$tool" --fetch
grep -q 'no route to the index' "$scratch/err" || fail "the reason is not shown"
grep -q 'EVOCC_REAL_PTXAS' "$scratch/err" || fail "the remedy is not named"
wheel nothing_useful ''
find_ptxas 1 '' "$tool" --fetch
grep -q 'does not hold' "$scratch/err" || fail "the wrong reason: $(cat "$scratch/err")"
wheel ptxas '#!/bin/sh
exit 1'
find_ptxas 1 '' "$tool" --fetch
grep -q 'does not run' "$scratch/err" || fail "the wrong reason: $(cat "$scratch/err")"
[ ! -e "$scratch/tree/build/ptxas/ptxas" ] || fail "a program that does not run was kept"
wheel ptxas '#!/bin/sh
exit 0'
find_ptxas 0 "$scratch/tree/build/ptxas/ptxas" "$tool" --fetch
find_ptxas 0 "$scratch/tree/build/ptxas/ptxas" "$tool"
[ -e "$scratch/tree/build/ptxas/License.txt" ] || fail "its licence was not kept"
[ ! -e "$scratch/tree/build/ptxas/nvcc" ] || fail "more was kept than ptxas"
set -- "$scratch/tree/build/ptxas"/wheel.*
[ ! -e "$1" ] || fail "left behind: $1"
