"""Every routing compiles as one graph and exports with a free batch size."""

import subprocess
import sys

import pytest

from torchcaps.routing import ROUTINGS


@pytest.mark.parametrize(("routing", "backend"), [*((r, "aot_eager") for r in ROUTINGS), ("dynamic", "inductor")])
def test_compile_and_export(routing, backend):
    done = subprocess.run(
        [sys.executable, "-m", "tests.contracts.compile_check", routing, backend], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("compiled and exported") == 2
