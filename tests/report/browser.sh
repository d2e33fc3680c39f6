#!/bin/sh
# The page in a real browser: it renders, the console stays empty, nothing is asked for outside. The
# page's own policy turns each attempt to fetch something into a line on the console.
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    skip "no chromium here"
ptxas=$("$EVOCC_SOURCE_DIR/tools/ptxas") || skip "no ptxas here"
export EVOCC_REAL_PTXAS="$ptxas" XDG_STATE_HOME="$scratch/state"
PATH=$EVOCC_BINARY_DIR/bin:$PATH
cd "$scratch" || exit 1
evocc tune "$EVOCC_SOURCE_DIR/examples/triton_layernorm_8192_w8_sm90a.ptx" \
    --minimize registers,code_bytes,spill_bytes --pool-size 8 --cull-size 6 --generations 4 \
    --study study.db -o front -q >/dev/null || fail "tune"
evocc report study.db -o page.html || fail "report"

# load <page> <options...>: the document as the browser has it in dom, its console in console
load() {
    page=$1
    shift
    timeout 100 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --disable-background-networking --user-data-dir="$scratch/profile" \
        --enable-logging=stderr "$@" "file://$scratch/$page" >dom 2>log
    status=$?
    grep CONSOLE log >console
    return $status
}
load page.html --dump-dom || fail "the browser: $(tail -n 5 log)"
[ -s console ] && fail "the console says: $(cat console)"
grep -q '</footer>' dom || fail "the page ends early"
[ "$(grep -o '<svg class="plot"' dom | wc -l)" = 8 ] || fail "not eight drawings"
grep -q '<parsererror' dom && fail "the browser could not read the page"
for size in 1160,900 420,900; do
    load page.html --window-size="$size" --screenshot="$scratch/$size.png" || fail "no picture"
    [ "$(wc -c <"$size.png")" -gt 10000 ] || fail "a picture of nothing"
done

# This test can fail: a page that asks for something is noticed.
sed 's|<main>|<main><img src="http://example.invalid/x.png"/>|' page.html >asking.html
load asking.html --dump-dom || fail "the browser: $(tail -n 5 log)"
grep -q 'example.invalid' console || fail "a request to the outside is not noticed: $(cat log)"
exit 0
