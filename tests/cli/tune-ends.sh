#!/bin/sh
# evocc tune: what ends a search, and how it searches; all of it goes on as it began when resumed.
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
ptxas=$("$EVOCC_SOURCE_DIR/tools/ptxas") || skip "no ptxas here"
export EVOCC_REAL_PTXAS="$ptxas" XDG_STATE_HOME="$scratch/state"
PATH=$EVOCC_BINARY_DIR/bin:$PATH
cd "$scratch" || exit 1
cat >k.ptx <<'PTX'
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r2, 0;
    mov.u32 %r3, 1;
loop:
    ld.global.u32 %r4, [%rd2];
    mad.lo.s32 %r3, %r4, %r3, %r2;
    add.s64 %rd2, %rd2, 4;
    add.s32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra loop;
    st.global.u32 [%rd2], %r3;
    ret;
}
PTX

# tune <study> <options>: quietly
tune() {
    study=$1
    shift
    evocc tune k.ptx --minimize code_bytes --study "$study" -o x.acf --seed 5 --pool-size 8 \
        --cull-size 6 -q "$@" >"$study.out" 2>"$study.err" || fail "tune $*: $(cat "$study.err")"
}
# setting <study> <name>, trials <study>
setting() { query "$1" "SELECT value FROM setting WHERE name = '$2'"; }
trials() { query "$1" "SELECT id, generation, outcome, candidate, code_hash FROM trial ORDER BY id"; }
query() {
    python3 - "$1" "$2" <<'PY'
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print(*row, sep="|")
PY
}
ends() { [ "$(setting "$1" ended)" = "$2" ] || fail "$1 ended by $(setting "$1" ended), not $2"; }
searched() { query "$1" "SELECT count(*) FROM trial WHERE generation < $(setting "$1" generations)"; }

tune trials.db --generations 5 --max-trials 11
ends trials.db budget
[ "$(searched trials.db)" = 11 ] || fail "$(searched trials.db) trials, not 11"

tune stale.db --generations 60 --stale 2
ends stale.db stale
[ "$(searched stale.db)" -lt 300 ] || fail "stale after $(searched stale.db) trials only"
before=$(trials stale.db)
evocc tune --resume stale.db -o x.acf -q >/dev/null || fail "resuming a stale study"
[ "$before" = "$(trials stale.db)" ] || fail "a study that had ended went on"

tune target.db --generations 60 --target 100000
ends target.db target
[ "$(searched target.db)" = 8 ] || fail "the target was met by the first trial"

tune time.db --generations 400 --max-time 0.4 --workers 1
ends time.db time
before=$(trials time.db)
evocc tune --resume time.db -o x.acf -q >/dev/null || fail "resuming a study whose time is up"
[ "$before" = "$(trials time.db)" ] || fail "a study whose time is up went on"

# Asynchronous: the lag decides, not how many work, nor a break.
tune lag1.db --generations 4 --lag 5 --workers 1
tune lag8.db --generations 4 --lag 5 --workers 8
[ "$(setting lag1.db lag)" = 5 ] || fail "the lag is not in the file"
trials lag1.db >lag1
trials lag8.db >lag8
cmp -s lag1 lag8 || fail "1 and 8 workers asked other trials: $(diff lag1 lag8 | head)"
python3 - lag8.db <<'PY' || fail "the study file could not be cut short"
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
tables = [r[0] for r in d.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
for table in tables:
    if any(column[1] == "trial" for column in d.execute(f"PRAGMA table_info({table})")):
        d.execute(f"DELETE FROM {table} WHERE trial > 12")
d.execute("DELETE FROM trial WHERE id > 12")
d.execute("DELETE FROM setting WHERE name = 'ended'")
d.commit()
PY
[ "$(query lag8.db "SELECT count(*) FROM trial")" = 13 ] || fail "the study file was not cut short"
evocc tune --resume lag8.db -o x.acf -q --workers 2 >/dev/null 2>lag.err || fail "resume: $(cat lag.err)"
trials lag8.db >lag8
cmp -s lag1 lag8 || fail "the resumed run asked other trials: $(diff lag1 lag8 | head)"
tune lag0.db --generations 4
trials lag0.db >lag0
cmp -s lag0 lag1 && fail "a lag changes nothing"

tune screen.db --generations 8 --prescreen
[ "$(setting screen.db prescreen)" = 1 ] || fail "the prescreen is not in the file"

evocc tune k.ptx --minimize code_bytes,registers --study two.db -o two --pool-size 8 --cull-size 6 \
    --generations 3 --survival hypervolume -q >/dev/null || fail "survival by hypervolume"
[ "$(setting two.db survival)" = 1 ] || fail "the survival is not in the file"

# Begun with an ACF, and with another study's front: candidates by the names of their controls.
evocc tune k.ptx --minimize registers --study acf.db -o acf.acf --pool-size 16 --cull-size 6 \
    --generations 3 -q >acf.out || fail "tune for registers"
[ -s acf.acf ] || fail "no ACF to begin with: $(cat acf.out)"
evocc tune k.ptx --minimize code_bytes --study seeded.db -o x.acf --generations 2 --pool-size 8 \
    --seed 5 --seed-acf acf.acf >/dev/null 2>seeded.err || fail "seeded: $(cat seeded.err)"
[ -n "$(setting seeded.db seeds)" ] || fail "the seeds are not in the file"
[ "$(query seeded.db "SELECT candidate FROM trial WHERE id = 1")" = \
    "$(setting seeded.db seeds)" ] || fail "the seed is not the first candidate"
before=$(trials seeded.db)
evocc tune --resume seeded.db -o x.acf -q >/dev/null || fail "resuming a seeded study"
[ "$before" = "$(trials seeded.db)" ] || fail "a resumed seeded study went on"

python3 - acf.db <<'PY' || fail "the study could not be changed"
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
d.execute("UPDATE trial SET candidate = candidate || ' ptx/gone@k=1 ptxas/maxrregcount=1000'")
d.commit()
PY
evocc tune k.ptx --minimize code_bytes --study other.db -o x.acf --generations 2 --pool-size 8 \
    --seed-study acf.db >/dev/null 2>other.err || fail "seeded by a study: $(cat other.err)"
grep -q '^seed: ptx/gone@k=1: there is no such control here' other.err || fail "$(cat other.err)"
grep -q '^seed: ptxas/maxrregcount=1000: taken as ' other.err || fail "$(cat other.err)"

# A compiler that stops working once the baseline and a canary are through: no use to go on.
cat >broken <<SH
#!/bin/sh
for word; do
    case \$word in *.ptx) [ "\$(grep -c 'entry k' "\$word")" -gt 0 ] && echo x >>"$scratch/calls" ;; esac
done
[ "\$(grep -c . "$scratch/calls" 2>/dev/null)" -gt 2 ] && { echo "ptxas fatal : out of order" >&2; exit 1; }
exec "$ptxas" "\$@"
SH
chmod +x broken
evocc tune k.ptx --minimize code_bytes --study broken.db -o x.acf --ptxas "$scratch/broken" \
    --pool-size 10 -q >broken.out 2>broken.err && fail "a compiler that fails is taken"
grep -q 'none of the first 9 candidates works: compile_failed 9 times, as in: evocc compile k.ptx' \
    broken.err || fail "$(cat broken.err)"
[ "$(query broken.db "SELECT count(*) FROM trial")" = 10 ] || fail "it went on"

refused() {
    "$@" >refused.out 2>refused.err && fail "$* is taken"
    [ "$(wc -l <refused.err)" -le 2 ] || fail "$*: $(cat refused.err)"
}
refused evocc tune k.ptx --minimize code_bytes --study r.db --lag many
refused evocc tune k.ptx --minimize code_bytes --study r.db --lag 5000
refused evocc tune k.ptx --minimize code_bytes --study r.db --survival best
refused evocc tune --resume stale.db --stale 3
refused evocc tune --resume stale.db --lag 3
refused evocc tune --resume stale.db --seed-acf acf.acf
refused evocc tune k.ptx --minimize code_bytes --study r.db --seed-acf k.ptx
refused evocc tune k.ptx --minimize code_bytes --study r.db --seed-study k.ptx
[ ! -e r.db ] || fail "a refused study left a file"
