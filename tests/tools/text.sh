#!/bin/sh
# tools/check-text: this tree passes, and each kind of offence is found.
. "$(dirname "$0")/lib.sh"
"$EVOCC_SOURCE_DIR/tools/check-text"
case $? in
0) ;;
77) skip "git is missing, or this is not its checkout" ;;
*) fail "the tree has the offences above" ;;
esac

tree=$scratch/tree
mkdir -p "$tree/tools"
cp "$EVOCC_SOURCE_DIR/tools/check-text" "$tree/tools/"
cp "$EVOCC_SOURCE_DIR/.gitattributes" "$tree/"
git init -q "$tree" || fail "git init"
"$tree/tools/check-text" || fail "a clean tree was rejected"

# rejects <printf format of a file>
rejects() {
    # shellcheck disable=SC2059 # the format is the point
    printf "$1" >"$tree/probe"
    "$tree/tools/check-text" >"$scratch/out" && fail "not rejected: $1"
    grep -q '^probe' "$scratch/out" || fail "the place is not named: $(cat "$scratch/out")"
}
rejects 'caf\303\251\n'
rejects 'blank \n'
rejects 'tab\t\n'
rejects 'dos\r\n'
rejects 'no end'
rejects '<<<<<<< ours\n'
rejects '>>>>>>> theirs\n'
rejects 'see /ho''me/someone/file\n'
