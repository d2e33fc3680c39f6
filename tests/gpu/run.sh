#!/bin/sh
# evocc run, from the workload to the verdict, on the fake driver and with a fake ptxas: its "machine
# code" is what the PTX file says behind '//'.
set -u
evocc=$EVOCC_BINARY_DIR/bin/evocc
fake=$(find "$EVOCC_BINARY_DIR/tests/gpu" -name 'libfake_driver.so')
if [ ! -x "$evocc" ] || [ -z "$fake" ]; then
    echo "evocc or the fake driver is not built"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export EVOCC_CUDA_DRIVER="$fake" EVOCC_NVML="$fake" EVOCC_RUNTIME_DIR="$work"
export EVOCC_REAL_PTXAS="$work/ptxas"
unset CUDA_VISIBLE_DEVICES

cat >"$work/ptxas" <<'PTXAS'
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -o) output=$2 && shift ;;
    *.ptx) input=$1 ;;
    esac
    shift
done
grep -q bad "$input" && { echo "ptxas fatal : bad file" >&2; exit 255; }
sed -n 's,^// ,,p' "$input" | tr -d '\n' >"$output"
PTXAS
chmod +x "$work/ptxas"
cat >"$work/w.yaml" <<'YAML'
evocc-workload: 1
module: k.ptx
kernel: axpy
launch: {grid: 4, block: 256}
arguments:
  - {name: n, type: u32, value: 1000}
  - {name: alpha, type: f32, value: 1.5}
  - {name: x, type: f32, shape: [1000], init: {normal: [0, 1]}}
  - {name: y, type: f32, shape: [1000], access: out}
measure: {energy_s: 0.2, deadline_s: 0.5}
YAML

failed=0
# expect <exit status> <text in the output> <arguments>
expect() {
    status=$1
    text=$2
    shift 2
    output=$("$evocc" run "$@" 2>&1)
    got=$?
    case $got:$output in
    "$status":*"$text"*) ;;
    *)
        echo "FAILED: evocc run $*: exit $got, expected $status and '$text':"
        echo "$output"
        failed=1
        ;;
    esac
}

echo '// fake axpy time=120' >"$work/k.ptx"
expect 0 '0.00012 s' "$work/w.yaml"
expect 0 'Fake GPU 0, driver 999.1.2; axpy of' "$work/w.yaml"
expect 0 'outputs            right: 2 input seeds, 2 runs each' "$work/w.yaml"
expect 0 'Fake GPU 1' --gpu 1 "$work/w.yaml"
expect 0 ' J a launch' --energy "$work/w.yaml"
expect 0 '"runtime_s":0.00012' --json "$work/w.yaml"
expect 1 'there is no GPU 7' --gpu 7 "$work/w.yaml"
echo '// fake axpy illegal' >"$work/k.ptx"
expect 2 'the baseline: gpu_fault: shape' "$work/w.yaml"
echo '// fake axpy race=3' >"$work/k.ptx"
expect 2 'the baseline: unstable: ' "$work/w.yaml"
echo '// bad' >"$work/k.ptx"
expect 1 'ptxas fatal : bad file' "$work/w.yaml"
sed -i 's/kernel: axpy/kernal: axpy/' "$work/w.yaml"
expect 1 'w.yaml:3:1: ' "$work/w.yaml"
expect 2 '' --no-such-option "$work/w.yaml"
exit $failed
