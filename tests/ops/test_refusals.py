"""Internal operators are asked nonsense: an index, a stride or a size that cannot be is an error, never a crash."""

import subprocess
import sys

import pytest
import torch

from tests.ops import refusals
from torchcaps.ops import native

pytestmark = pytest.mark.skipif(native.status() != "native", reason=f"here serves {native.status()}")


def test_nonsense_is_refused_and_nothing_crashes():
    done = subprocess.run([sys.executable, "-m", refusals.__name__], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


def test_the_refusal_quotes_what_was_given():
    with pytest.raises(ValueError, match=r"place -1 .* must be at least 0"):
        torch.ops.torchcaps.gathered(refusals.POSE, refusals.at(-1), 1)
    with pytest.raises(ValueError, match=r"stride \[1, 1, 1\], .* must be two numbers each"):
        refusals.convolved(stride=[1, 1, 1])()
    with pytest.raises(ValueError, match=r"cannot be cut: kernel 5, stride 0, .*; none may be above 4096"):
        refusals.convolved(stride=[0, 0])()


def test_a_place_beyond_the_last_is_padding():
    """As windows at an edge have it; however far beyond."""
    for place in (9, 10, refusals.FAR):
        found = torch.ops.torchcaps.gathered(torch.ones_like(refusals.POSE), refusals.at(place), 1)
        assert (found == 0).sum() == 2 * 2 * 4  # images, types, numbers of a pose
