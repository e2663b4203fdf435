"""Two trainings compared by their logs."""

import pytest

from benchmarks.kill import log_of


def assert_alike(one, other, *, rel, lines):
    """The same lines with the same numbers, but for rounding."""
    first, second = log_of(one), log_of(other)
    assert len(first) == len(second) == lines
    for expected, found in zip(first, second, strict=True):
        assert (expected.pop("event"), expected["step"]) == (found.pop("event"), found["step"])
        assert found == pytest.approx(expected, rel=rel, abs=0)
