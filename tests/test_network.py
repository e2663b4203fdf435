"""The network and its schedules."""

from functools import partial

import pytest
import torch
from torch import nn

from torchcaps import CapsNet, concurrent, sequential
from torchcaps.layers import ActivationHead, CapsuleLayer, LinearHead, PrimaryCapsules
from torchcaps.routing import ROUTINGS, Dynamic, InvertedAttention
from torchcaps.types import CapsShape, Capsules


def stack(routing=InvertedAttention, depth=3):
    shape, layers = CapsShape((4, 4), 2, 4), []
    for k in range(depth):
        last = k == depth - 1
        layers.append(CapsuleLayer(shape, 3, 4, window=None if last else 2, routing=routing))
        shape = layers[-1].shape_out
    return layers


def primary(batch=2):
    pose = torch.randn(batch, 4, 4, 2, 4)
    return Capsules(pose, pose.norm(dim=-1))


@pytest.mark.parametrize("name", ROUTINGS)
@pytest.mark.parametrize("iters", [1, 2, 3, 5])
def test_concurrent_is_procedure_2(name, iters):
    """Against procedure 2 of tsai2020 line by line: all layers move at once from the poses before."""
    layers, below = stack(ROUTINGS[name]), primary()
    states, children = [], below
    for layer in layers:
        states.append(layer.step(layer.votes(children), None, 0))
        children = states[-1].capsules
    for t in range(1, iters):
        children = [below, *(state.capsules for state in states[:-1])]
        states = [layer.step(layer.votes(c), s, t) for layer, c, s in zip(layers, children, states, strict=True)]
    for record in ("none", "last", "all"):
        found = concurrent(layers, below, record, iters=iters)
        torch.testing.assert_close(found[-1][-1][:2], states[-1][:2])
    assert [len(s) for s in found] == [iters] * 3
    for layer_states, state in zip(found, states, strict=True):
        torch.testing.assert_close(layer_states[-1][:2], state[:2])


def test_dead_updates_are_skipped():
    layers, steps = stack(), []
    for depth, layer in enumerate(layers):
        layer.step = partial(lambda depth, step, *a, **k: (steps.append(depth), step(*a, **k))[1], depth, layer.step)
    concurrent(layers, primary(), "none", iters=2)
    assert [steps.count(depth) for depth in range(3)] == [1, 1, 2]
    steps.clear()
    concurrent(layers, primary(), "none", iters=4)
    assert [steps.count(depth) for depth in range(3)] == [2, 3, 4]
    steps.clear()
    concurrent(layers, primary(), "last", iters=4)
    assert [steps.count(depth) for depth in range(3)] == [4, 4, 4]


def test_one_layer_is_the_same_under_both_schedules():
    layer = CapsuleLayer(CapsShape((4, 4), 2, 4), 3, 4, routing=Dynamic)
    below = primary()
    torch.testing.assert_close(sequential([layer], below)[0][-1], concurrent([layer], below)[0][-1])


def test_no_sweeps_are_refused():
    with pytest.raises(ValueError, match="iters=0 is not allowed: at least one sweep"):
        concurrent(stack(), primary(), iters=0)


def net(**options):
    first = PrimaryCapsules((8, 4, 4), n=2, d=4, kernel=None)
    layers = stack(Dynamic)
    return CapsNet(nn.Identity(), first, layers, ActivationHead(layers[-1].shape_out), **options)


def test_unknown_record_is_named(no_shape_checks):
    with pytest.raises(ValueError, match="record='some' is not allowed: choose one of 'none', 'last', 'all'"):
        net()(torch.randn(1, 8, 4, 4), record="some")


def test_shapes_that_do_not_fit_are_named():
    first = PrimaryCapsules((8, 4, 4), n=1, d=8, kernel=None)
    layers = stack()
    with pytest.raises(ValueError, match=r"layer 1 was built for CapsShape\(.*n=2, d=4\), but below it stands"):
        CapsNet(nn.Identity(), first, layers, LinearHead(layers[-1].shape_out))
    first = PrimaryCapsules((8, 4, 4), n=2, d=4, kernel=None)
    with pytest.raises(ValueError, match="the head was built for"):
        CapsNet(nn.Identity(), first, layers, LinearHead(CapsShape((1, 1), 9, 4)))
    with pytest.raises(ValueError, match="at least one capsule layer"):
        CapsNet(nn.Identity(), first, [], LinearHead(layers[-1].shape_out))


def test_class_capsules_on_a_grid_are_refused():
    with pytest.raises(ValueError, match="the class capsules lie on a 2×3 grid"):
        LinearHead(CapsShape((2, 3), 10, 4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": "soft"}, "activation='soft' is not allowed: choose 'length', 'learned' or 'one'"),
        ({"kernel": None}, "takes the 8 channels as they are, which is not n=3 capsules of d=4"),
        ({"kernel": 9}, "is larger than the grid"),
    ],
)
def test_bad_primary_capsules_are_named(options, message, no_shape_checks):
    with pytest.raises(ValueError, match=message):
        PrimaryCapsules((8, 4, 4), n=3, d=4, **options)


@pytest.mark.parametrize("activation", ["length", "learned", "one"])
def test_primary_capsules_group_channels(activation):
    first = PrimaryCapsules((5, 9, 8), n=3, d=4, kernel=3, stride=2, padding=1, norm=True, activation=activation)
    x = torch.randn(2, 5, 9, 8)
    pose, act = first(x)
    assert pose.shape == (2, *first.shape_out.grid, 3, 4) == (2, 5, 4, 3, 4)
    assert act.shape == (2, 5, 4, 3)
    conv = first.conv(x)
    expected = first.squash(first.norm(conv[:, 4:8].movedim(1, -1)))
    torch.testing.assert_close(pose[:, :, :, 1], expected)
