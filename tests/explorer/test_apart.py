"""How far two networks are apart, on trees whose arrivals are known."""

import pytest

from tests.explain.networks import by_hand
from torchcaps.explorer.apart import apart, arrivals


def test_what_arrives_is_shared_out_by_children():
    first = by_hand([[2.0, 2.0], [1.0, 0.0]], strength=[[1.0, 3.0], [1.0, 1.0]])
    assert arrivals(first).tolist() == pytest.approx([3.5 / 4, 0.5 / 4])
    second = by_hand([[1.0, 0.0]], [[0.0, 5.0], [1.0, 0.0]], strength=[[2.0], [1.0, 1.0], [1.0, 1.0]])
    assert arrivals(second).tolist() == pytest.approx([0, 1])
    assert apart(first, second) == {"value": 0.875, "by": "arrivals"}
    assert apart(second, first) == {"value": 0.875, "by": "arrivals"}


def test_networks_with_other_layers_are_compared_by_what_arrives():
    """Both have one link through a window of 1×1, but not the same capsules below."""
    two, three = by_hand([[1.0, 0.0], [0.0, 1.0]]), by_hand([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    assert two.structure.links == three.structure.links
    assert apart(two, three) == {"value": round(2 / 3 - 1 / 2, 5), "by": "arrivals"}
    assert apart(two, by_hand([[0.5, 0.5], [0.0, 1.0]])) == {"value": 0.25, "by": "edges"}


def test_networks_that_tell_other_classes_are_not_compared():
    rows = [[1.0, 0.0], [0.0, 1.0]]
    assert apart(by_hand(rows), by_hand(rows, classes=("ant", "bee"))) is None
