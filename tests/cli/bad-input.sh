#!/bin/sh
# Every kind of bad input: one clear line that names the thing and the remedy; nothing lost.
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
ptxas=$("$EVOCC_SOURCE_DIR/tools/ptxas") || skip "no ptxas here"
export EVOCC_REAL_PTXAS="$ptxas" XDG_STATE_HOME="$scratch/state"
PATH=$EVOCC_BINARY_DIR/bin:$PATH
kernel=$EVOCC_SOURCE_DIR/examples/triton_layernorm_8192_w8_sm90a.ptx
cd "$scratch" || exit 1
small="--pool-size 4 --cull-size 2 --generations 2"

# refused <exit> <pattern> <evocc words...>: one line on stderr that matches; nothing on stdout
refused() {
    expected=$1
    pattern=$2
    shift 2
    evocc "$@" >out 2>err
    status=$?
    [ $status = "$expected" ] || fail "evocc $*: exit $status, expected $expected: $(cat err)"
    [ -s out ] && fail "evocc $*: an error, but also output: $(cat out)"
    [ "$(wc -l <err)" = 1 ] || fail "evocc $*: not one line: $(cat err)"
    grep -q -e "$pattern" err || fail "evocc $*: '$(cat err)' lacks '$pattern'"
}

refused 1 'absent.ptx.*no such file' tune absent.ptx --minimize registers
mkdir folder
refused 2 'folder.*is a folder' tune folder --minimize registers
: >empty.ptx
refused 1 'empty.ptx.*empty' tune empty.ptx --minimize registers
printf '.version 8.0\n.target sm_90\n.address_size 64\n// caf\303\251\n.visible .entry k()\n{\n ret;\n}\n' >accent.ptx
refused 1 'accent.ptx:4:7.*ASCII' tune accent.ptx --minimize registers
printf 'hello\n' >text.ptx
refused 1 'text.ptx:1:1' tune text.ptx --minimize registers
printf '.version 8.0\n.target sm_90\n.address_size 64\n' >none.ptx
refused 2 'none.ptx.*no kernel' tune none.ptx --minimize registers
printf '.version 99.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n' >new.ptx
refused 1 'PTX 99.0.*--ptxas' tune new.ptx --minimize registers
printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n add.u32 %%r1, %%r2, 3;\n ret;\n}\n' >broken.ptx
refused 1 'baseline does not compile' tune broken.ptx --minimize registers --study broken.db -q
printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry a()\n{\n ret;\n}\n.visible .entry b()\n{\n ret;\n}\n' >two.ptx
refused 2 'more than one kernel.*--kernel' tune two.ptx --minimize registers
refused 2 "no kernel 'c'.*a, b" tune two.ptx --minimize registers --kernel c
refused 2 "sm_1.*sm_90" tune "$kernel" --arch sm_1 --minimize registers
refused 2 "no metric is called 'speed'.*registers" tune "$kernel" --minimize speed
refused 2 'a number above 0' tune "$kernel" --minimize registers --mutate-rate 0
refused 2 'mutate-rate' tune "$kernel" --minimize registers --mutate-rate 2
refused 2 'did you mean --minimize' tune "$kernel" --minimise registers
refused 2 'whole number' tune "$kernel" --minimize registers --workers two
refused 2 'name an objective' tune "$kernel"
refused 2 'which kernel' tune
refused 1 'no-such-ptxas' tune "$kernel" --minimize registers --study np.db --ptxas ./no-such-ptxas
refused 2 'ptxas options after --' tune "$kernel" --minimize registers -- --no-such-option
refused 1 'no/such/folder' tune "$kernel" --minimize registers --study no/such/folder/x.db
refused 2 "-o is evocc's own" tune "$kernel" --minimize registers -- -o x.cubin
refused 2 'with --arch' tune "$kernel" --minimize registers -- -arch=sm_80

# The result may replace an ACF and nothing else; that is known before the search.
cp "$kernel" mine.ptx
refused 2 'mine.ptx: it exists and is no ACF' tune mine.ptx --minimize registers -o mine.ptx
cmp -s mine.ptx "$kernel" || fail "-o overwrote the kernel"
refused 2 'that is the study file' tune mine.ptx --minimize registers --study x.db -o x.db
refused 2 'that is the study file' tune mine.ptx --minimize registers --study x.db -o x.db-wal
refused 2 'it is a folder' tune mine.ptx --minimize registers -o folder
refused 1 'no place for it' tune mine.ptx --minimize registers -o no/such/folder/y.acf
refused 2 'this is none' tune mine.ptx --minimize registers,code_bytes -o mine.ptx
[ -e x.db ] || [ -e mine.db ] && fail "a study file was made although nothing began"

# A baseline that fails leaves nothing behind, so the mended file can be tuned at once.
[ -e broken.db ] && fail "the failed baseline left its study file"
[ "$(id -u)" = 0 ] || {
    : >secret.ptx
    chmod 000 secret.ptx
    refused 1 'secret.ptx.*ermission' tune secret.ptx --minimize registers
}

# The folder for temporary files.
TMPDIR=$scratch/gone refused 1 "$scratch/gone.*TMPDIR" tune "$kernel" --minimize registers --study tmp.db

# Study files: one that is there, one that is none, one that another has, one whose input changed.
echo precious >precious.db
refused 1 'precious.db exists already.*--resume.*--study' tune "$kernel" --minimize registers --study precious.db
[ "$(cat precious.db)" = precious ] || fail "the file was overwritten"
refused 1 'precious.db.*not a study file' tune --resume precious.db
[ "$(cat precious.db)" = precious ] || fail "the file was overwritten"
refused 1 'no study file absent.db' tune --resume absent.db
refused 2 'goes on as the study began' tune --resume absent.db --seed 4

cp "$kernel" kernel.ptx
evocc tune kernel.ptx --minimize registers $small -q >/dev/null 2>err || fail "a plain study: $(cat err)"
[ -s kernel.db ] || fail "the study file is not <input name>.db"
refused 1 'kernel.db exists already' tune kernel.ptx --minimize registers
echo '// changed' >>kernel.ptx
refused 1 'input file has changed' tune --resume kernel.db
cp "$kernel" kernel.ptx
evocc tune kernel.ptx --minimize registers --study long.db -q >/dev/null 2>&1 &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -s long.db ] && break
    sleep 0.2
done
refused 1 'long.db is in use' tune --resume long.db
refused 1 'long.db exists already' tune kernel.ptx --minimize registers --study long.db
kill -TERM $pid
wait $pid
status=$?
[ $status = 130 ] || fail "SIGTERM ended the study with $status"

# The options that the user set are the baseline, and are not searched.
evocc sample "$kernel" -n 50 --seed 1 >free.out || fail "sample"
evocc sample "$kernel" -n 50 --seed 1 -- -O1 >fixed.out || fail "sample with options"
grep -q 'ptxas/opt-level' free.out || fail "opt-level is never sampled"
grep -q 'ptxas/opt-level' fixed.out && fail "opt-level is sampled although -O1 was given"

# A full disk, for the study file and for what ptxas writes.
mkdir small
if mount -t tmpfs -o size=8m evocc-test small 2>/dev/null; then
    trap 'umount small; rm -rf "$scratch"' EXIT
    TMPDIR=$scratch/small evocc tune "$kernel" --minimize registers --study tmp.db $small -q >out 2>err ||
        fail "a small TMPDIR does not do: $(cat err)"
    dd if=/dev/zero of=small/filler bs=1k 2>/dev/null
    TMPDIR=$scratch/small evocc tune "$kernel" --minimize registers --study full.db -q >out 2>err
    [ $? = 1 ] || fail "a full TMPDIR was not noticed"
    grep -q -i 'space\|full' err || fail "a full TMPDIR is not named: $(cat err)"
    rm small/filler
    dd if=/dev/zero of=small/filler bs=1k count=7600 2>/dev/null
    evocc tune "$kernel" --minimize registers --study small/s.db -q >out 2>err
    [ $? = 1 ] || fail "a full disk was not noticed"
    grep -q 'disk is full.*--resume' err || fail "a full disk is not named: $(cat err)"
    rm small/filler
    evocc tune --resume small/s.db -o s.acf -q >out 2>err || fail "resume after a full disk: $(cat err)"
fi
exit 0
