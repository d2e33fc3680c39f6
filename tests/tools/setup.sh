#!/bin/sh
# tools/setup decides rightly what to do, on machines made of fakes: nothing is installed.
. "$(dirname "$0")/lib.sh"
mkdir -p "$scratch/tree/tools" "$scratch/bin"
cp "$EVOCC_SOURCE_DIR/tools/setup" "$scratch/tree/tools/"
for tool in sh dirname mkdir tail env uname true; do
    for folder in /usr/bin /bin; do # not command -v, which names builtins without a path
        [ -x "$folder/$tool" ] && ln -sf "$folder/$tool" "$scratch/bin/$tool" && break
    done
done

# fake <name> <body>
fake() {
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
# machine <user id> <yes|no: sudo without a password>: has apt-get, and none of what a build needs
machine() {
    rm -f "$scratch/calls" "$scratch/updated"
    fake id "echo $1"
    # Knows the packages only after an update, as a fresh container does.
    fake apt-get "echo \"apt-get \$* frontend=\$DEBIAN_FRONTEND proxy=\$http_proxy\" >>'$scratch/calls'
case \$1 in
update) : >'$scratch/updated' ;;
install) [ -e '$scratch/updated' ] || exit 100 ;;
esac"
    rm -f "$scratch/bin/sudo"
    [ "$2" = no ] || fake sudo "[ \"\$1\" = -n ] || exit 1; shift
echo \"sudo \$*\" >>'$scratch/calls'; exec env -u http_proxy \"\$@\""
}
# run <expected exit> <needs...>
run() {
    expected=$1
    shift
    (cd "$scratch" && http_proxy=http://proxy.example PATH=$scratch/bin \
        "$scratch/tree/tools/setup" "$@" </dev/null >"$scratch/out" 2>&1)
    got=$?
    [ "$got" = "$expected" ] || fail "setup $*: exit $got, not $expected: $(cat "$scratch/out")"
}
says() { grep -q -e "$1" "$scratch/out" || fail "not said: $1; but: $(cat "$scratch/out")"; }
called() { grep -q -e "$1" "$scratch/calls" || fail "not called: $1; but: $(cat "$scratch/calls")"; }

machine 0 no
run 0 build tests
called 'apt-get install .*--no-install-recommends .*cmake ninja-build gcc .*libfyaml-dev.* libcmocka-dev'
called 'install .*frontend=noninteractive proxy=http://proxy.example'
called 'apt-get update'
[ "$(grep -c 'apt-get install' "$scratch/calls")" = 2 ] || fail "install, update, install: $(cat "$scratch/calls")"

machine 0 no
: >"$scratch/updated"
run 0 build
grep -q update "$scratch/calls" && fail "updated without need"

machine 1000 yes
run 0 build
called 'sudo .*apt-get install'
called 'apt-get install .*proxy=http://proxy.example'

machine 1000 no
run 2 build
says 'apt-get install -y --no-install-recommends cmake ninja-build gcc'
[ ! -e "$scratch/calls" ] || fail "called as a plain user: $(cat "$scratch/calls")"

machine 0 no
fake apt-get 'echo E: mirror is down; exit 100'
run 1 build
says 'mirror is down'
says 'could not install: cmake'

machine 0 no
rm "$scratch/bin/apt-get"
run 2 build
says 'missing, by the names of their Debian packages: cmake'

run 2 no_such_needs

# A machine that has it all is left alone.
machine 0 no
for tool in cmake ninja cc pkg-config; do fake $tool 'exit 0'; done
run 0 build
[ ! -s "$scratch/out" ] || fail "not silent: $(cat "$scratch/out")"
[ ! -e "$scratch/calls" ] || fail "called: $(cat "$scratch/calls")"
# One library that is missing is asked for, alone.
fake pkg-config '[ "$2" != libelf ]'
: >"$scratch/updated"
run 0 build
called 'apt-get install .*Timeout=300 libelf-dev frontend'
