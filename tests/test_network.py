"""The network and its schedules."""

import math
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from torchcaps import CapsNet, concurrent, sequential
from torchcaps.infer import infer
from torchcaps.layers import ActivationHead, CapsuleLayer, LinearHead, PrimaryCapsules
from torchcaps.network import write_weights
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
    for h, w in ((2, 3), (1, 3), (3, 1)):
        with pytest.raises(ValueError, match=f"the class capsules lie on a {h}×{w} grid"):
            LinearHead(CapsShape((h, w), 10, 4))


def test_an_activation_head_reads_activations_and_nothing_else():
    top = Capsules(torch.randn(2, 1, 1, 3, 4), torch.rand(2, 1, 1, 3))
    assert torch.equal(ActivationHead(CapsShape((1, 1), 3, 4))(top), top.act[:, 0, 0])


def test_each_head_has_its_usual_loss():
    """Lengths are judged by the margin loss, logits by cross entropy, unless another loss is given."""
    first, layers = PrimaryCapsules((8, 4, 4), n=2, d=4, kernel=None), stack(Dynamic)
    heads = {ActivationHead: 0.6**2 + 0.5 * 0.1**2, LinearHead: math.log(math.exp(0.3) + math.exp(0.2)) - 0.3}
    for head, expected in heads.items():
        loss = CapsNet(nn.Identity(), first, layers, head(layers[-1].shape_out)).loss
        assert loss(torch.tensor([[0.3, 0.2]]), torch.tensor([[1.0, 0.0]])).item() == pytest.approx(expected)
    assert isinstance(net(loss=nn.MSELoss()).loss, nn.MSELoss)


def test_probabilities_under_a_loss_that_does_not_read_scores_are_a_softmax():
    scores = torch.tensor([[1.0, -2.0, 0.5]])
    expected = [math.exp(s) / (math.exp(1.0) + math.exp(-2.0) + math.exp(0.5)) for s in (1.0, -2.0, 0.5)]
    assert net(loss=nn.MSELoss()).probabilities(scores)[0].tolist() == pytest.approx(expected)


def test_a_recipe_that_could_not_be_written_whole_is_not_there(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("of an older network")

    def cut(path, data):
        with path.open("wb") as file:
            file.write(data[:20])
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "write_bytes", cut)
    with pytest.raises(OSError, match="full"):
        write_weights(net(), tmp_path, {"name": "mine", "options": {}})
    assert not (tmp_path / "config.json").exists()


def test_a_standardised_network_keeps_the_record_it_is_asked_for():
    """And sees its images with mean 0 and deviation 1."""
    own, x = net(), torch.rand(2, 8, 4, 4)
    mean, deviation = x.mean((1, 2, 3), keepdim=True), x.std((1, 2, 3), keepdim=True, correction=0)
    expected = infer(own, (x - mean) / deviation, "last")
    own.standardise()
    found = infer(own, x, "last")
    torch.testing.assert_close(found.scores, expected.scores)
    assert [c.shape for c in found.couplings] == [c.shape for c in expected.couplings]
    assert len(found.capsules) == len(found.couplings) + 1 == 4


def test_the_last_layer_is_asked_for_activations():
    first = PrimaryCapsules((8, 4, 4), n=2, d=4, kernel=None)
    low = CapsuleLayer(first.shape_out, 3, 4, window=2, routing=Dynamic)
    top = CapsuleLayer(low.shape_out, 3, 4, routing=InvertedAttention)
    with pytest.raises(ValueError, match="InvertedAttention gives every capsule activation 1: use LinearHead"):
        CapsNet(nn.Identity(), first, [low, top], ActivationHead(top.shape_out))
    low = CapsuleLayer(first.shape_out, 3, 4, window=2, routing=InvertedAttention)
    top = CapsuleLayer(low.shape_out, 3, 4, routing=Dynamic)
    CapsNet(nn.Identity(), first, [low, top], ActivationHead(top.shape_out))


def test_a_record_begins_with_the_primary_capsules():
    x = torch.randn(2, 8, 4, 4)
    own = net()
    parse = own(x, "last")
    torch.testing.assert_close(parse.capsules[0], own.primary(x))
    assert [c.pose.shape[1:4] for c in parse.capsules] == [(4, 4, 2), (3, 3, 3), (2, 2, 3), (1, 1, 3)]


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
    if activation == "learned":
        expected_act = 1 / (1 + (-first.presence(x)).exp())
        torch.testing.assert_close(act, expected_act.movedim(1, -1))
    else:
        torch.testing.assert_close(
            act, pose.square().sum(-1).sqrt() if activation == "length" else torch.ones(2, 5, 4, 3)
        )


def test_primary_capsules_are_as_active_as_they_are_long():
    """Unless said otherwise; and poses are normalised before they are squashed, not after."""
    first = PrimaryCapsules((12, 4, 4), n=3, d=4, kernel=None, norm=True)
    x = torch.randn(2, 12, 4, 4)
    pose, act = first(x)
    torch.testing.assert_close(act, pose.square().sum(-1).sqrt())
    assert (act < 1).all()
    each = x.reshape(2, 3, 4, 4, 4).movedim(2, -1).movedim(1, -2)
    normed = (each - each.mean(-1, keepdim=True)) / (each.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
    squared = normed.square().sum(-1, keepdim=True)
    torch.testing.assert_close(pose, normed * squared.sqrt() / (1 + squared))
