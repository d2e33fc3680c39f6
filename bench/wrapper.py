#!/usr/bin/env python3
"""What the ptxas wrapper costs: paired runs of the bare compiler and of the wrapper, taking turns.

    bench/wrapper.py [--evocc PROGRAM] [--ptxas PATH] [--fake PATH] [--pairs N]

PROGRAM is `evocc` (called as `evocc ptxas ...`). Prints one line a case: medians of both, the median of
the paired differences with a 95 % interval from the order statistics, and the ratio of the medians. Two
compilers stand behind the wrapper, both on examples/triton_attention_128x64: the fake ptxas of the
tests, which only copies its input, so that our own time is seen without the noise of a compilation,
and the real one. A hit is compared with the tuned command typed by hand on the rewritten PTX.
"""
import argparse
import hashlib
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNEL = os.path.join(ROOT, "examples/triton_attention_128x64_w4_sm90a.ptx")
CONTROLS = {"ptx/order@fa": "late", "ptxas/register-usage-level": "10"}


def measure(argv, environment):
    """Wall and CPU seconds of one run, what it started and waited for included; output discarded."""
    actions = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
               (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)]
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, environment, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if status != 0:
        sys.exit(f"failed ({status}): {' '.join(argv)}")
    return wall, usage.ru_utime + usage.ru_stime


def median_of(differences):
    """Milliseconds: median and the 95 % interval from the order statistics."""
    ordered = sorted(differences)
    count = len(ordered)
    reach = int(1.96 * math.sqrt(count) / 2) + 1
    low = ordered[max(0, count // 2 - reach)]
    high = ordered[min(count - 1, count // 2 + reach)]
    return f"{statistics.median(ordered) * 1e3:+.2f} ({low * 1e3:+.2f} to {high * 1e3:+.2f})"


def compare(name, bare, wrapped, environment, pairs):
    a, b = [], []
    for i in range(-3, pairs):
        order = [(bare, a), (wrapped, b)]
        for argv, results in order if i % 2 == 0 else reversed(order):
            result = measure(argv, environment)
            if i >= 0:
                results.append(result)
    wall = median_of(y[0] - x[0] for x, y in zip(a, b))
    cpu = median_of(y[1] - x[1] for x, y in zip(a, b))
    ma, mb = statistics.median(x[0] for x in a), statistics.median(y[0] for y in b)
    print(f"| {name} | {pairs} | {ma * 1e3:.2f} | {mb * 1e3:.2f} | {wall} | {mb / ma:.3f} | {cpu} |",
          flush=True)


def write_acf(path, version, ptx):
    """docs/acf.md, followed from outside."""
    lines = ["evocc-acf 1", "compiler ptxas", f"version {version}", "arch sm_90a", "kernel fa",
             f"ptx {ptx}"] + [f"control {k} {v}" for k, v in sorted(CONTROLS.items())]
    digest = hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()
    with open(path, "w", encoding="ascii") as f:
        f.write(f'evocc-acf: 1\nfor: {{compiler: ptxas, version: "{version}", arch: sm_90a, '
                f'kernel: fa,\n      base: [],\n      ptx: "{ptx}"}}\ncontrols:\n')
        f.writelines(f"  {k}: {v}\n" for k, v in sorted(CONTROLS.items()))
        f.write(f'digest: "sha256:{digest}"\n')


def run(argv, environment):
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


def prepare(wrapper, ptxas, words, environment):
    """best.acf, which applies; miss.acf and other.acf, which do not; tuned.ptx, the rewritten PTX."""
    version = re.search(r", V([0-9.]+)", run([ptxas, "--version"], None).stdout).group(1)
    # The name of the PTX is in the notice of a file that is for another one.
    write_acf("miss.acf", version, "evocc-ptx-1:" + 64 * "0")
    said = run(wrapper + ["--apply-controls=miss.acf"] + words, environment).stderr
    name = re.search(r"this is '(evocc-ptx-1:[0-9a-f]{64})'", said)
    if name is None:
        sys.exit(f"no PTX name in: {said}")
    write_acf("best.acf", version, name.group(1))
    write_acf("other.acf", "12.0.0", name.group(1))
    # Caught by a compiler of our own in between.
    with open("catch", "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nfor w; do case $w in\n/proc/*) cat "$w" >tuned.ptx; break;;\nesac; '
                f'done\nexec {ptxas} "$@"\n')
    os.chmod("catch", 0o755)
    caught = run(wrapper + ["--strict", "--apply-controls=best.acf"] + words,
                 dict(environment, EVOCC_REAL_PTXAS=os.path.abspath("catch")))
    if caught.returncode != 0:
        sys.exit(caught.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--evocc", default=os.path.join(ROOT, "build/release/bin/evocc"))
    parser.add_argument("--ptxas", default=shutil.which("ptxas"))
    parser.add_argument("--fake", default=os.path.join(ROOT, "build/release/tests/cli/fake_ptxas"))
    parser.add_argument("--pairs", type=int, default=101)
    options = parser.parse_args()
    wrapper = [os.path.abspath(options.evocc), "ptxas"]
    words = ["-arch=sm_90a", "kernel.ptx", "-o", "out.cubin"]
    compilers = [("fake", os.path.abspath(options.fake), 10 * options.pairs),
                 ("ptxas", os.path.realpath(options.ptxas), options.pairs)]
    print("| compiler, case | pairs | bare ms | wrapper ms | difference ms (95 %) | ratio | "
          "CPU difference ms (95 %) |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copy(KERNEL, "kernel.ptx")
        for name, path, pairs in compilers:
            environment = {"PATH": os.environ["PATH"], "HOME": folder, "EVOCC_REAL_PTXAS": path}
            prepare(wrapper, path, words, environment)
            bare = [path] + words
            by_hand = [path, "-arch=sm_90a", "tuned.ptx", "-o", "out.cubin",
                       "--register-usage-level=10"]
            for case, first, ours in [("no ACF", bare, []),
                                      ("miss: other version", bare, ["--apply-controls=other.acf"]),
                                      ("miss: other PTX", bare, ["--apply-controls=miss.acf"]),
                                      ("hit", by_hand, ["--strict", "--apply-controls=best.acf"])]:
                compare(f"{name}, {case}", first, wrapper + ours + words, environment, pairs)


if __name__ == "__main__":
    main()
