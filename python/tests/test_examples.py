"""The examples, as a user runs them."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent.parent / "examples"
EXAMPLES = ROOT / "python"
PTXAS = os.environ.get("EVOCC_REAL_PTXAS") or shutil.which("ptxas")


def run(name, *arguments):
    done = subprocess.run([sys.executable, EXAMPLES / name, *arguments], capture_output=True,
                          text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_quadratic():
    assert run("quadratic.py") == "{'x': 17, 'y': -0.5, 'kind': 'round'}\n"


def test_two_objectives():
    assert "the fair bargain:" in run("two_objectives.py")


def test_nested_space(tmp_path):
    assert "best: trial" in run("nested_space.py", tmp_path / "nested.db")


@pytest.mark.parametrize("where", ["here", "executor"])
def test_distributed(where):
    assert "'x': 4" in run("distributed.py", where)


def test_ray():
    pytest.importorskip("ray")
    assert "'x': 4" in run("distributed.py", "ray")


def test_mpi():
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    done = subprocess.run(
        [mpiexec, "--allow-run-as-root", "--oversubscribe", "-n", "3", sys.executable, "-m",
         "mpi4py.futures", EXAMPLES / "distributed.py", "mpi"],
        capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "'x': 4" in done.stdout


@pytest.mark.skipif(not PTXAS, reason="there is no ptxas")
def test_spill_reduction(tmp_path):
    said = run("spill_reduction.py", ROOT / "triton_attention_128x64_w4_sm90a.ptx",
               tmp_path / "best.acf")
    assert "spilled: 16 bytes by default, 0 with" in said
    assert (tmp_path / "best.acf").read_text().startswith("evocc-acf: 1")
