#!/bin/sh
# evocc tune from end to end with the real ptxas: a gain, the ACF in a build, resume, one seed one
# sequence.
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
ptxas=$("$EVOCC_SOURCE_DIR/tools/ptxas") || skip "no ptxas here"
export EVOCC_REAL_PTXAS="$ptxas" XDG_STATE_HOME="$scratch/state"
PATH=$EVOCC_BINARY_DIR/bin:$PATH
kernel=$EVOCC_SOURCE_DIR/examples/triton_attention_128x64_w4_sm90a.ptx
cd "$scratch" || exit 1
small="--pool-size 8 --cull-size 6 --generations 4 --seed 3"

# trials <study>: what was asked and what came of it, times left out
trials() {
    sqlite3 "$1" "SELECT id, generation, outcome, candidate, code_hash FROM trial ORDER BY id;
        SELECT trial, name, value FROM metric WHERE name <> 'compile_time' ORDER BY 1, 2"
}
command -v sqlite3 >/dev/null || trials() {
    python3 - "$1" <<'PY'
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
for row in database.execute("SELECT id, generation, outcome, candidate, code_hash FROM trial ORDER BY id"):
    print(row)
for row in database.execute("SELECT trial, name, value FROM metric WHERE name <> 'compile_time' ORDER BY 1, 2"):
    print(row)
PY
}

# await <study> <trials>: until the study file holds that many lines of trials
await() {
    for _ in $(seq 300); do
        [ -s "$1" ] && [ "$(trials "$1" 2>/dev/null | grep -c .)" -ge "$2" ] && return
        sleep 0.1
    done
    fail "$1 does not grow"
}

# A gain, and everything beside it.
evocc tune "$kernel" --arch sm_90a --minimize registers --study a.db -o a.acf $small --workers 2 \
    >a.out 2>a.err || fail "tune: $(cat a.err)"
grep -q '^  registers .* minimized$' a.out || fail "no row of the objective: $(cat a.out)"
[ -s a.acf ] || fail "no ACF: $(cat a.out)"
evocc show a.acf >show.out || fail "show refuses what tune wrote"
[ "$(trials a.db | grep -c 'ptx/\|ptxas/')" -gt 10 ] || fail "hardly a trial has a control"
evocc report a.db | head -n "$(wc -l <a.out)" | cmp -s - a.out ||
    fail "report says something else than tune did"
evocc report a.db --json | python3 -m json.tool >/dev/null || fail "no JSON"

# The same seed asks the same with other workers, and gives the same file to the byte.
evocc tune "$kernel" --arch sm_90a --minimize registers --study b.db -o b.acf $small --workers 8 -q \
    >b.out || fail "tune with 8 workers"
trials a.db >a.trials
trials b.db >b.trials
cmp -s a.trials b.trials || fail "1 and 8 workers asked other trials: $(diff a.trials b.trials | head)"

# Broken off twice by kill -9 and resumed: the same trials as the unbroken run.
evocc tune "$kernel" --arch sm_90a --minimize registers --study c.db -o c.acf $small --workers 2 -q \
    >/dev/null 2>&1 &
await c.db 10
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
before=$(trials c.db | grep -c .)
evocc tune --resume c.db -o c.acf --workers 1 -q >/dev/null 2>&1 &
await c.db $((before + 12))
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
before=$(trials c.db | grep -c .)
evocc tune --resume c.db -o c.acf -q >c.out || fail "resume"
trials c.db >c.trials
cmp -s a.trials c.trials || fail "the resumed run asked other trials: $(diff a.trials c.trials | head)"
[ "$before" -lt "$(grep -c . c.trials)" ] || fail "nothing was left to resume: the test is too slow"
cmp -s a.acf c.acf || fail "the resumed run wrote another ACF: $(diff a.acf c.acf)"
evocc tune --resume c.db -o c2.acf -q >/dev/null || fail "resuming a finished study"
cmp -s a.acf c2.acf || fail "a finished study gives another ACF"

# From another folder, without -o: the input and the output are those it began with.
mkdir elsewhere
rm c.acf
(cd elsewhere && evocc tune --resume ../c.db -q >/dev/null) || fail "resume from another folder"
cmp -s a.acf c.acf || fail "a run resumed elsewhere did not write where the first one would have"

# The best has no control that does nothing: leaving any of them out makes it worse.
evocc report a.db --json | python3 -c '
import json, sys
best = json.load(sys.stdin)["best"]
controls = [f"{name}={value}" for name, value in best["controls"].items()]
print(int(best["metrics"]["registers"]))
for left_out in controls:
    print(" ".join(c for c in controls if c != left_out))' >trimmed
read -r least <trimmed
sed 1d trimmed | while read -r fewer; do
    now=$(evocc compile "$kernel" --with "$fewer" | sed -n 's/^registers *//p')
    [ "$now" -gt "$least" ] || fail "'$fewer' would have done as well"
done || exit 1

# Ctrl-C: finished trials are kept, exit 130, no child stays.
evocc tune "$kernel" --arch sm_90a --minimize registers --study d.db $small >/dev/null 2>d.err &
pid=$!
await d.db 10
kill -INT $pid
wait $pid
status=$?
[ $status = 130 ] || fail "Ctrl-C ended with $status: $(cat d.err)"
grep -q -- '--resume d.db' d.err || fail "Ctrl-C did not say how to go on: $(cat d.err)"
[ "$(trials d.db | grep -c .)" -gt 0 ] || fail "Ctrl-C lost the trials"

# In a build: the cubin of the wrapper has the code of the study's best trial, and ptxas -v agrees.
evocc ptxas --apply-controls a.acf -v -arch=sm_90a "$kernel" -o with.cubin >v.out 2>&1 ||
    fail "the wrapper: $(cat v.out)"
best=$(evocc report a.db --json | python3 -c '
import json, sys
best = json.load(sys.stdin)["best"]
print(best["trial"], int(best["metrics"]["spill_bytes"]), int(best["metrics"]["registers"]), best["code_hash"],
      " ".join(f"{name}={value}" for name, value in best["controls"].items()), sep="|")')
IFS='|' read -r trial spill registers hash controls <<TEXT
$best
TEXT
evocc compile "$kernel" --arch sm_90a --with "$controls" -o again.cubin >compile.out ||
    fail "compile refuses trial $trial: $controls"
grep -q "$hash" compile.out || fail "compile gave other code than trial $trial"
cmp -s with.cubin again.cubin || fail "the wrapper's cubin is not that of trial $trial"
python3 - "$spill" "$registers" v.out <<'PY' || fail "ptxas -v says something else: $(cat v.out)"
import re, sys
text = open(sys.argv[3]).read()
stores, loads = map(int, re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", text).groups())
registers = int(re.search(r"Used (\d+) registers", text).group(1))
sys.exit(not (stores + loads == int(sys.argv[1]) and registers == int(sys.argv[2])))
PY

# The command that tune prints applies, options of the user included.
evocc tune "$kernel" --minimize spill_bytes --study "f g.db" -o "f g.acf" $small -- -maxrregcount=128 \
    >/dev/null 2>f.err || fail "tune with options: $(cat f.err)"
command=$(sed -n 's/^apply it:  //p' f.err)
eval "$command -v" >v.out 2>&1 || fail "$command: $(cat v.out)"
grep -q 'not applied' v.out && fail "the printed command does not apply: $(cat v.out)"

# Two objectives: a folder with one ACF a point, an index, and best.acf.
evocc tune "$kernel" --minimize spill_bytes --minimize registers,code_bytes --study e.db -o front $small -q \
    >e.out || fail "several objectives"
grep -q '^Pareto set' e.out || fail "no Pareto set: $(cat e.out)"
[ -s front/best.acf ] && [ -s front/index.json ] || fail "the folder lacks best.acf or index.json"
for file in front/*.acf; do
    evocc show "$file" >/dev/null || fail "$file is refused"
done
exit 0
