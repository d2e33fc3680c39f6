#!/bin/sh
# tools/check-includes: this tree passes, and each kind of offence is found.
. "$(dirname "$0")/lib.sh"
"$EVOCC_SOURCE_DIR/tools/check-includes" || fail "the tree has the offences above"

tree=$scratch/tree
mkdir -p "$tree/tools" "$tree/src/util" "$tree/src/search" "$tree/src/cli"
cp "$EVOCC_SOURCE_DIR/tools/check-includes" "$tree/tools/"

# accepts / rejects <line of C> <room>
try() {
    printf '/* file */\n%s\n' "$1" >"$tree/src/$2/probe.c"
    "$tree/tools/check-includes" >"$scratch/out"
    result=$?
    rm "$tree/src/$2/probe.c"
}
accepts() {
    try "$@"
    [ "$result" = 0 ] || fail "rejected in $2: $1"
}
rejects() {
    try "$@"
    [ "$result" = 1 ] || fail "not rejected in $2: $1"
    grep -q "src/$2/probe.c:2" "$scratch/out" || fail "the place is not named: $(cat "$scratch/out")"
}

accepts '#include "util/mem.h"' util
accepts '#include "util/mem.h"' search
accepts '#include "search/search.h"' cli
accepts '#include <evocc/evocc.h>' util
accepts '#include <sys/wait.h>' search
rejects '#include "space/space.h"' util
rejects '#include "cli/cli.h"' search
rejects '#include "nowhere/x.h"' cli
rejects '#  include "cli/cli.h"' search
rejects '#include <cli/cli.h>' search
rejects '#include "../cli/cli.h"' search
rejects '#include "search.h"' search

mkdir "$tree/src/attic"
"$tree/tools/check-includes" >/dev/null && fail "a folder that is no room was accepted"
exit 0
