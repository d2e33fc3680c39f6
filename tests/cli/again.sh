#!/bin/sh
# ACFs looked at again: show, explain, minimize, validate; with the right kernel, the wrong one, and
# files that are damaged.
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
ptxas=$("$EVOCC_SOURCE_DIR/tools/ptxas") || skip "no ptxas here"
export EVOCC_REAL_PTXAS="$ptxas" XDG_STATE_HOME="$scratch/state"
PATH=$EVOCC_BINARY_DIR/bin:$PATH
kernel=$EVOCC_SOURCE_DIR/examples/triton_attention_128x64_w4_sm90a.ptx
other=$EVOCC_SOURCE_DIR/examples/triton_attention_128x128_w4_sm90a.ptx
cd "$scratch" || exit 1

# An ACF with more controls than it needs: four that come along, one that does it.
mkdir made
cat >make.py <<'PY'
import hashlib, re, subprocess, sys
controls = dict(word.split("=") for word in sys.argv[2:])
text = open(sys.argv[1]).read()
target = {k: re.search(rf'{k}: "?([^,"}}\n]+)', text).group(1) for k in ("version", "arch", "kernel", "ptx")}
lines = ["evocc-acf 1", "compiler ptxas", f"version {target['version']}", f"arch {target['arch']}",
         f"kernel {target['kernel']}", f"ptx {target['ptx']}"]
lines += [f"control {n} {v}" for n, v in sorted(controls.items())]
digest = hashlib.sha256("".join(l + "\n" for l in lines).encode()).hexdigest()
body = re.sub(r"controls:\n(  .*\n)+", "controls:\n" + "".join(
    f"  {n}: \"{v}\"\n" for n, v in sorted(controls.items())), text)
print(re.sub(r'digest: ".*"', f'digest: "sha256:{digest}"', body), end="")
PY
evocc tune "$kernel" --minimize spill_bytes --pool-size 8 --cull-size 6 --generations 2 --seed 3 \
    --study s.db -o small.acf -q >/dev/null || fail "tune"
python3 make.py small.acf ptx/order@fa=pressure ptx/sink@fa.v41=out ptx/sink@fa.v47=out \
    ptx/copy-cache@fa.b2.cp11=L2_256B ptx/mad@fa=split >big.acf || fail "make.py"
evocc show big.acf >show.out || fail "show: the file made by hand is refused: $(evocc show big.acf 2>&1)"
grep -q 'order of the instructions' show.out || fail "show without help texts"

# minimize: what is left keeps the gain, and nothing of it can go.
evocc minimize big.acf "$kernel" >min.out 2>min.err || fail "minimize: $(cat min.err)"
[ -s big.min.acf ] || fail "no big.min.acf"
grep -q ' of 5 controls keep the gain' min.out || fail "$(cat min.out)"
[ "$(grep -c '^  ptx/' big.min.acf)" -lt 5 ] || fail "nothing was left out: $(cat big.min.acf)"
spills() { evocc explain "$1" "$kernel" --json | python3 -c '
import json, sys
m = json.load(sys.stdin)["metrics"]["spill_bytes"]; print(int(m["without"]), int(m["with"]))'; }
[ "$(spills big.min.acf)" = '16 0' ] || fail "the minimized file gives $(spills big.min.acf)"
evocc ptxas --apply-controls big.min.acf --strict -arch=sm_90a "$kernel" -o min.cubin ||
    fail "the wrapper refuses the minimized file"
evocc minimize big.acf "$kernel" -o few.acf --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert r["controls_before"] == 5 and r["minimized"]["spill_bytes"] == 0 and r["controls"]' ||
    fail "minimize --json"
cmp -s few.acf big.min.acf || fail "minimize gave two answers"
cp "$kernel" mine.ptx
evocc minimize big.acf mine.ptx -o mine.ptx 2>err
[ $? = 2 ] || fail "-o names the kernel: $(cat err)"
cmp -s "$kernel" mine.ptx || fail "-o overwrote the kernel"
evocc minimize big.acf "$other" 2>err
[ $? = 1 ] || fail "another kernel: $(cat err)"
grep -q 'ptx: the file is for' err || fail "another kernel: $(cat err)"
evocc minimize big.acf "$kernel" --minimize compile_time 2>err
[ $? = 1 ] || fail "a metric that cannot be kept: $(cat err)"
evocc minimize big.acf "$kernel" --minimize shared_bytes 2>err
[ $? = 1 ] || fail "no gain: $(cat err)"
grep -q 'no gain to keep' err || fail "no gain: $(cat err)"

# explain: both sides, occupancy, instructions of the PTX, then of the machine code.
evocc explain big.acf "$kernel" >explain.out || fail "explain"
for line in '^  registers  *255' '^  spill_bytes  *16  *0  *-16$' '^Occupancy of .* blocks of 128 threads,' \
    '^Instructions of the PTX' '^  tensor cores  *30  *30$' '^  all  *1578 ' '^Controls (5)$'; do
    grep -q "$line" explain.out || fail "explain lacks '$line': $(cat explain.out)"
done
evocc explain big.acf "$kernel" --threads 2000 2>/dev/null
[ $? = 2 ] || fail "--threads 2000"
cat >made/nvdisasm <<'SH'
#!/bin/sh
cat <<'SASS'
.section .text.other,"ax",@progbits
.text.other:
        /*0000*/                   LDG.E R2, [R4] ;
.section .text.fa,"ax",@progbits
.text.fa:
.L_x_1:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/                   HGMMA.64x64x16.F32 R24, gdesc[UR8], R24 ;
        /*0030*/               @P1 STL [R1], R5 ;
        /*0040*/                   FFMA R0, R1, R2, R3 ;
        /*0050*/                   IADD3 R0, R1, R2, RZ ;
        /*0060*/                   EXIT ;
        /*0070*/                   NOP;
SASS
SH
chmod +x made/nvdisasm
PATH=$scratch/made:$PATH evocc explain big.acf "$kernel" >sass.out || fail "explain with a disassembler"
for line in '^Instructions of the machine code$' '^  global loads  *1  *1$' '^  local memory (spills)  *1  *1$' \
    '^  tensor cores  *1  *1$' '^  floating point  *1  *1$' '^  integer, logic  *1  *1$' \
    '^  control flow  *1  *1$' '^  all  *7  *7$'; do
    grep -q "$line" sass.out || fail "SASS: lacks '$line': $(cat sass.out)"
done

# validate: kept, rejected, not to be judged; the log has a line for each verdict.
evocc validate big.min.acf "$kernel" >out || fail "a good file is rejected: $(cat out)"
grep -q '^kept: spill_bytes 16 -> 0' out || fail "$(cat out)"
grep -q '^environment: as when it was found$' out || fail "$(cat out)"
evocc validate big.min.acf "$other" --log my.log >out
[ $? = 1 ] || fail "another kernel is kept"
grep -q '^rejected: ptx: the file is for' out || fail "$(cat out)"
grep -q '^environment: ptx is evocc-ptx' out || fail "the field that differs is not named: $(cat out)"
grep -q "^[0-9TZ:-]*	rejected	big.min.acf	$other	" my.log || fail "the log: $(cat my.log)"
python3 make.py small.acf ptx/sink@fa.v41=out >useless.acf
evocc validate useless.acf "$kernel" --log my.log >out
[ $? = 1 ] || fail "a file without a gain is kept: $(cat out)"
python3 make.py small.acf ptx/sink@fa.v99999=out >unknown.acf
evocc validate unknown.acf "$kernel" --json --log my.log >out
[ $? = 1 ] || fail "an unknown control is kept: $(cat out)"
python3 -m json.tool <out >/dev/null || fail "validate --json: $(cat out)"
[ "$(wc -l <my.log)" = 3 ] || fail "three verdicts, but: $(cat my.log)"
grep -q '	kept	' "$XDG_STATE_HOME"/evocc/validate.log || fail "no default log"
sed 's/pressure/late/' big.acf >damaged.acf
for command in "explain damaged.acf $kernel" "minimize damaged.acf $kernel" "show damaged.acf"; do
    # shellcheck disable=SC2086 # words
    evocc $command >out 2>err
    [ $? = 1 ] || fail "$command: a damaged file: $(cat err)"
    grep -q 'damaged.acf' err || fail "$command: $(cat err)"
    [ -s out ] && fail "$command: an error, but also output"
done
evocc validate damaged.acf "$kernel" 2>err
[ $? = 2 ] || fail "a damaged file cannot be judged: $(cat err)"
evocc validate big.acf absent.ptx 2>err
[ $? = 2 ] || fail "an absent kernel cannot be judged: $(cat err)"
exit 0
