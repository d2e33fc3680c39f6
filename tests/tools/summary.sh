#!/bin/sh
# tools/run-tests counts cases of cmocka programs and scripts, and never calls a bad run good.
. "$(dirname "$0")/lib.sh"
project=$scratch/project
mkdir "$project"
cat >"$project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(probe NONE)
enable_testing()
function(probe name script)
    add_test(NAME ${name} COMMAND sh -c ${script})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1)
endfunction()
set(ok "echo '[  PASSED  ] 3 test(s).'")
set(skip "echo '[  SKIPPED ] 1 test(s), listed below:'" "echo '[  SKIPPED ] needs_gpu'")
set(bad "echo '[  FAILED  ] 2 test(s), listed below:'")
list(JOIN skip " && " skip)
probe(script_ok "exit 0")
probe(script_skipped "echo no valgrind here && exit 77")
probe(cmocka_ok "${ok}")
probe(cmocka_skip "${ok} && ${skip}")
probe(script_bad "exit 1")
probe(cmocka_bad "${ok} && ${bad} && exit 2")
probe(hangs "exec sleep 5")
probe(crashes "kill -SEGV $$")
add_test(NAME absent COMMAND no-such-program)
CMAKE
cmake -G Ninja -S "$project" -B "$scratch/build" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"

# expect <status> <last line> <ctest options...>
expect() {
    status=$1
    line=$2
    shift 2
    "$EVOCC_SOURCE_DIR/tools/run-tests" "$scratch/build" "$@" >"$scratch/out" 2>&1
    got=$?
    last=$(tail -n 1 "$scratch/out")
    [ "$got" = "$status" ] && [ "$last" = "$line" ] ||
        fail "$*: exit $got, '$last'; not $status, '$line'"
}
expect 0 '7 passed, 0 failed, 2 skipped' -R '_ok|_skip'
grep -q '^skipped: script_skipped: no valgrind here$' "$scratch/out" || fail "a reason is missing"
grep -q '^skipped: cmocka_skip: needs_gpu$' "$scratch/out" || fail "a skipped case is not named"
expect 1 '0 passed, 1 failed, 0 skipped' -R script_bad
expect 1 '3 passed, 2 failed, 0 skipped' -R cmocka_bad
expect 1 '0 passed, 1 failed, 0 skipped' -R hangs
expect 1 '0 passed, 1 failed, 0 skipped' -R crashes
expect 1 '0 passed, 1 failed, 0 skipped' -R absent
expect 1 '0 passed, 0 failed, 0 skipped' -R nothing_of_this_name
expect 1 '0 passed, 0 failed, 1 skipped' -R script_skipped
expect 1 '10 passed, 6 failed, 2 skipped'
