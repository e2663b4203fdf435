"""The cost of a training, by a clock that is set by hand."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.train.separable import Separable, linear
from torchcaps.train.estimate import estimate


class Counted(Separable):
    """Five images, and a note of how many were asked for at once."""

    def __init__(self):
        super().__init__(5)
        self.asked = []

    def batch(self, index, epoch=0):
        self.asked.append(index.tolist())
        return super().batch(index, epoch)


@pytest.mark.parametrize(("size", "steps"), [(2, 9), (8, 3)])
def test_the_quickest_step_times_all_of_them(size, steps, monkeypatch):
    """Steps take 1, 3, 2 and 4 seconds, and the first does not count; a batch has no more images than there are."""
    clock = iter([0.0, 1.0, 10.0, 13.0, 20.0, 22.0, 30.0, 34.0])
    monkeypatch.setattr("torchcaps.train.estimate.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    data = Counted()
    cost = estimate(linear(), data, batch_size=size, epochs=3, validation=0.0)
    assert data.asked == [list(range(min(size, 5)))] * 4
    assert (cost.parameters, cost.images, cost.steps) == (4, 5, steps)
    assert (cost.seconds_per_step, cost.seconds) == (2.0, 2.0 * steps)
    [peak] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    assert cost.megabytes == pytest.approx(int(peak) / 1024, rel=0.05)
