"""The search from Python: what objectives may do, how it ends and goes on, where it runs."""

import asyncio
import concurrent.futures
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import evocc
from evocc import space

SPACE = {"a": space.range(0, 20), "b": space.log_sampling(1, 64), "c": space.choice("xyz"),
         "deep": {"d": space.range(0.0, 1.0, 0.25)}}
SMALL = evocc.SearchConfig(pool_size=8, cull_size=6, generations=4, seed=3)
TRIALS = 8 + 3 * 6


def cost(p):
    return (p["a"] - 11) ** 2 + (p["b"] - 16) ** 2 + (p["c"] != "z") + p["deep"]["d"] + 1


def trace(results):
    return [(r["trial"], r["outcome"], json.dumps(r["params"])) for r in results.rows()]


# ---- Answers


def test_finds_the_best():
    results = evocc.Search(cost, SPACE).start()
    best = results.get_best_result()
    assert len(results) == 488
    assert best["params"] == {"a": 11, "b": 16, "c": "z", "deep": {"d": 0.0}}
    assert best["score_1"] == 1 and best["outcome"] == "ok"
    assert results.rows()[0]["params"] == {"a": 0, "b": 1, "c": "x", "deep": {"d": 0.0}}


def test_maximize_and_two_objectives():
    config = evocc.SearchConfig(problem_type=["max", "min"], num_objectives=2, generations=8)
    results = evocc.Search(lambda p: (p["a"], p["a"] ** 2 + p["b"]), SPACE, config).start()
    front = results.pareto_front()
    assert {(r["score_1"], r["score_2"]) for r in front} == {(a, a * a + 1) for a in range(21)}


class Scalar:
    ndim = 0

    def __float__(self):
        return 2.5

    def __iter__(self):
        raise TypeError("iteration over a 0-d array")


@pytest.mark.parametrize("returned, outcome, words", [
    (3, "ok", ""), (Scalar(), "ok", ""), ([4.0], "ok", ""), (evocc.Score(1, metrics={"m": 2}), "ok", ""),
    (evocc.INVALID, "rejected", "INVALID"), (None, "wrong_output", "returned None"),
    (math.nan, "wrong_output", "not finite"), (math.inf, "wrong_output", "not finite"),
    ((1, 2), "wrong_output", "2 numbers, not 1"), ("fast", "wrong_output", "'fast'"),
    ([["x"]], "wrong_output", "not numbers"), (True, "wrong_output", "True"),
    (evocc.Invalid("too big", "out_of_memory"), "out_of_memory", "too big"),
    (ValueError("no such tile"), "launch_failed", "ValueError: no such tile"),
    (MemoryError(), "out_of_memory", "MemoryError"),
])
def test_whatever_comes_back_is_on_record(returned, outcome, words):
    def objective(p):
        if p["a"] != 0:
            return 1.0
        if isinstance(returned, BaseException):
            raise returned
        return returned

    rows = evocc.Search(objective, SPACE, SMALL).start().rows()
    assert len(rows) == TRIALS
    assert rows[0]["outcome"] == outcome and words in rows[0]["detail"]
    if outcome == "ok":
        assert rows[0]["score_1"] == float(returned if isinstance(returned, int) else
                                           rows[0]["score_1"])
    else:
        assert rows[0]["score_1"] is None
    assert rows[-1]["trial"] == TRIALS - 1


def test_normalized_by_the_baseline(tmp_path):
    config = evocc.SearchConfig(pool_size=8, cull_size=6, generations=4, normalize=True)
    for workers in (1, 2):
        rows = evocc.Search(cost, SPACE, config).start(num_workers=workers).rows()
        assert rows[0]["score_1"] == 1
        base = rows[0]["raw_1"]
        for row in rows:
            assert row["score_1"] == pytest.approx(row["raw_1"] / base)
            assert row["raw_1"] == cost(row["params"])


# ---- Ending and going on


def test_resume_is_exact(tmp_path):
    whole = trace(evocc.Search(cost, SPACE, SMALL).start())
    path = tmp_path / "study.db"
    calls = 0

    def stopped(p):
        nonlocal calls
        calls += 1
        if calls % 5 == 0:
            raise KeyboardInterrupt
        return cost(p)

    for _ in range(TRIALS):
        search = evocc.Search(stopped, SPACE, SMALL, study=path)
        try:
            results = search.start()
            break
        except KeyboardInterrupt:
            search.close()
    assert calls > TRIALS
    assert trace(results) == whole
    assert trace(evocc.read_study(path))[-1][0] == TRIALS - 1


def test_goes_on_in_the_same_process():
    whole = trace(evocc.Search(cost, SPACE, SMALL).start())
    calls = 0

    def stopped(p):
        nonlocal calls
        calls += 1
        if calls == 10:
            raise KeyboardInterrupt
        return cost(p)

    search = evocc.Search(stopped, SPACE, SMALL)
    with pytest.raises(KeyboardInterrupt):
        search.start()
    assert len(search.results()) == 9
    assert trace(search.start()) == whole


def test_one_writer_and_named_mismatch(tmp_path):
    path = tmp_path / "study.db"
    first = evocc.Search(cost, SPACE, SMALL, study=path)
    first.start()
    with pytest.raises(evocc.BusyError) as caught:
        evocc.Search(cost, SPACE, SMALL, study=path).start()
    assert caught.value.status == "busy"
    first.close()
    other = evocc.SearchConfig(pool_size=8, cull_size=6, generations=4, seed=4)
    with pytest.raises(evocc.MismatchError, match="the seed has changed"):
        evocc.Search(cost, SPACE, other, study=path).start()


def test_killed_and_resumed(tmp_path):
    """kill -9 of the whole process, then the same program again."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import os, signal, sys
        sys.path.insert(0, os.path.dirname(sys.argv[2]))
        import evocc
        import test_search as t
        calls = 0
        def objective(p):
            global calls
            calls += 1
            if sys.argv[3] == "die" and calls == 12:
                os.kill(os.getpid(), signal.SIGKILL)
            return t.cost(p)
        evocc.Search(objective, t.SPACE, t.SMALL, study=sys.argv[1]).start()
    """))
    path = tmp_path / "study.db"
    run = [sys.executable, program, path, __file__]
    assert subprocess.run([*run, "die"]).returncode == -signal.SIGKILL
    assert len(evocc.read_study(path)) == 11
    assert subprocess.run([*run, "live"]).returncode == 0
    assert trace(evocc.Search(cost, SPACE, SMALL).start()) == [
        (r["trial"], r["outcome"], json.dumps(r["params"]))
        for r in evocc.Search(cost, SPACE, SMALL, study=path, title="objective").results().rows()]


# ---- Where it runs


def misbehaving(p):
    if p["a"] == 0:
        time.sleep(30)
    if p["a"] % 5 == 4:
        os.kill(os.getpid(), signal.SIGSEGV)
    if p["a"] % 5 == 3:
        os._exit(7)
    return cost(p)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("reuse", [True, False])
def test_hangs_and_crashes_cost_one_trial(method, reuse):
    if method == "spawn" and not reuse:
        pytest.skip("a process a trial, each with its own import: slow and nothing new")
    search = evocc.Search(misbehaving, {"a": space.range(0, 30), "b": space.log_sampling(1, 64),
                                        "c": space.choice("xyz"), "deep": {"d": space.literal(0)}},
                          SMALL)
    rows = search.start(num_workers=3, task_timeout=1.5, reuse_workers=reuse,
                        start_method=method).rows()
    assert len(rows) == TRIALS
    seen = set()
    for row in rows:
        a = row["params"]["a"]
        if a == 0:
            assert row["outcome"] == "run_timeout" and "1.5 s" in row["detail"]
            seen.add("timeout")
        elif a % 5 == 4:
            assert row["outcome"] == "launch_failed" and "SIGSEGV" in row["detail"]
            seen.add("crash")
        elif a % 5 == 3:
            assert row["outcome"] == "launch_failed" and "status 7" in row["detail"]
            seen.add("exit")
        else:
            assert row["outcome"] == "ok" and row["score_1"] == cost(row["params"])
    assert seen == {"timeout", "crash", "exit"}


def with_child(p):
    child = subprocess.Popen(["sleep", "60"])
    with open(p["pids"], "a") as file:
        file.write(f"{child.pid}\n")
    time.sleep(60)


def test_a_timeout_takes_grandchildren_along(tmp_path):
    pids = tmp_path / "pids"
    config = evocc.SearchConfig(pool_size=2, cull_size=1, generations=1)
    rows = evocc.Search(with_child, {"a": space.range(0, 9), "pids": str(pids)},
                        config).start(task_timeout=0.5).rows()
    assert [r["outcome"] for r in rows] == ["run_timeout"] * 2
    for pid in pids.read_text().split():
        for _ in range(100):
            try:
                state = open(f"/proc/{pid}/stat").read().split()[2]
            except FileNotFoundError:
                break
            if state == "Z":
                break
            time.sleep(0.02)
        else:
            pytest.fail(f"{pid} is alive")


def test_the_number_of_workers_changes_nothing():
    whole = trace(evocc.Search(cost, SPACE, SMALL).start())
    assert trace(evocc.Search(cost, SPACE, SMALL).start(num_workers=3)) == whole
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert trace(evocc.Search(cost, SPACE, SMALL).start(num_workers=4, executor=pool)) == whole


def test_asynchronous_objective():
    running = most = 0

    async def objective(p):
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            await asyncio.sleep(9 if p["a"] == 0 else 0.001)
        finally:
            running -= 1
        return cost(p)

    rows = evocc.Search(objective, SPACE, SMALL).start(num_workers=5, task_timeout=0.3).rows()
    assert most == 5
    assert rows[0]["outcome"] == "run_timeout"
    assert all(r["outcome"] == "ok" for r in rows if r["params"]["a"] != 0)


def dies_at_four(p):
    if p["a"] % 5 == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return cost(p)


def test_executor_whose_worker_dies():
    context = multiprocessing.get_context("fork")

    def make():
        return concurrent.futures.ProcessPoolExecutor(2, mp_context=context)

    rows = evocc.Search(dies_at_four, SPACE, SMALL).start(num_workers=2, executor=make).rows()
    assert len(rows) == TRIALS
    for row in rows:
        assert row["outcome"] == ("launch_failed" if row["params"]["a"] % 5 == 4 else "ok")
    with make() as pool, pytest.raises(concurrent.futures.BrokenExecutor, match="makes an executor"):
        evocc.Search(dies_at_four, SPACE, SMALL).start(num_workers=2, executor=pool)


# ---- Configuration


@pytest.mark.parametrize("settings, words", [
    ({"problem_type": "least"}, "problem_type"), ({"num_objectives": 0}, "num_objectives"),
    ({"pool_size": 1}, "pool_size"), ({"mutate_rate": 0}, "mutate_rate"),
    ({"num_objectives": 2, "problem_type": ["min"]}, "problem_type has 1 items for 2"),
    ({"objective_weights": [-1]}, "objective_weights"), ({"lag": 0}, "lag"), ({"seed": -1}, "seed"),
])
def test_configuration_is_checked(settings, words):
    with pytest.raises(ValueError, match=words):
        evocc.SearchConfig(**settings)


def test_sample():
    search = evocc.Search(cost, SPACE, SMALL)
    sample = search.sample(5)
    assert len(sample) == 5 and sample[0]["a"] == 0
    assert len({json.dumps(c) for c in sample}) == 5
    assert len(evocc.Search(cost, {"a": space.choice([1, 2])}).sample(10)) == 2


# ---- Results


def test_results(tmp_path, capsys):
    path = tmp_path / "study.db"
    results = evocc.Search(cost, SPACE, SMALL, study=path, title="my cost").start()
    results.to_csv(tmp_path / "all.csv")
    lines = (tmp_path / "all.csv").read_text().splitlines()
    assert len(lines) == TRIALS + 1 and "params.deep.d" in lines[0]
    results.save(tmp_path / "best.json")
    assert json.loads((tmp_path / "best.json").read_text()) == results.get_best_result()
    results.report(tmp_path / "report.html")
    assert "<svg" in (tmp_path / "report.html").read_text()
    assert "srcdoc" in results._repr_html_()
    assert str(results).startswith("my cost\n")
    assert results.candidate(results.get_best_result()) == results.get_best_result()["params"]
    assert set(results.importance()) == {"define/a", "define/b", "define/c", "define/deep.d"}
    read = evocc.read_study(path)
    assert read.get_best_result()["score_1"] == results.get_best_result()["score_1"]


def test_trackers(caplog):
    class Count(evocc.Tracker):
        rows = []

        def on_trial(self, row, progress):
            self.rows.append((row["trial"], progress["told"]))

    count = Count()
    with caplog.at_level("INFO", logger="evocc"):
        evocc.Search(lambda p: 1 / p["a"], SPACE, SMALL).start(
            trackers=[count, evocc.LoggingTracker(), evocc.Progress()])
    assert count.rows == [(i, i + 1) for i in range(TRIALS)]
    assert "trial 0 of 26: launch_failed: ZeroDivisionError" in caplog.text
