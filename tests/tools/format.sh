#!/bin/sh
# Every C file is as clang-format 14 would write it (other versions differ in details).
. "$(dirname "$0")/lib.sh"
program=
for candidate in clang-format clang-format-14; do
    case $($candidate --version 2>/dev/null) in
    *' version 14.'*) program=$candidate ;;
    esac
done
[ -n "$program" ] || skip "clang-format 14 is missing"
cd "$EVOCC_SOURCE_DIR" || exit 1
find include src tests examples bench -name '*.[ch]' -exec "$program" --dry-run -Werror {} + ||
    fail "run $program -i on these files"
printf 'int  x ;\n' >"$scratch/probe.c"
"$program" --style=file:.clang-format --dry-run -Werror "$scratch/probe.c" 2>/dev/null &&
    fail "a badly formatted file was accepted"
exit 0
