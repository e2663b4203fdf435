"""Every routing compiles as one graph and exports with a free batch size."""

import subprocess
import sys

import pytest

from tests.contracts.networks import WINDOWS
from torchcaps.routing import ROUTINGS


@pytest.mark.parametrize("routing", ROUTINGS)
def test_compiles_as_one_graph_and_exports(routing):
    check(routing, "aot_eager", *WINDOWS)


def test_inductor_gives_the_same():
    check("dynamic", "inductor", "convolutional")


def check(*arguments):
    command = [sys.executable, "-m", "tests.contracts.compile_check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("compiled and exported") == len(arguments) - 2
