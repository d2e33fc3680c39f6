#!/bin/sh
# evocc tune of a workload from end to end, on the fake driver and with a fake ptxas whose code it
# runs: what a candidate does is what the rules say (tests/gpu/fake_gpu_ptxas.c).
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
evocc=$EVOCC_BINARY_DIR/bin/evocc
fake=$EVOCC_BINARY_DIR/tests/gpu/libfake_driver.so
[ -x "$evocc" ] && [ -f "$fake" ] || skip "evocc or the fake driver is not built"
cd "$scratch" || exit 1
cp "$EVOCC_BINARY_DIR/tests/gpu/fake_gpu_ptxas" ptxas || exit 1
cp "$EVOCC_SOURCE_DIR/tests/study/axpy.ptx" .
export EVOCC_CUDA_DRIVER="$fake" EVOCC_NVML="$fake" EVOCC_RUNTIME_DIR="$scratch"
export EVOCC_REAL_PTXAS="$scratch/ptxas" XDG_CACHE_HOME="$scratch/cache" XDG_STATE_HOME="$scratch/state"
unset CUDA_VISIBLE_DEVICES
small="--pool-size 12 --cull-size 8 --generations 8 --seed 3"

# Nothing is left early here, so that a trial's number does not depend on who came before it.
cat >w.yaml <<'YAML'
evocc-workload: 1
module: axpy.ptx
kernel: axpy
launch: {grid: 4, block: 256}
arguments:
  - {name: n, type: u32, value: 1000}
  - {name: alpha, type: f32, value: 1.5}
  - {name: x, type: f32, shape: [1000], init: {normal: [0, 1]}}
  - {name: y, type: f32, shape: [1000], access: out}
measure: {energy_s: 0.1, deadline_s: 0.5, slow: 1000}
YAML

# ask <study> <SQL>: its answer, a line a row
ask() {
    python3 - "$1" "$2" <<'PY'
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print("|".join(str(field) for field in row))
PY
}
# trials <study>: what was asked and what came of it, times of the compiler left out
trials() {
    ask "$1" "SELECT id, generation, outcome, candidate, code_hash FROM trial ORDER BY id"
    ask "$1" "SELECT trial, name, value FROM metric WHERE name <> 'compile_time' ORDER BY 1, 2"
}
# tune <name> <arguments>: a study of its own; what it prints in <name>.out and <name>.err
tune() {
    name=$1
    shift
    "$evocc" tune w.yaml --study "$name.db" -o "$name.acf" "$@" >"$name.out" 2>"$name.err"
}
# says <file> <words>
says() {
    grep -q -e "$2" "$1" || fail "$1 does not say '$2': $(cat "$1")"
}

# A gain: found, compared in pairs, written down, applied.
cat >rules <<'RULES'
base 128
salt 16
spread 4
register-usage-level -8
maxnreg -5
RULES
tune gain $small || fail "tune: $(cat gain.err)"
says gain.out '^  runtime .* minimized'
says gain.out 'speed-up 1\.[0-9]*, 95 % interval 1\.[0-9]* to 1\.[0-9]*, 20 pairs in fresh processes: gain'
says gain.out 'floor 0.00 %'
says gain.out '^Fake GPU 0, driver 999.1.2, CUDA 13.0$'
says gain.out 'SM 1980 MHz'
says gain.err 'GPU busy [0-9]* %  [0-9]* duplicates saved'
says gain.acf '^  runtime: {baseline: .*, tuned: .*, speedup: 1\.[0-9]*, low: 1\.[0-9]*, high: 1\.[0-9]*, pairs: 20}'
says gain.acf '^  device: "\?Fake GPU 0'
"$evocc" show gain.acf >/dev/null || fail "show refuses what tune wrote"
"$evocc" report gain.db >again.out || fail "report"
head -n "$(grep -c '' gain.out)" again.out | cmp -s - gain.out || fail "report says something else: $(cat again.out)"
says again.out 'evocc run w.yaml --apply-controls=.*/gain.acf$'
"$evocc" report gain.db --json | python3 -c '
import json, sys
best = json.load(sys.stdin)["best"]
pairs = best["comparisons"][0]
assert best["apart"] and pairs["pairs"] == 20 and pairs["low"] > 1 and pairs["verdict"] == "gain"' ||
    fail "the JSON has no comparison: $("$evocc" report gain.db --json)"
"$evocc" run w.yaml --apply-controls gain.acf --max-pairs 8 >run.out || fail "run with the ACF"
says run.out 'speed-up  .* gain$'
[ "$(ask gain.db "SELECT count(*) FROM sample WHERE purpose = 'estimate'")" = 20 ] ||
    fail "the pairs are not in the study file"
[ "$(ask gain.db "SELECT count(*) FROM sample WHERE purpose = 'choice'")" -ge 20 ] ||
    fail "nobody was chosen on pairs of their own"
[ "$(ask gain.db 'SELECT count(DISTINCT code_hash) FROM trial')" -lt \
    "$(ask gain.db 'SELECT count(*) FROM trial')" ] || fail "no code came twice: the test is too weak"

# The same seed, other workers: the same trials, the same file.
tune other $small --workers 7 || fail "7 workers: $(cat other.err)"
trials gain.db >gain.trials
trials other.db >other.trials
cmp -s gain.trials other.trials || fail "7 workers asked other trials: $(diff gain.trials other.trials | head)"
cmp -s gain.acf other.acf || fail "7 workers wrote another ACF"

# Broken off at any time and resumed: the same trials, the same file.
echo 'axpy sleep=0.02' >>rules
for moment in 0.3 0.8 1.3; do
    rm -f cut.*
    "$evocc" tune w.yaml --study cut.db -o cut.acf $small -q >cut.out 2>&1 &
    sleep $moment
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    [ -s cut.db ] || continue
    "$evocc" tune --resume cut.db -q >cut.out 2>&1 || fail "resume after $moment s: $(cat cut.out)"
    trials cut.db >cut.trials
    cmp -s gain.trials cut.trials || fail "resumed after $moment s: $(diff gain.trials cut.trials | head)"
    cmp -s gain.acf cut.acf || fail "resumed after $moment s, another ACF"
done
[ -f cut.trials ] || fail "no study was ever broken off"

# What has changed is named; nothing of the study is touched.
# refuses <words in the message> <command before evocc> ...
refuses() {
    words=$1
    shift
    "$@" "$evocc" tune --resume cut.db >refused.out 2>&1 && fail "resumed although: $words"
    says refused.out "$words"
}
refuses 'the GPU has changed' env CUDA_VISIBLE_DEVICES=1
refuses "the GPU's driver has changed .*was 999.1.2, CUDA 13.0, is 1000.1" env EVOCC_FAKE_VERSION=1000.1
cp w.yaml kept.yaml
echo '# a remark' >>w.yaml
refuses 'the workload, or a file that it names, has changed' env
cp kept.yaml w.yaml
touch -d '2001-01-01' ptxas
refuses 'the file of ptxas has changed' env
touch -r "$EVOCC_BINARY_DIR/tests/gpu/fake_gpu_ptxas" ptxas

# Every way to be bad is an outcome of its own, the worker is replaced, the study goes on.
cat >rules <<'RULES'
base 128
salt 16
spread 4
register-usage-level -8
def-load-cache=ca wrong=3
def-load-cache=cg race=4
def-load-cache=cs illegal
def-load-cache=cv crash
def-load-cache=lu hang
def-store-cache=cg refuse
minnctapersm=3 !
RULES
tune bad --pool-size 32 --cull-size 16 --generations 4 --seed 5 || fail "with bad candidates: $(cat bad.err)"
for outcome in compile_failed launch_failed run_timeout gpu_fault wrong_output; do
    says bad.out " [0-9]* $outcome$"
done
says bad.out '[1-9][0-9]* workers replaced'
says bad.out 'speed-up 1\.'
[ -z "$(ask bad.db "SELECT id FROM trial WHERE candidate LIKE '%def-load-cache=c%' AND outcome = 'ok'")" ] ||
    fail "a planted fault was taken for right"
command=$(ask bad.db "SELECT command FROM trial WHERE outcome = 'wrong_output' LIMIT 1")
(PATH=$EVOCC_BINARY_DIR/bin:$PATH && eval "$command") >command.out 2>&1 && fail "$command: nothing wrong"
says command.out 'wrong_output: '

# A driver that is lost stops the study and keeps what it has.
echo 'maxnreg lost' >>rules
tune lost $small && fail "the driver was lost and the study went on"
says lost.err 'twice in a row'
[ "$(ask lost.db 'SELECT count(*) FROM trial')" -gt 0 ] || fail "the finished trials are gone"

# Faster in the search's own process alone: no gain, no ACF, and that is a result.
cat >rules <<'RULES'
base 128
salt 16
register-usage-level aged=9
RULES
tune none $small || fail "no gain: $(cat none.err)"
says none.out '^No significant gain'
says none.out 'no significant difference'
says none.err 'no ACF was written'
[ ! -e none.acf ] || fail "an ACF without a gain"

# The baseline itself.
echo 'axpy race=3' >>rules
tune baseline $small && fail "an unstable baseline was taken"
says baseline.err 'the baseline: unstable'
[ ! -e baseline.db ] || fail "an empty study file stays"
grep -v race= rules >r && mv r rules

# One study at a time on a GPU.
echo 'axpy sleep=0.1' >>rules
"$evocc" tune w.yaml --study first.db -o first.acf $small -q >/dev/null 2>&1 &
first=$!
sleep 0.5
tune second $small && fail "two studies measured on one GPU"
says second.err 'is in use\|measures\|busy'
kill -INT $first
wait $first
[ $? = 130 ] || fail "Ctrl-C did not end with 130"

# Objectives: energy beside runtime, shapes by name, what cannot be.
cat >rules <<'RULES'
base 128
salt 8
spread 4
register-usage-level -8
RULES
tune front --minimize runtime,energy --pool-size 6 --cull-size 4 --generations 2 || fail "energy: $(cat front.err)"
says front.out '^Pareto set'
[ -s front.acf/best.acf ] || fail "no best.acf: $(cat front.out)"
EVOCC_FAKE_NO_ENERGY=1 tune refused --minimize energy && fail "energy without a counter"
says refused.err 'does not tell its energy'
"$evocc" tune axpy.ptx --minimize runtime 2>no.err && fail "a runtime without a workload"
says no.err 'needs a workload'
sed -i 's/^launch:/shapes:\n  - {name: small, weight: 2, N: 500}\n  - {name: large, N: 1000}\nlaunch:/; s/value: 1000/value: N/; s/\[1000\]/[N]/' w.yaml
tune shapes --minimize runtime@small,runtime@large $small || fail "two shapes: $(cat shapes.err)"
says shapes.out '^  runtime@small '
says shapes.out 'runtime@large .* 20 pairs in fresh processes: gain'
tune unknown --minimize runtime@tall && fail "a shape that is not there"
says unknown.err "no metric 'runtime@tall'"

# Application parameters: other values are other PTX and another launch; the ACF carries them.
cat >nvcc <<'SH'
#!/bin/sh
tile=
while [ $# -gt 0 ]; do
    case $1 in
    -DTILE=*) tile=${1#-DTILE=} ;;
    -o) output=$2 && shift ;;
    *.cu) input=$1 ;;
    esac
    shift
done
[ "$tile" = 64 ] && { echo "axpy.cu(1): error: too large" >&2; exit 1; }
sed "s/DONE/tile_$tile/" "$(dirname "$input")/axpy.ptx" >"$output"
SH
chmod +x nvcc
export EVOCC_REAL_NVCC="$scratch/nvcc"
echo >axpy.cu
sed 's/^module: .*/module: axpy.cu\nparameters:\n  TILE: {values: [8, 16, 32, 64], default: 8}\nconstraints: [TILE ~= 32]/
    s/grid: 4/grid: TILE \/\/ 2/' kept.yaml >w.yaml
cat >rules <<'RULES'
base 128
salt 16
tile_16 -20
RULES
tune define $small || fail "parameters: $(cat define.err)"
says define.acf '^  define/TILE: 16$'
[ -n "$(ask define.db "SELECT id FROM trial WHERE candidate LIKE '%TILE=64%' AND outcome = 'compile_failed'")" ] ||
    fail "what nvcc refuses is no failed compilation"
[ -z "$(ask define.db "SELECT id FROM trial WHERE candidate LIKE '%TILE=32%'")" ] ||
    fail "a constraint was broken"
[ -z "$(ask define.db "SELECT id FROM trial WHERE candidate LIKE '%TILE=%ptx/%'")" ] ||
    fail "PTX controls under another PTX than they were listed from"
"$evocc" run w.yaml --apply-controls define.acf --max-pairs 8 >run.out 2>&1 || fail "run with parameters: $(cat run.out)"
says run.out 'speed-up .* gain$'
tune kept --keep-parameters $small || fail "--keep-parameters: $(cat kept.err)"
[ -z "$(ask kept.db "SELECT id FROM trial WHERE candidate LIKE '%define/%'")" ] ||
    fail "parameters moved although they were to be kept"
exit 0
