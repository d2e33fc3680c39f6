#!/usr/bin/env python3
"""Tunes the example workloads on a GPU and sets what is found beside a plain sweep.

    bench/gpu_study.py [-o FOLDER] [--generations N] [--seed N] [--keep-parameters] [--no-sweep]
                       EVOCC [WORKLOAD.yaml ...]

For each workload: evocc tune with its defaults, then every combination of -O level, -maxrregcount and
--register-usage-level that a script would try, each checked and measured once (evocc run --with), the
best of them compared with the baseline in pairs of fresh processes as the study's own result is. Prints
a table, and the geometric mean of the gains of each kind. Needs the H200 or another GPU, nvcc and ptxas.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CUDA_C = ["attention", "layernorm", "matmul_bf16", "nbody", "sgemm", "softmax", "stencil"]
TRITON = ["triton_attention_128x128_w4_sm90a", "triton_attention_128x64_w4_sm90a",
          "triton_layernorm_8192_w8_sm90a", "triton_matmul_128x256x64_w8_sm90a"]
REGISTERS = [32, 40, 48, 64, 80, 96, 128, 168, 255]
USAGE = range(0, 11)


def examples():
    return [os.path.join("examples", name, "workload.yaml") for name in CUDA_C] + [
        os.path.join("examples", name + ".yaml") for name in TRITON]


def sweep_candidates():
    """One option at a time: what people try by hand."""
    yield from (f"ptxas/opt-level={level}" for level in (1, 2, 3))
    yield from (f"ptxas/maxrregcount={count}" for count in REGISTERS)
    yield from (f"ptxas/register-usage-level={level}" for level in USAGE if level != 5)


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def tune(evocc, workload, folder, options):
    name = re.sub(r"(/workload)?\.yaml$", "", workload).split("/")[-1]
    study = os.path.join(folder, name + ".db")
    begin = time.monotonic()
    result = run([evocc, "tune", workload, "--study", study, "-o", os.path.join(folder, name + ".acf"),
                  "-q", "--json", *options])
    wall = time.monotonic() - begin
    if result.returncode != 0:
        return name, {"error": result.stderr.strip()}
    report = json.loads(result.stdout)
    report["wall_s"] = wall
    return name, report


def compare(evocc, workload, candidate, pairs):
    """One check and measurement, or a comparison in pairs; None where it does not run."""
    how = ["--quick"] if pairs == 0 else ["--max-pairs", str(pairs)]
    result = run([evocc, "run", workload, "--with", candidate, "--json", *how])
    return json.loads(result.stdout) if result.returncode == 0 else None


def sweep(evocc, workload):
    """The best of the plain options: (candidate, gain in pairs, number tried)."""
    best, gain, tried = "", 1.0, 0
    for candidate in sweep_candidates():
        numbers = compare(evocc, workload, candidate, 0)
        tried += 1
        if numbers and numbers["baseline_s"] / numbers["runtime_s"] > gain:
            best, gain = candidate, numbers["baseline_s"] / numbers["runtime_s"]
    if best:
        numbers = compare(evocc, workload, best, 20)
        gain = numbers["speedup"] if numbers else 1.0
    return best, gain, tried


def search_numbers(report):
    """Candidates a second and the GPU's share, out of what the study says of its search."""
    found = re.match(r"(\d+) candidates measured in ([\d.e+-]+) s of search, GPU at work for ([\d.e+-]+) s",
                     report.get("search", ""))
    if not found:
        return float("nan"), float("nan")
    count, seconds, busy = int(found[1]), float(found[2]), float(found[3])
    return count / seconds, busy / seconds


def row(name, report, plain):
    best = report["best"]
    comparison = (best.get("comparisons") or [None])[0]
    rate, busy = search_numbers(report)
    interval = "-" if comparison is None else f"{comparison['low']:.4f} .. {comparison['high']:.4f}"
    gain = comparison["speedup"] if comparison and report["improved"] else 1.0
    baseline = comparison["baseline_s"] if comparison else report["baseline"]["runtime_s"]
    tuned = comparison["tuned_s"] if comparison else baseline
    print(f"{name:<36} {1e3 * baseline:9.4f} {1e3 * tuned:9.4f} {gain:7.4f} {interval:>18} "
          f"{report['trials']:6} {report['wall_s']:7.1f} {rate:6.1f} {100 * busy:5.0f} % "
          f"{plain[1]:7.4f} {gain / plain[1]:7.4f}  {plain[0] or '-'}", flush=True)
    return gain


def mean(gains):
    return math.exp(sum(map(math.log, gains)) / len(gains)) if gains else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("evocc")
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("-o", "--output", default=".", help="folder for study files and ACFs")
    parser.add_argument("--generations", help="of each study; default: evocc's")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--keep-parameters", action="store_true", help="as for evocc tune")
    parser.add_argument("--no-sweep", action="store_true", help="leave the plain sweep out")
    values = parser.parse_args()
    options = ["--seed", values.seed]
    if values.keep_parameters:
        options.append("--keep-parameters")
    if values.generations:
        options += ["--generations", values.generations]
    os.chdir(ROOT)
    print(f"{'workload':<36} {'base ms':>9} {'best ms':>9} {'gain':>7} {'95 % interval':>18} {'trials':>6} "
          f"{'wall s':>7} {'cand/s':>6} {'busy':>7} {'sweep':>7} {'over it':>7}  best of the sweep")
    gains = {"CUDA C": [], "Triton": []}
    failed = False
    for workload in values.workloads or examples():
        name, report = tune(os.path.abspath(values.evocc), workload, os.path.abspath(values.output), options)
        if "error" in report:
            print(f"{name:<36} {report['error']}", flush=True)
            failed = True
            continue
        plain = ("", 1.0, 0) if values.no_sweep else sweep(os.path.abspath(values.evocc), workload)
        gains["Triton" if name.startswith("triton") else "CUDA C"].append(row(name, report, plain))
    for kind, values_of_kind in gains.items():
        if values_of_kind:
            print(f"geometric mean, {kind}: {mean(values_of_kind):.4f} over {len(values_of_kind)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
