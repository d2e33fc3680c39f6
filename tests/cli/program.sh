#!/bin/sh
# A program of the host from end to end with the real gcc: a study of its size, resume, the ACF in
# builds by the wrapper and by CMake.
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
real=$(command -v gcc) || skip "no gcc here"
export XDG_STATE_HOME="$scratch/state" XDG_CACHE_HOME="$scratch/cache"
PATH=$EVOCC_BINARY_DIR/bin:$PATH
cd "$scratch" || exit 1
programs=$EVOCC_SOURCE_DIR/examples/programs
size=$programs/lz-size.yaml
small="--pool-size 12 --cull-size 8 --generations 3 --seed 2"

# ---- tune ----
evocc tune "$size" --minimize code_bytes --study a.db -o size.acf $small >a.out 2>a.err ||
    fail "tune: $(cat a.err)"
[ -s size.acf ] || fail "no ACF: $(cat a.out)"
grep -q '^for: {compiler: gcc, version: "[0-9.]*", arch: .*, kernel: "\*",$' size.acf ||
    fail "not for gcc: $(head -3 size.acf)"
grep -q ptx: size.acf && fail "a file for gcc names a PTX"
grep -q 'evocc gcc --apply-controls=size.acf -Os -c FILE.c' a.err || fail "how to apply: $(cat a.err)"
evocc show size.acf >/dev/null || fail "show refuses what tune wrote"
evocc tune --resume a.db -q >b.out 2>&1 || fail "resume: $(cat b.out)"

for word in spill_bytes runtime score; do
    evocc tune "$size" --minimize $word --study no.db -q >no.out 2>&1 && fail "$word of an object file"
    [ -e no.db ] && fail "a study file is left of what could not begin"
done
sed 's/gcc$/gcc\ncompiler-path: \/nowhere\/gcc/' "$size" >lost.yaml
evocc tune lost.yaml --minimize code_bytes -q >no.out 2>&1 && fail "a compiler that is not there"
grep -q /nowhere/gcc no.out || fail "which compiler: $(cat no.out)"

# Controls that do not reach the compiler: the study says so instead of searching noise.
cat >deaf <<'DEAF'
#!/bin/sh
for word; do
    case $word in -[fOm]* | --param*) ;; *) set -- "$@" "$word" ;; esac
    shift
done
exec gcc "$@"
DEAF
chmod +x deaf
sed "s#^compiler: gcc#&\ncompiler-path: $scratch/deaf#; s#{here}#$programs#" "$size" >deaf.yaml
evocc tune deaf.yaml --minimize code_bytes -q >no.out 2>&1 && fail "a compiler that drops all options"
grep -q 'do not reach the compiler' no.out || fail "no canary: $(cat no.out)"

# A program that runs, and is right: the whole way with pairs at the end.
sed "s#lz.c#$programs/lz.c#" "$programs/lz.yaml" >run.yaml
evocc tune run.yaml --pool-size 4 --cull-size 2 --generations 2 -o run.acf -q >run.out 2>&1 ||
    fail "tune of a run: $(cat run.out)"
grep -q 'against the baseline\|No significant gain' run.out || fail "no comparison: $(cat run.out)"

# ---- the wrapper ----
"$real" -Os -c "$programs/lz.c" -o plain.o || exit 1
evocc gcc --apply-controls=size.acf -Os -c "$programs/lz.c" -o tuned.o 2>err || fail "$(cat err)"
[ -s err ] && fail "it said: $(cat err)"
cmp -s plain.o tuned.o && fail "the controls did not reach gcc"
evocc gcc -Os -Wall -I. -DX=1 -g0 -MD -MF x.d -c "$programs/lz.c" -o again.o --apply-controls size.acf ||
    fail "with options that do not concern the code"
[ -s x.d ] || fail "no dependencies were written"

# Another level: one notice, and what the compiler itself would have done.
"$real" -O2 -c "$programs/lz.c" -o plain2.o
evocc gcc --apply-controls=size.acf -O2 -c "$programs/lz.c" -o other.o 2>err || fail "$(cat err)"
cmp -s plain2.o other.o || fail "a mismatch changed the code"
grep -q "base options: the file is for '-Os', this is '-O2'" err || fail "no reason: $(cat err)"
evocc gcc --apply-controls=size.acf --strict -O2 -c "$programs/lz.c" -o no.o 2>/dev/null &&
    fail "--strict let a mismatch pass"

# Commands without machine code: the compiler's own words and nothing else.
for words in "--version" "-dumpmachine" "-E $programs/lz.c" "-print-prog-name=ld"; do
    # shellcheck disable=SC2086 # words of options
    "$real" $words >expected 2>expected.err
    evocc gcc --apply-controls=size.acf $words >got 2>got.err || fail "$words"
    cmp -s expected got && cmp -s expected.err got.err || fail "$words is not what gcc says"
done

# When the tuned compilation fails, the original's own words and status.
echo 'int x = ;' >bad.c
"$real" -Os -c bad.c 2>expected.err
status=$?
evocc gcc --apply-controls=size.acf -Os -c bad.c 2>got.err
[ $? -eq $status ] || fail "another exit status than gcc's"
grep -v '^evocc gcc: ' got.err | cmp -s - expected.err || fail "other messages than gcc's"

# Every word reaches the compiler byte for byte.
cat >fake <<'FAKE'
#!/bin/sh
for word; do printf '<%s>\n' "$word"; done
FAKE
chmod +x fake
EVOCC_REAL_GCC=$scratch/fake evocc gcc -c 'a b.c' '-DX="q r"' "-D$(printf 'n\nl')" '' >words
printf '<%s>\n' -c 'a b.c' '-DX="q r"' "-D$(printf 'n\nl')" '' | cmp -s - words || fail "$(cat words)"

# Values outside their domains, options in disguise: not applied.
sed 's/^  gcc\/O: .*/  gcc\/O: fast/; t; s/^controls:/controls:\n  gcc\/fplugin: x/' size.acf |
    sed 's/^digest:.*//' >evil.acf
evocc gcc --apply-controls=evil.acf -Os -c "$programs/lz.c" -o evil.o 2>err &&
    grep -q 'compiled without it' err || grep -q evil.acf err || fail "it was applied: $(cat err)"

# ---- under the compiler's name, and through CMake ----
mkdir -p as project
ln -s "$EVOCC_BINARY_DIR/bin/evocc" as/gcc
ln -s "$EVOCC_BINARY_DIR/bin/evocc" as/cc
PATH=$scratch/as:$PATH as/cc --apply-controls=size.acf -Os -c "$programs/lz.c" -o cc.o 2>err ||
    fail "as cc: $(cat err)"
cmp -s tuned.o cc.o || fail "as cc it compiled otherwise: $(cat err)"
command -v cmake >/dev/null || { echo "no cmake: its checks are skipped"; exit 0; }
cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(example C)
add_executable(lz ${SOURCE})
CMAKE
cmake -S project -B built -DCMAKE_C_COMPILER="$scratch/as/gcc" -DSOURCE="$programs/lz.c" \
    -DCMAKE_BUILD_TYPE=MinSizeRel -DCMAKE_C_FLAGS="--apply-controls=$scratch/size.acf" \
    -DCMAKE_C_FLAGS_MINSIZEREL=-Os >cmake.out 2>&1 || fail "CMake: $(tail -20 cmake.out)"
grep -q 'C compiler identification is GNU' cmake.out || fail "CMake saw: $(head -5 cmake.out)"
cmake --build built >build.out 2>&1 || fail "build: $(cat build.out)"
built/lz | grep -q restored || fail "what was built does not run"
grep -q "	applied	.*lz.c" "$XDG_STATE_HOME/evocc/wrapper.log" || fail "nothing was applied"
