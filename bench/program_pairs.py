#!/usr/bin/env python3
"""Two builds of a program run in turns: ratio of user CPU time and of wall time, with intervals.

    bench/program_pairs.py 40 plain tuned

The median over pairs of baseline / tuned, and the percentile interval of 2000 bootstrap resamples.
"""
import math
import os
import random
import statistics
import subprocess
import sys
import time


def run(program):
    started = time.perf_counter()
    process = subprocess.Popen([program], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{program}: status {status}")
    return usage.ru_utime, time.perf_counter() - started


def describe(name, pairs):
    logs = [math.log(b / t) for b, t in pairs]
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(logs, k=len(logs))) for _ in range(2000))
    low, high = medians[49], medians[1949]
    print(
        f"  {name}: {statistics.median(b for b, _ in pairs):.4f} s -> "
        f"{statistics.median(t for _, t in pairs):.4f} s, ratio "
        f"{math.exp(statistics.median(logs)):.4f}, 95 % {math.exp(low):.4f} to {math.exp(high):.4f}"
    )


def main():
    count, programs = int(sys.argv[1]), sys.argv[2:4]
    samples = []
    for number in range(count):
        pair = {}
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            pair[which] = run(programs[which])
        samples.append((pair[0], pair[1]))
    print(f"{programs[1]}, {count} pairs")
    describe("user", [(b[0], t[0]) for b, t in samples])
    describe("wall", [(b[1], t[1]) for b, t in samples])


if __name__ == "__main__":
    main()
