"""NaN and Inf: where they were born, and that broken weights are never kept."""

import math

import pytest
import torch
from torch import nn

from benchmarks.kill import log_of
from tests.train.separable import Separable, linear
from torchcaps import fit
from torchcaps.models import create_model
from torchcaps.train import checkpoint
from torchcaps.train.not_finite import NotFiniteError, broken_part
from torchcaps.train.run import CHECKPOINTS
from torchcaps.types import State


def capsules():
    """Three routed layers, one after the other, behind two convolutions."""
    torch.manual_seed(0)
    return create_model("peer2021/rba", depth=4, width=0.05)


def at_once(iters=4):
    """Three routed layers that take their turns in sweeps."""
    torch.manual_seed(0)
    return create_model("tsai2020/inverted_simple", width=0.05, in_chans=1, image_size=28, iters=iters)


def said_by(net, glyphs, **settings):
    with pytest.raises(NotFiniteError) as stop:
        fit(net, glyphs, batch_size=16, epochs=1, quiet=True, **settings)
    return str(stop.value)


def spoil(layer, turn):
    """A capsule layer whose routing gives NaN at one of its turns."""
    real = layer.routing.step

    def step(votes, state, t):
        after = real(votes, state, t)
        return (
            State(*(part * math.nan if isinstance(part, torch.Tensor) else part for part in after))
            if t == turn
            else after
        )

    layer.routing.step = step


@pytest.mark.parametrize(("layer", "turn"), [(0, 2), (1, 0), (1, 1), (2, 2)])
def test_the_capsule_layer_and_its_iteration(layer, turn, glyphs):
    net = capsules()
    assert [one.routing.iters for one in net.layers] == [3, 3, 3]
    spoil(net.layers[layer], turn)
    said = said_by(net, glyphs)
    assert said.startswith("step 0: the loss is nan. NaN or Inf first came out of capsule layer ")
    assert f"capsule layer {layer + 1} of 3 (layers.{layer}), iteration {turn + 1} of 3. A smaller" in said


@pytest.mark.parametrize(("layer", "turn"), [(1, 0), (1, 1), (0, 1)])
def test_the_capsule_layer_and_the_sweep_of_the_concurrent_schedule(layer, turn, glyphs):
    net = at_once()
    assert len(net.layers) == 3
    spoil(net.layers[layer], turn)
    assert f"capsule layer {layer + 1} of 3 (layers.{layer}), sweep {turn + 1} of 4." in said_by(net, glyphs)


def test_weights_so_large_that_votes_overflow(glyphs):
    net = capsules()
    with torch.no_grad():
        net.layers[1].weight.fill_(3e38)
    assert "capsule layer 2 of 3 (layers.1), iteration 1 of 3." in said_by(net, glyphs)


@pytest.mark.parametrize("part", ["backbone.0", "primary.conv"])
def test_backbone_and_primary_capsules(part, glyphs):
    net = capsules()
    with torch.no_grad():
        net.get_submodule(part).weight.fill_(3e38)
    assert f"first came out of the layer {part}." in said_by(net, glyphs)


def test_head_and_loss(glyphs):
    net = at_once(iters=1)
    with torch.no_grad():
        net.head.linear.weight.fill_(3e38)
    assert "first came out of the layer head.linear." in said_by(net, glyphs)
    net = capsules()
    net.loss.upper = math.nan
    assert "first came out of the layer loss." in said_by(net, glyphs)


def test_one_bad_image_is_enough(glyphs):
    """It is found among the others and looked at again as it was, although batch norm made it from all of them."""
    net = capsules()
    net.backbone = nn.Sequential(*net.backbone, nn.BatchNorm2d(13))
    real, bad = net.layers[0].routing.step, []

    def step(votes, state, t):
        pose = votes.below.pose
        bad.append(pose[13] if not bad else bad[0])
        hit = (pose == bad[0]).all(-1).all(-1).all(-1).all(-1)
        after = real(votes, state, t)
        return after._replace(pose=torch.where(hit[:, None, None, None, None], math.nan, after.pose))

    net.layers[0].routing.step = step
    assert "capsule layer 1 of 3 (layers.0), iteration 1 of 3." in said_by(net, glyphs)


class Spoil(nn.Module):
    """Divides by zero from a step on."""

    def __init__(self, after=2):
        super().__init__()
        self.after, self.calls = after, 0

    def forward(self, x):
        self.calls += 1
        return x / 0 if self.calls > self.after else x


def test_nan_stops_with_step_layer_and_advice(tmp_path):
    with pytest.raises(NotFiniteError) as stop:
        fit(linear(Spoil()), Separable(), validation=0.0, batch_size=8, out=tmp_path / "run", save_every=1, quiet=True)
    said = str(stop.value)
    assert said.startswith("step 2: the loss is nan. NaN or Inf first came out of the layer body.2.")
    assert "smaller learning rate" in said
    assert len(log_of(tmp_path / "run")) == 2
    assert checkpoint.newest(tmp_path / "run" / CHECKPOINTS)[0].record["step"] == 2


def test_nan_in_the_images():
    data = Separable()
    data.batch = lambda index, epoch=0: Separable.batch(data, index)._replace(
        images=torch.full((len(index), 1, 1, 1), math.nan)
    )
    with pytest.raises(NotFiniteError, match=r"step 0: .*The images of this batch hold NaN or Inf"):
        fit(linear(), data, validation=0.0, quiet=True)


class Overflow(torch.autograd.Function):
    """Fine forwards, infinite backwards."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * math.inf


def test_weights_that_broke_are_never_kept(tmp_path):
    """The loss was fine, its gradient was not: neither a checkpoint nor the end of the training lets that pass."""

    class Breaks(nn.Module):
        def forward(self, x):
            return Overflow.apply(x)

    settings = {"validation": 0.0, "epochs": 1, "quiet": True}
    message = r"step 1: The parameter body.1.weight holds NaN or Inf"
    with pytest.raises(NotFiniteError, match=message):
        fit(linear(Breaks()), Separable(), batch_size=32, out=tmp_path / "run", **settings)
    assert checkpoint.listed(tmp_path / "run" / CHECKPOINTS) == []
    with pytest.raises(NotFiniteError, match=message):
        fit(linear(Breaks()), Separable(), batch_size=32, **settings)
    with pytest.raises(NotFiniteError, match=r"step 1: the loss is nan. The parameter body.1.weight"):
        fit(linear(Breaks()), Separable(), batch_size=8, **settings)


def test_nothing_stays_on_the_network_that_was_listened_to():
    net = linear(Spoil(after=0))
    with pytest.raises(NotFiniteError, match=r"came out of the layer body\.2"):
        fit(net, Separable(), validation=0.0, quiet=True)
    assert [name for name, module in net.named_modules() if module._forward_hooks] == []


def test_infinite_weights_are_broken_and_infinite_buffers_are_masks():
    net = linear(nn.BatchNorm1d(2))
    assert broken_part(net) is None
    net.body[2].running_mean.fill_(math.inf)
    assert broken_part(net) is None
    net.body[2].running_mean[1] = math.nan
    assert broken_part(net) == "The buffer body.2.running_mean holds NaN"
    for value in (math.inf, -math.inf, math.nan):
        net.body[1].bias.data[1] = value
        assert broken_part(net) == "The parameter body.1.bias holds NaN or Inf"
