"""Trials on a Ray cluster.

    from evocc.ray import RayExecutor
    search.start(num_workers=8, executor=RayExecutor(num_gpus=1))
"""

from __future__ import annotations

import concurrent.futures
from typing import Any

import ray


class RayExecutor(concurrent.futures.Executor):
    """Each trial is one Ray task, never retried by Ray: a worker that dies makes its trial invalid.

    :param num_gpus: GPUs a trial; Ray shows each its own (CUDA_VISIBLE_DEVICES), and with
        normalize=True each GPU has a baseline of its own.
    :param options: further options of ray.remote: num_cpus, resources, runtime_env, ...
    """

    worker_deaths = (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError,
                     ray.exceptions.NodeDiedError)

    def __init__(self, num_gpus: float = 0, **options: Any):
        if not ray.is_initialized():
            ray.init()
        settings = {"num_gpus": num_gpus, "max_retries": 0, **options}
        self._call = ray.remote(**settings)(_call)

    def submit(self, function: Any, /, *arguments: Any, **keywords: Any) -> Any:
        return self._call.remote(function, arguments, keywords).future()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ray goes on: it is the caller's."""


def _call(function: Any, arguments: Any, keywords: Any) -> Any:
    return function(*arguments, **keywords)
