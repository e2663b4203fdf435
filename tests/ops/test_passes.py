"""The operators promise the same whatever computes them: their tests again, in a process for each kind of passes."""

import os
import subprocess
import sys


def run_tests(passes, *files, **environment):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", *files]
    environment = {**os.environ, "TORCHCAPS_PASSES": passes, **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


def test_plain():
    run_tests("plain", "tests/ops/test_operators.py")
