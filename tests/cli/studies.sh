#!/bin/sh
# What is done with studies and ACFs once they are there: report, export, studies, diff; and the same
# with files that are empty, unfinished, damaged, or no study files at all.
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
ptxas=$("$EVOCC_SOURCE_DIR/tools/ptxas") || skip "no ptxas here"
export EVOCC_REAL_PTXAS="$ptxas" XDG_STATE_HOME="$scratch/state"
PATH=$EVOCC_BINARY_DIR/bin:$PATH
odd="$scratch/<b>it's \"odd\" & $(printf '\303\244')"
mkdir "$odd" && cd "$odd" || exit 1
cp "$EVOCC_SOURCE_DIR/examples/triton_layernorm_8192_w8_sm90a.ptx" 'a <script>.ptx'
evocc tune 'a <script>.ptx' --minimize registers,code_bytes --pool-size 8 --cull-size 6 \
    --generations 3 --seed 1 -q >tune.out || fail "tune"
study='a <script>.db'

# The page: made, well formed, odd names escaped.
evocc report "$study" -o page.html || fail "report -o"
[ -s page.html ] || fail "no page"
grep -q '<script' page.html && fail "a name became a tag"
grep -q '&#60;script&#62;' page.html || fail "the input is not named"
if command -v xmllint >/dev/null; then
    xmllint --noout page.html || fail "the page is not well formed"
fi
evocc report "$study" >text || fail "report"
for heading in 'Pareto set' Convergence 'Valid trials by generation' 'Controls that matter' \
    'Where the time went' Environment 'How to use it'; do
    grep -q "^$heading" text || fail "the terminal's report lacks '$heading'"
done
command=$(sed -n 's/^  \(evocc ptxas --apply-controls=.*\)/\1/p' text)
eval "$command" >apply.out 2>&1 || fail "the command of the report: $command: $(cat apply.out)"
[ -s kernel.cubin ] || fail "the command of the report made nothing"
grep -q 'not applied' apply.out && fail "the command of the report does not apply"
evocc report "$study" --json -o x.html 2>err
[ $? = 2 ] || fail "--json and -o: $(cat err)"
evocc report "$study" -o no/such/folder/x.html 2>err
[ $? = 1 ] && grep -q 'no/such/folder' err || fail "-o into nowhere: $(cat err)"

cp "$study" same.db
ln -s same.db link.db
for command in "report same.db -o same.db" "report same.db -o link.db" "export same.db -o ./same.db"; do
    # shellcheck disable=SC2086 # words
    evocc $command 2>err
    [ $? = 2 ] || fail "evocc $command: $(cat err)"
done
cmp -s "$study" same.db || fail "a study was overwritten by its report"
rm same.db link.db

# CSV and JSON have the same trials, and read as what they are.
evocc export "$study" -o trials.csv || fail "export"
evocc export "$study" --json -o trials.json || fail "export --json"
python3 - <<'PY' || fail "CSV and JSON differ, or do not read"
import csv, json
rows = list(csv.DictReader(open("trials.csv", newline="")))
data = json.load(open("trials.json"))
assert len(rows) == len(data["trials"]) >= 20
assert data["settings"]["input_path"] == "a <script>.ptx"
for row, trial in zip(rows, data["trials"]):
    assert int(row["trial"]) == trial["trial"] and row["outcome"] == trial["outcome"]
    assert row["controls"] == " ".join(f"{n}={v}" for n, v in trial["controls"].items())
    for name, value in trial["metrics"].items():
        assert row[name] == "" and value is None or float(row[name]) == value, name
    assert "compile_time_s" in row
PY
evocc export "$study" --csv --json 2>/dev/null
[ $? = 2 ] || fail "--csv and --json at once"

# The list: ours, unfinished ones, and others left alone.
evocc tune 'a <script>.ptx' --minimize registers --study long.db >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do
    [ "$(evocc export long.db 2>/dev/null | grep -c ',ok,')" -ge 3 ] && break
    sleep 0.1
done
kill -INT $pid
wait $pid
echo precious >other.db
cp "$study" damaged.db
printf '%04096d' 0 | dd of=damaged.db bs=4096 seek=2 conv=notrunc 2>/dev/null
evocc studies >list 2>notes || fail "studies"
grep -q '^a <script>.db .* finished ' list || fail "the study is not listed: $(cat list)"
grep -q '^long.db .* not finished ' list || fail "the unfinished study is not listed: $(cat list)"
grep -q 'other.db' notes || fail "nothing said of the file that is none: $(cat notes)"
[ "$(cat other.db)" = precious ] || fail "a file of someone else's was touched"
evocc studies --json 2>/dev/null | python3 -m json.tool >/dev/null || fail "studies --json"
evocc report long.db >text || fail "report of an unfinished study"
grep -q -- '--resume long.db' text || fail "it is not said how to go on"
evocc report long.db -o long.html || fail "a page of an unfinished study"
for command in report export; do
    evocc $command other.db 2>err
    [ $? = 1 ] && grep -q 'other.db.*not a study file' err || fail "$command other.db: $(cat err)"
    evocc $command absent.db 2>err
    [ $? = 1 ] && grep -q 'absent.db' err || fail "$command absent.db: $(cat err)"
done
mkdir empty
evocc studies empty >list 2>notes || fail "an empty folder is no error"
grep -q 'no study file' notes || fail "an empty folder: $(cat notes)"
evocc studies absent 2>/dev/null && fail "an absent folder is an error"

# Pruning: never without being told to, and what is left still reports, exports and resumes.
before=$(wc -c <"$study")
evocc studies prune "$study" </dev/null 2>err && fail "pruned without asking"
grep -q 'bytes.*--yes\|--yes' err || fail "prune: $(cat err)"
[ "$(wc -c <"$study")" = "$before" ] || fail "the file changed although nothing was agreed"
evocc studies prune "$study" --yes >pruned 2>/dev/null || fail "prune --yes"
[ "$(wc -c <"$study")" -lt "$before" ] || fail "pruning made nothing smaller"
evocc export "$study" | cmp -s - trials.csv || fail "pruning changed the trials"
evocc tune --resume "$study" -q >/dev/null || fail "a pruned study does not resume"
evocc studies prune 2>/dev/null
[ $? = 2 ] || fail "prune without a file"
evocc studies --yes 2>/dev/null
[ $? = 2 ] || fail "--yes without prune"

# diff: as diff(1).
set -- 'a <script>.front'/trial-*.acf
best='a <script>.front/best.acf'
evocc diff "$best" "$best" >out || fail "a file differs from itself"
[ -s out ] && fail "a file differs from itself: $(cat out)"
for file in "$@"; do
    cmp -s "$file" "$best" || other=$file
done
[ -n "${other:-}" ] || fail "the front has one point only: another seed is needed"
evocc diff "$best" "$other" >out
[ $? = 1 ] || fail "two points of a front are the same"
grep -q '^[-+~] ptx' out || fail "no control differs: $(cat out)"
grep -q '^    [A-Z]' out || fail "no help text: $(cat out)"
evocc diff "$best" "$other" --json | python3 -c 'import json, sys
d = json.load(sys.stdin); assert not d["same"] and d["controls"] and not d["for"]' || fail "diff --json"
evocc diff "$best" absent.acf 2>/dev/null
[ $? = 2 ] || fail "trouble is 2"
exit 0
