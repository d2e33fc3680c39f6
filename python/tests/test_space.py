"""Spaces of one's own, and those of compilers."""

import os
import pickle
import shutil
import subprocess

import pytest

import evocc
from evocc import space

CONFIG = evocc.SearchConfig(pool_size=40, cull_size=10, generations=2)


def all_params(search_space, config=CONFIG):
    return [r["params"] for r in evocc.Search(lambda p: 1, search_space, config).start().rows()]


def test_domains():
    assert space.range(1, 5).values == (1, 2, 3, 4, 5)
    assert space.range(0, 10, 4).values == (0, 4, 8)
    assert space.range(0.1, 0.3, 0.1).values == (0.1, 0.2, 0.3)
    assert space.log_sampling(8, 100).values == (8, 16, 32, 64)
    assert space.range(1, 1000, log_sampling=True, points=4).values == (1, 10, 100, 1000)
    assert space.log_sampling(1e-4, 1e-2, points=3).values == (1e-4, 1e-3, 1e-2)
    for wrong in (lambda: space.range(3, 1), lambda: space.range(0, 1, 0), lambda: space.choice([]),
                  lambda: space.choice([1, 1]), lambda: space.choice([1], default=2),
                  lambda: space.log_sampling(0, 4), lambda: space.range(0, 1, 1e-9),
                  lambda: space.choice([1, 2], knockout_prob=2)):
        with pytest.raises(ValueError):
            wrong()


def test_values_of_any_type():
    values = [None, True, False, 1, 1.5, "x", "two words", (1, 2), "true", "absent"]
    seen = {repr(p["v"]) for p in all_params({"v": space.choice(values)})}
    assert seen == {repr(v) for v in values}


def test_nested_with_constants():
    first = all_params({"outer": {"inner": space.range(3, 5), "fixed": space.literal("k")},
                        "plain": 7})[0]
    assert first == {"outer": {"inner": 3, "fixed": "k"}, "plain": 7}


def test_knockout():
    found = all_params({"a": space.choice([5, 6], knockout_prob=0.5), "b": space.range(0, 99)})
    assert found[0]["a"] is None
    assert {p["a"] for p in found} == {None, 5, 6}
    found = all_params({"a": space.choice([5, 6], knockout_prob=0.5, default=6),
                        "b": space.range(0, 99)})
    assert {p["a"] for p in found} == {5, 6}


def test_conditions_constraints_forbidden():
    rules = space.ParamSpace(
        {"a": space.range(0, 9), "b": {"c": space.range(0, 9)}, "mode": space.choice(["x", "y"]),
         "z": space.range(0, 9, default=4, when={"mode": "y"})},
        constraints=["a + b_c <= 9", lambda p: p["a"] != 5],
        forbid=[{"mode": "x", "a": [1, 2]}])
    found = all_params(rules)
    assert len(found) == 50
    for p in found:
        assert p["a"] + p["b"]["c"] <= 9 and p["a"] != 5
        assert not (p["mode"] == "x" and p["a"] in (1, 2))
        assert p["mode"] == "y" or p["z"] == 4
    assert {p["z"] for p in found if p["mode"] == "y"} - {4}


def test_a_rule_that_raises():
    def rule(p):
        raise RuntimeError("rule is broken")

    with pytest.raises(RuntimeError, match="rule is broken"):
        evocc.Search(lambda p: 1, space.ParamSpace({"a": space.range(0, 9)},
                                                   constraints=[rule])).start()


def test_what_is_no_space():
    for wrong in (3, [], {"a": 1}, {"a b": space.range(0, 1)}):
        with pytest.raises((TypeError, ValueError)):
            evocc.Search(lambda p: 1, wrong)
    with pytest.raises(evocc.ParseError):
        space.ParamSpace({"a": space.range(0, 9)}, constraints=["a +"])


def test_lists_of_spaces():
    found = []

    def objective(parts):
        found.append(parts)
        return 1

    evocc.Search(objective, [{"a": space.range(0, 3)}, {"b": space.range(0, 9)}], CONFIG).start()
    assert len(found) == 40 and found[0] == [{"a": 0}, {"b": 0}]


# ---- Compilers

PTXAS = os.environ.get("EVOCC_REAL_PTXAS") or shutil.which("ptxas")
needs_ptxas = pytest.mark.skipif(not PTXAS, reason="there is no ptxas")
KERNEL = os.path.join(os.path.dirname(__file__), "../../examples/triton_layernorm_8192_w8_sm90a.ptx")


@needs_ptxas
def test_ptxas_space():
    ptxas = space.PtxasSpace(arch="sm_90a")
    baseline, *others = evocc.Search(lambda c: 1, ptxas).sample(20)
    assert baseline.arguments == [] and str(baseline) == ""
    assert all(c.arguments for c in others)
    again = pickle.loads(pickle.dumps(others[0]))
    assert again == others[0] and again.arguments == others[0].arguments


def spills(candidate):
    result = evocc.compile(candidate, code=False)
    if result.outcome != "ok":
        raise evocc.Invalid(result.detail, result.outcome)
    return evocc.Score(result.metrics["registers"], metrics={"code": result.metrics["code_bytes"]},
                       code_hash=result.code_hash, command=result.command)


@needs_ptxas
def test_ptx_space(tmp_path):
    ptx = space.PtxSpace(KERNEL)
    config = evocc.SearchConfig(pool_size=8, cull_size=4, generations=2)
    results = evocc.Search(spills, ptx, config, study=tmp_path / "s.db").start(num_workers=2)
    best = results.get_best_result()
    base = results.rows()[0]
    assert best["score_1"] <= base["score_1"] and base["params"] == {}
    candidate = next(results.candidate(r) for r in results.rows() if r["params"])
    candidate.save(tmp_path / "best.acf")
    assert ptx.load(tmp_path / "best.acf") == candidate
    assert ptx.parse(str(candidate)) == candidate
    assert evocc.compile(candidate).code[:4] == b"\x7fELF"
    with pytest.raises(evocc.MismatchError):
        space.PtxSpace(KERNEL, arguments=["-O1"]).load(tmp_path / "best.acf")


def test_what_is_missing(tmp_path):
    with pytest.raises(evocc.NotFoundError):
        space.PtxSpace(tmp_path / "no.ptx")
    with pytest.raises(evocc.Error):
        space.PtxasSpace(path=str(tmp_path / "no-ptxas"))


def test_the_command_is_there():
    from evocc import _native

    said = subprocess.run(["evocc", "--version"], capture_output=True, text=True)
    assert said.returncode == 0 and _native.version in said.stdout


@needs_ptxas
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_have_kernels_of_their_own(method):
    """The parent has opened the file before it forks."""
    ptx = space.PtxSpace(KERNEL)
    ptx.parse("").compile()
    config = evocc.SearchConfig(pool_size=6, cull_size=4, generations=2)
    alone = evocc.Search(spills, ptx, config).start().rows()
    rows = evocc.Search(spills, ptx, config).start(num_workers=2, start_method=method).rows()
    assert [(r["outcome"], r["score_1"]) for r in rows] == [
        (r["outcome"], r["score_1"]) for r in alone]
    assert any(r["outcome"] == "ok" for r in rows)
