#!/bin/sh
# Every command explains itself: --help, the manual, the completions, the usage errors.
. "$EVOCC_SOURCE_DIR/tests/tools/lib.sh"
PATH=$EVOCC_BINARY_DIR/bin:$PATH
cd "$scratch" || exit 1

evocc --version | grep -qx 'evocc [0-9]*\.[0-9]*\.[0-9]*' || fail "--version: $(evocc --version)"
evocc --help >overview || fail "--help failed"
commands=$(sed -n 's/^  evocc \([a-z]*\) .*/\1/p' overview)
[ "$(echo "$commands" | wc -w)" -ge 9 ] || fail "few commands in the overview: $commands"
evocc --man >manual || fail "--man failed"
evocc --completions bash >bash.txt && bash -n bash.txt || fail "bash completions"
for shell in zsh fish; do
    [ "$(evocc --completions $shell | wc -l)" -ge 5 ] || fail "$shell completions"
done
evocc --completions tcsh 2>/dev/null && fail "completions for a shell there are none for"
for command in $commands; do
    [ "$command" = ptxas ] && continue # ptxas speaks for itself
    evocc "$command" --help >help || fail "$command --help failed"
    evocc help "$command" | cmp -s - help || fail "help $command differs from $command --help"
    grep -q '^Examples$' help || fail "$command --help has no examples"
    awk 'length > 80' help | grep -q . && fail "$command --help is wider than 80: $(awk 'length > 80' help)"
    grep -q "evocc $command" manual || fail "$command is not in the manual"
    grep -q "$command" bash.txt || fail "$command is not completed"
    evocc "$command" --no-such-option >out 2>err
    [ $? = 2 ] || fail "$command takes --no-such-option"
    [ -s out ] && fail "$command: an error on stdout"
    grep -q 'no-such-option.*--help' err || fail "$command: $(cat err)"
done
evocc >out 2>&1
[ $? = 2 ] || fail "no command at all is no success"
evocc no-such-command 2>err
[ $? = 2 ] && grep -q 'no-such-command' err || fail "an unknown command: $(cat err)"
if command -v mandoc >/dev/null; then
    mandoc -T lint -W error manual || fail "the manual"
fi
evocc --help >/dev/full 2>err && fail "a full standard output is not noticed"
exit 0
