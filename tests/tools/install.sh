#!/bin/sh
# The installed tree, moved as a whole: a C program builds against it through pkg-config and runs, the
# program finds its helper, nothing refers to the place of the installation.
# Usage: install.sh COMPILER
. "$(dirname "$0")/lib.sh"
compiler=$1
command -v pkg-config >/dev/null || skip "pkg-config is missing"
cmake --install "$EVOCC_BINARY_DIR" --prefix "$scratch/first" >"$scratch/log" 2>&1 ||
    fail "cmake --install: $(tail -n 5 "$scratch/log")"
moved="$scratch/a moved prefix"
mv "$scratch/first" "$moved"

for file in bin/evocc libexec/evocc/evocc-helper include/evocc/evocc.h share/doc/evocc/README.md \
    share/man/man1/evocc.1 share/bash-completion/completions/evocc; do
    [ -s "$moved/$file" ] || fail "not installed: $file"
done
pc=$(find "$moved" -name evocc.pc)
[ -n "$pc" ] || fail "not installed: evocc.pc"
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH

version=$(pkg-config --modversion evocc)
library=$(dirname "$(dirname "$pc")")
# eval: pkg-config escapes the blanks in the path for a shell.
eval "$compiler -std=c17 -Wall -Wextra -Wpedantic -Werror '$(dirname "$0")/consumer.c' \
    -o '$scratch/consumer' $(pkg-config --cflags --libs evocc)" || fail "the program does not build"
said=$(LD_LIBRARY_PATH=$library "$scratch/consumer") || fail "the program does not run"
[ "$said" = "$version" ] || fail "version of the library $said, of evocc.pc $version"

# The examples in C, as their first comment says, from where they are installed.
for example in "$moved"/share/doc/evocc/examples/*.c; do
    eval "$compiler -Wall -Wextra -Werror '$example' \
        $(pkg-config --cflags --libs evocc) -o '$scratch/example'" || fail "does not build: $example"
    LD_LIBRARY_PATH=$library "$scratch/example" >"$scratch/out" || fail "does not run: $example"
    [ -s "$scratch/out" ] || fail "printed nothing: $example"
done

said=$("$moved/bin/evocc" --version) || fail "evocc does not run from the moved prefix"
case $said in
*"$version"*) ;;
*) fail "evocc --version says $said, not $version" ;;
esac
grep -rIl "$scratch/first" "$moved" && fail "these files name the first prefix"
exit 0
