"""What EM and its relatives make of the moments of the votes."""

import pytest
import torch

from torchcaps.routing._mixture import Belief, observe


class Found:
    """Votes of which only the moments are known: three that say almost the same, far from where they were expected."""

    def __init__(self, first, second):
        self.first, self.second = first, second

    def moments(self, centre, **_):
        return torch.full((1, 1, 1, 1), 3.0), self.first, self.second


def pose(*numbers):
    return torch.tensor(numbers).reshape(1, 1, 1, 1, -1)


@pytest.mark.usefixtures("no_shape_checks")
def test_rounding_makes_no_variance_negative():
    """Mean of squares less square of the mean: 4 − 2², 9 − 3² a bit less than nothing, 5 − 1²."""
    belief = Belief(pose(10.0, 20.0, 30.0), pose(1.0, 1.0, 1.0), torch.zeros(1, 1, 1, 1))
    mass, mean, variance = observe(Found(pose(6.0, 9.0, 3.0), pose(12.0, 26.999, 15.0)), belief)
    assert mass.item() == 3
    assert mean.flatten().tolist() == [12, 23, 31]
    assert variance.flatten().tolist() == [0, 0, 4]
