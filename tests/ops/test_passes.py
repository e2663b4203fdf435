"""The operators promise the same whatever computes them: their tests again, in a process for each kind of passes."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="the extra gpu is not installed")
HERE = "tests/ops"


def run_tests(passes, *arguments, **environment):
    """Without the shape-checking hook, whose functions Triton cannot read."""
    options = ["-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", "--import-mode=importlib", "-o", "addopts="]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    environment = {**os.environ, "TORCHCAPS_PASSES": passes, **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


def test_plain():
    run_tests("plain", f"{HERE}/test_operators.py")


FIRST = "cut_up and (all or children) or forbidden"  # what a slip in a kernel breaks first
PARTS = {
    "test_operators.py": [f"{HERE}/test_operators.py"],
    "kernels": [f"{HERE}/triton_cases.py", "-k", FIRST],
    "triton_cases.py": [f"{HERE}/triton_cases.py", "-k", f"not ({FIRST})"],
}


@pytest.mark.parametrize("part", PARTS)
def test_triton(part):
    quick = ["-p", "tests.ops.interpreter", "-W", "ignore::RuntimeWarning"]  # NumPy's, of NaN
    run_tests("triton", *quick, *PARTS[part], TRITON_INTERPRET="1")


def test_triton_costs_no_time_where_no_card_asks():
    """Neither an import nor a network on the CPU imports it; Fabric does, with which networks are trained."""
    code = """
import sys, torch, torchcaps.measures
from torchcaps.models import create_model
create_model("sabour2017/capsnet", width=0.05)(torch.rand(1, 1, 28, 28))
sys.exit("triton" in sys.modules)
"""
    environment = {**os.environ, "TORCHCAPS_PASSES": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
