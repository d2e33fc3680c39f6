"""The same search where your machines are: processes here, an executor, MPI, Ray.

    python distributed.py                                 processes of this machine
    mpiexec -n 5 python -m mpi4py.futures distributed.py mpi
    python distributed.py ray
"""

import concurrent.futures
import sys

import evocc
from evocc import space

SPACE = {"x": space.range(0, 99), "y": space.range(0, 99)}


def objective(p):
    return (p["x"] - 40) ** 2 + (p["y"] - 60) ** 2


def main(where):
    search = evocc.Search(objective, SPACE, evocc.SearchConfig(generations=8))
    if where == "mpi":
        from mpi4py.futures import MPIPoolExecutor

        with MPIPoolExecutor() as pool:
            results = search.start(num_workers=4, executor=pool)
    elif where == "ray":
        from evocc.ray import RayExecutor

        results = search.start(num_workers=4, executor=RayExecutor(num_cpus=1))
    elif where == "executor":
        results = search.start(num_workers=2,
                               executor=lambda: concurrent.futures.ProcessPoolExecutor(2))
    else:
        results = search.start(num_workers=2, task_timeout=10)
    print(results.get_best_result()["params"])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "here")
