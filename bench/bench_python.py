#!/usr/bin/env python3
"""What a search costs through Python: `python bench/bench_python.py`, with the package installed.

Overhead of the default search (488 trials) of an objective that takes no time, in memory and with a
study file; wall time of 488 trials of 8 ms over two processes, as a ratio to half the time that the
objectives themselves took. Medians, and the range, of eleven and five runs.
"""

import os
import statistics
import tempfile
import time

import evocc
from evocc import space

SPACE = {"a": space.range(0, 40), "b": space.range(0, 40), "c": space.choice("xyz"),
         "d": space.range(0, 9), "e": space.log_sampling(1, 64)}


def instant(p):
    return (p["a"] - 11) ** 2 + (p["b"] - 17) ** 2 + (p["c"] != "z")


def eight_ms(p):
    time.sleep(0.008)
    return instant(p)


def timed(objective, path=None, **settings):
    started = time.perf_counter()
    search = evocc.Search(objective, SPACE, study=path)
    results = search.start(**settings)
    wall = time.perf_counter() - started
    assert len(results) == 488
    search.close()
    return wall, sum(row["wall_s"] for row in results.rows())


def show(what, values, unit):
    print(f"{what}: {statistics.median(values):.4g} {unit} "
          f"({min(values):.4g} to {max(values):.4g}, {len(values)} runs)")


with tempfile.TemporaryDirectory() as folder:
    show("488 instant trials in memory", [1e3 * timed(instant)[0] for _ in range(11)], "ms")
    files = [os.path.join(folder, f"{i}.db") for i in range(11)]
    show("488 instant trials with a study file", [1e3 * timed(instant, f)[0] for f in files], "ms")
# The ideal: what the objectives themselves take, one after the other, halved.
started = time.perf_counter()
for _ in range(488):
    eight_ms({"a": 0, "b": 0, "c": "x"})
ideal = (time.perf_counter() - started) / 2
ratios = [timed(eight_ms, num_workers=2)[0] / ideal for _ in range(5)]
print(f"ideal of 488 trials of 8 ms over 2 processes: {ideal:.3f} s")
show("wall time to the ideal", ratios, "x")
print("load average:", os.getloadavg()[0])
