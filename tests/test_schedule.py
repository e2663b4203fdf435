"""In which order layers step, on layers that only note what they are given."""

from types import SimpleNamespace

import pytest
import torch

from torchcaps.schedule import concurrent, sequential
from torchcaps.types import Capsules, State

pytestmark = pytest.mark.usefixtures("no_shape_checks")  # layers here are none


class Counter:
    """A layer whose pose is one more than that below; it notes what it saw, its own state, iteration and record."""

    def __init__(self, iters):
        self.routing, self.seen, self.asked = SimpleNamespace(iters=iters), [], 0

    def votes(self, below):
        self.asked += 1
        return below.pose

    def step(self, votes, state, t, *, record=False):
        self.seen.append((votes.item(), None if state is None else state.pose.item(), t, record))
        pose = votes + 1 + 10 * t
        return State(pose, pose[..., 0])

    def route(self, below, record="none"):
        self.seen.append((below.pose.item(), record))
        return [State(below.pose + 1 + 10 * t, below.act) for t in range(self.routing.iters)]


PRIMARY = Capsules(torch.zeros(1, 1, 1, 1, 1), torch.zeros(1, 1, 1, 1))


def test_in_turn_each_layer_sees_the_end_of_the_one_below():
    layers = [Counter(3), Counter(1), Counter(2)]
    history = sequential(layers, PRIMARY, "all")
    assert [layer.seen for layer in layers] == [[(0, "all")], [(21, "all")], [(22, "all")]]
    assert [[state.pose.item() for state in states] for states in history] == [[1, 11, 21], [22], [23, 33]]


def test_at_once_each_layer_sees_the_sweep_before():
    """As many sweeps as the layer that asks for most; couplings of all are kept."""
    layers = [Counter(1), Counter(3)]
    history = concurrent(layers, PRIMARY, "all")
    assert layers[0].seen == [(0, None, 0, True), (0, 1, 1, True), (0, 11, 2, True)]
    assert layers[1].seen == [(1, None, 0, True), (1, 2, 1, True), (11, 12, 2, True)]
    assert [[state.pose.item() for state in states] for states in history] == [[1, 11, 21], [2, 12, 32]]


def test_a_single_sweep_is_the_last():
    layers = [Counter(1), Counter(1)]
    concurrent(layers, PRIMARY, "last")
    assert [layer.seen for layer in layers] == [[(0, None, 0, True)], [(1, None, 0, True)]]


def test_children_that_are_the_same_are_asked_once():
    """The primary capsules by all sweeps; those above by the second, which sees them as the first left them."""
    layers = [Counter(4), Counter(4)]
    concurrent(layers, PRIMARY, "all")
    assert [layer.asked for layer in layers] == [1, 3]


@pytest.mark.parametrize(("record", "kept"), [("last", [False, False, True]), ("none", [False] * 3)])
def test_couplings_are_kept_of_the_last_sweep_whatever_a_layer_asks_for(record, kept):
    layers = [Counter(1), Counter(3), Counter(2)]
    history = concurrent(layers, PRIMARY, record)
    assert [len(states) for states in history] == [1, 1, 1]
    assert [recorded for *_, recorded in layers[2].seen] == kept
    steps = [len(layer.seen) for layer in layers]
    assert steps == ([3, 3, 3] if record == "last" else [1, 2, 3])
