#!/usr/bin/env python3
"""Means of the lines that rivals.py and `replay -v` print.

usage: table.py FILE.tsv...        one row a method: mean share at 100/200/500 over the spaces that the
constants were tuned on, over the others, and over all
"""
import collections
import sys

TUNED = ("convolution_A100", "dedispersion_A4000", "gemm_RTX3090", "pnpoly_RTX3090")


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    shares = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sys.argv[1:]:
        with open(path) as stream:
            for line in stream:
                cells = line.rstrip("\n").split("\t")
                shares[cells[1]][cells[0]].append([float(c) for c in cells[3:6]])
    print(f"{'method':20} {'seeds':>5}  {'tuned on':^20}  {'other four':^20}  {'all':^20}")
    for method, spaces in shares.items():
        seeds = min(len(rows) for rows in spaces.values())
        if len(spaces) < 8:
            method += "*"  # not all spaces
        means = {s: [mean([r[i] for r in rows]) for i in range(3)] for s, rows in spaces.items()}
        groups = ([s for s in means if s in TUNED], [s for s in means if s not in TUNED], list(means))
        cells = ["/".join(f"{mean([means[s][i] for s in g]):.4f}" for i in range(3)) for g in groups]
        print(f"{method:20} {seeds:5}  {cells[0]}  {cells[1]}  {cells[2]}")


main()
