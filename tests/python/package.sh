#!/bin/sh
# pip builds a source distribution, and from that the package, which then passes its own tests.
. "$(dirname "$0")/../tools/lib.sh"
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    skip "Python 3.10 or newer is missing"
"$python" -m venv "$scratch/env" >/dev/null 2>&1 || skip "Python has no module venv"
"$scratch/env/bin/pip" install -q build pytest >"$scratch/log" 2>&1 || skip "pip installs nothing here"
"$scratch/env/bin/python" -m build -q --sdist --outdir "$scratch" "$EVOCC_SOURCE_DIR" \
    >"$scratch/log" 2>&1 || fail "no source distribution: $(tail -n 5 "$scratch/log")"
"$scratch/env/bin/pip" install -q "$scratch"/evocc-*.tar.gz >"$scratch/log" 2>&1 ||
    fail "it does not install: $(tail -n 5 "$scratch/log")"
PATH="$scratch/env/bin:$PATH"
export PATH
cd "$EVOCC_SOURCE_DIR/python/tests" || fail "the tests are not there"
python -m pytest -q -p no:cacheprovider -p no:faulthandler . >"$scratch/log" 2>&1 ||
    fail "$(tail -n 30 "$scratch/log")"
