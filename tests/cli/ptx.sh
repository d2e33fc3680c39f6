#!/bin/sh
# evocc ptx: what it lists can be applied, what is applied is proven, what does not fit is refused.
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
PATH=$EVOCC_BINARY_DIR/bin:$PATH
kernel=$EVOCC_SOURCE_DIR/examples/triton_layernorm_8192_w8_sm90a.ptx
cd "$scratch" || exit 1

evocc ptx "$kernel" >out || fail "describe"
grep -q '^PTX 8.7 for sm_90a$' out || fail "no version and target: $(cat out)"
grep -q 'ln: [0-9]* instructions, of which the order controls may move' out || fail "$(cat out)"
evocc ptx "$kernel" --json | python3 -m json.tool >/dev/null || fail "no JSON"
evocc ptx "$kernel" --list-sites >sites || fail "--list-sites"
[ "$(wc -l <sites)" -ge 3 ] || fail "hardly a site: $(cat sites)"

# The last value of every control listed: rewritten, accepted by the parser, proven.
while read -r name values; do
    value=${values##* }
    evocc ptx "$kernel" --with "$name=$value" --check -o rewritten.ptx 2>err ||
        fail "$name=$value: $(cat err)"
    grep -q 'computes the same' err || fail "$name=$value: no word of the proof"
    evocc ptx rewritten.ptx >/dev/null || fail "$name=$value: what was written cannot be read"
done <sites

# Without controls the text comes back byte for byte; the same controls give the same text.
evocc ptx "$kernel" --with '' | cmp -s - "$kernel" || fail "no control, other text"
evocc ptx "$kernel" --with 'ptx/order@ln=seed3' >once.ptx
evocc ptx "$kernel" --with 'ptx/order@ln=seed3' | cmp -s - once.ptx || fail "not the same twice"
cmp -s once.ptx "$kernel" && fail "order=seed3 changed nothing"

# refused <exit> <pattern> <words...>
refused() {
    expected=$1
    pattern=$2
    shift 2
    evocc ptx "$@" >out 2>err
    [ $? = "$expected" ] || fail "evocc ptx $*: not $expected: $(cat err)"
    [ -s out ] && fail "evocc ptx $*: output beside an error"
    grep -q -e "$pattern" err || fail "evocc ptx $*: $(cat err)"
}
refused 1 'order@other' "$kernel" --with 'ptx/order@other=late'
refused 2 'order@ln.*sideways' "$kernel" --with 'ptx/order@ln=sideways'
refused 2 'NAME=VALUE' "$kernel" --with 'late'
refused 2 'not both' "$kernel" --with 'ptx/order@ln=late' --apply a.acf
refused 2 'need --apply or --with' "$kernel" --check
refused 1 'a.acf' "$kernel" --apply a.acf
exit 0
