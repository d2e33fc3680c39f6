#!/bin/sh
# Every shell script of the tree passes shellcheck.
. "$(dirname "$0")/lib.sh"
command -v shellcheck >/dev/null || skip "shellcheck is missing"
cd "$EVOCC_SOURCE_DIR" || exit 1
grep -rlE '^#!/bin/(ba)?sh' check demo .ci tools tests bench examples >"$scratch/scripts" 2>/dev/null
[ -s "$scratch/scripts" ] || fail "no script found"
xargs shellcheck -S warning -x -P SCRIPTDIR <"$scratch/scripts" || fail "see above"
printf '#!/bin/sh\necho $x "\n' >"$scratch/probe"
shellcheck -S warning "$scratch/probe" >/dev/null && fail "a bad script was accepted"
exit 0
