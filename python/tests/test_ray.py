"""Ray on one machine; a worker killed in mid-run costs its trial and nothing else."""

import os
import signal

import pytest

import evocc
from evocc import space

ray = pytest.importorskip("ray")


def dies_at_four(p):
    if p["a"] % 5 == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return p["a"] + 1


def test_a_killed_worker_costs_one_trial(tmp_path):
    from evocc.ray import RayExecutor

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        config = evocc.SearchConfig(pool_size=8, cull_size=6, generations=3)
        search = evocc.Search(dies_at_four, {"a": space.range(0, 30)}, config,
                              study=tmp_path / "ray.db")
        rows = search.start(num_workers=2, executor=RayExecutor(num_cpus=1)).rows()
        assert len(rows) == 20
        outcomes = {r["outcome"] for r in rows}
        assert outcomes == {"ok", "launch_failed"}
        for row in rows:
            dead = row["params"]["a"] % 5 == 4
            assert row["outcome"] == ("launch_failed" if dead else "ok")
            assert not dead or "worker died" in row["detail"]
    finally:
        ray.shutdown()
