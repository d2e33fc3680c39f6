#!/bin/sh
# The shared library exports exactly the functions that the public header marks EVOCC_API.
# Usage: exports.sh LIBRARY
. "$(dirname "$0")/lib.sh"
command -v nm >/dev/null || skip "nm (binutils) is missing"
nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort >"$scratch/exported" || fail "nm $1"
# A declaration may span lines: join them up to the semicolon, then take the name before '('.
tr '\n' ' ' <"$EVOCC_SOURCE_DIR/include/evocc/evocc.h" | sed 's/;/;\n/g' |
    sed -n 's/.*EVOCC_API [^;(]*[ *]\(evocc_[a-z0-9_]*\)(.*;$/\1/p' | sort >"$scratch/declared"
[ -s "$scratch/declared" ] || fail "no declaration found in the header"
diff "$scratch/declared" "$scratch/exported" ||
    fail "'<' is declared but not exported, '>' is exported but not declared"
