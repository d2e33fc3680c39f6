"""Nested parameters with conditions and constraints; a study file, so that it can be interrupted."""

import pathlib
import sys
import tempfile

import evocc
from evocc import space

SPACE = space.ParamSpace(
    {"tile": {"m": space.log_sampling(16, 256), "n": space.log_sampling(16, 256)},
     "stages": space.range(1, 6),
     "loads": space.choice(["plain", "async"]),
     "prefetch": space.range(0, 4, when={"loads": "async"}),
     "dtype": space.literal("fp16")},
    constraints=["tile_m * tile_n * stages <= 65536",
                 lambda p: p["tile"]["m"] >= p["tile"]["n"]])


def objective(p):
    if p["stages"] == 6 and p["loads"] == "plain":
        raise evocc.Invalid("six stages need asynchronous loads", "compile_failed")
    work = 1e6 / (p["tile"]["m"] * p["tile"]["n"]) + 3 * abs(p["stages"] - 4)
    return work + (5 - p["prefetch"] if p["loads"] == "async" else 8)


path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(tempfile.mkdtemp()) / "nested.db"
results = evocc.Search(objective, SPACE, study=path).start()
print(results)
