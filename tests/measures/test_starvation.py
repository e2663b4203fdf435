"""Gradients against autograd and the paper's theorems, deaths over a training, and a resume that leaves no trace."""

import json
from types import SimpleNamespace

import pytest
import torch

from tests.contracts.networks import build, images
from torchcaps.data import Batch, Stored
from torchcaps.data.glyphs import load_glyphs
from torchcaps.measures import Nothing, Result, Starvation, gradients
from torchcaps.models import create_model
from torchcaps.train import fit

SMALL = {
    "options": {"width": 0.2, "layers": 3, "reconstruction": "none", "image_size": 28},
    "epochs": 2,
    "batch_size": 16,
    "quiet": True,
}


def batch(count=5):
    return Batch(images(count, dtype=torch.double), torch.arange(count)[:, None] % 3)


def test_theorem_one():
    """∂L/∂u of a class capsule under the margin loss (mitterreiter2023, theorem 1)."""
    net, shown = build("dynamic").double(), batch()
    top = gradients(net, shown)[-1]
    u = top.capsules.pose[:, 0, 0]
    norm = u.norm(dim=-1, keepdim=True)
    t = torch.nn.functional.one_hot(shown.labels[:, 0], 3)[..., None]
    expected = (-t * (0.9 - norm).clamp_min(0) + 0.5 * (1 - t) * (norm - 0.1).clamp_min(0)) * 2 * u / norm
    torch.testing.assert_close(top.pose[:, 0, 0], expected)
    assert top.weight is None


def test_theorem_two():
    """∂L/∂u_i = Σ_j W_ji ∂L/∂û_ij and ∂L/∂W_ji = ∂L/∂û_ij u_i: the two gradients agree in ⟨W, ∂L/∂W⟩ = ⟨u, ∂L/∂u⟩."""
    net, shown = build("uniform").double(), batch()
    for layer, found in zip(net.layers, gradients(net, shown), strict=False):
        by_weight = (layer.weight.detach() * found.weight).sum()
        by_capsule = (found.capsules.pose * found.pose).sum() / len(shown.images)
        torch.testing.assert_close(by_weight, by_capsule)


@pytest.mark.parametrize("schedule", ["sequential", "concurrent"])
def test_a_capsules_gradient_is_a_difference_quotient(schedule):
    """Move one primary capsule a little: the loss of its image moves as the gradient says."""
    net, shown = build("dynamic", schedule=schedule).double(), batch()
    found = gradients(net, shown)[0]
    push = torch.zeros_like(found.pose)
    push[2, 1, 3, 1] = torch.randn(6, dtype=torch.double)

    def loss(scale):
        pose = found.capsules.pose + scale * push
        history = net.schedule(list(net.layers), found.capsules._replace(pose=pose), "none")
        scores = net.head(history[-1][-1].capsules)
        targets = torch.nn.functional.one_hot(shown.labels[:, 0], 3).double()
        return float(net.loss(scores, targets)) * len(shown.images)

    with torch.no_grad():
        slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert slope == pytest.approx(float((found.pose * push).sum()), rel=1e-5)
    assert all(p.grad is None for p in net.parameters())


def training(net, data, step=0):
    return SimpleNamespace(model=net, splits=SimpleNamespace(train=data, validation=None), step=step)


def test_a_capsule_without_weights_is_dead_and_starves():
    data = load_glyphs("test", 20)
    net = create_model("mitterreiter2023/capsnet", image_size=28, width=0.25, layers=3)
    with torch.no_grad():
        net.layers[0].weight.reshape(4, 8, 4, 8)[:, :, 1] = 0  # nobody votes for the second hidden capsule
        net.layers[1].weight[1] = 0  # and it has nothing to say
    watch, now = Starvation(every=2, images=16), training(net, data)
    watch.begin(now)
    for now.step in (1, 2, 3, 4):
        watch.after_step(now)
    found = watch.result()
    assert [look.step for look in found.looks] == [0, 2, 4]
    assert found.dead(1).tolist() == [[False, True, False, False]] * 3
    hidden = found.looks[-1].layers[1]
    assert hidden.dead_gradient == 0
    assert hidden.gradient > 0
    assert found.looks[-1].layers[-1].weights is None
    with torch.no_grad():
        net.layers[0].weight.normal_()
    now.step = 6
    watch.after_step(now)
    assert watch.result().revived(1) == 1
    assert "revived" in str(watch.result())


def test_it_looks_at_validation_images_and_not_again_when_resumed():
    """The first of them, as many as were asked for."""
    net = build("dynamic")
    train, validation = (
        Stored((images(6, 255.0).clamp(0, 255)).byte(), torch.arange(6) % 3, ("a", "b", "c")) for _ in range(2)
    )
    now = SimpleNamespace(model=net, splits=SimpleNamespace(train=train, validation=validation), step=0)
    watch = Starvation(images=4)
    watch.begin(now)
    [look] = watch.result().looks
    for layer, expected in zip(look.layers, gradients(net, validation.batch(torch.arange(4))), strict=True):
        assert layer.gradient == pytest.approx(float(expected.pose.norm(dim=-1).mean()), rel=1e-5)
    other = gradients(net, train.batch(torch.arange(4)))[0].pose.norm(dim=-1).mean()
    assert look.layers[0].gradient != pytest.approx(float(other), rel=1e-3)
    now.step = 4
    resumed = Starvation(images=4)
    resumed.begin(now)
    assert resumed.result().looks == ()


def test_gradients_are_those_of_evaluation_mode():
    net, shown = build("dynamic").double(), batch()
    net.backbone = torch.nn.Dropout(0.5)
    first, second = gradients(net.train(), shown), gradients(net, shown)
    for a, b, still in zip(first, second, gradients(net.eval(), shown), strict=True):
        assert torch.equal(a.pose, b.pose)
        assert torch.equal(a.pose, still.pose)
        assert a.pose.abs().sum() > 0


def test_the_training_does_not_notice_and_a_resume_leaves_no_trace(tmp_path, monkeypatch):
    """By name in the settings; stopped after an epoch and resumed, weights and looks are the same to the last bit."""
    data = load_glyphs("train", 96)
    chosen = {**SMALL, "callbacks": {"starvation": {"every": 2, "images": 8}}}
    alone = fit("mitterreiter2023/capsnet", data, **SMALL)
    whole = fit("mitterreiter2023/capsnet", data, out=tmp_path / "whole", **chosen)
    for a, b in zip(alone.model.state_dict().values(), whole.model.state_dict().values(), strict=True):
        assert torch.equal(a, b)

    monkeypatch.setattr(Starvation, "after_epoch", stop_in_the_second_epoch)
    with pytest.raises(KeyboardInterrupt):
        fit("mitterreiter2023/capsnet", data, out=tmp_path / "cut", **chosen)
    monkeypatch.undo()
    fit("mitterreiter2023/capsnet", data, out=tmp_path / "cut", resume=True, **chosen)
    seen = [kept(tmp_path / name) for name in ("whole", "cut")]
    assert seen[0] == seen[1]
    assert [look.step for look in seen[0].looks][:3] == [0, 2, 4]


def stop_in_the_second_epoch(self, training, entry):
    if entry["epoch"]:
        raise KeyboardInterrupt


def kept(folder):
    """What the newest checkpoint of a training holds of the callback."""
    from torchcaps.train import checkpoint

    found, _ = checkpoint.newest(folder / "checkpoints")
    [[name, state]] = found.record["callbacks"]
    assert name == "starvation"
    return Result.from_json(json.loads(json.dumps(state)))


def test_where_there_is_nothing_to_watch():
    watch = Starvation()
    assert watch.result() == Nothing("starvation", "the training has not begun")
    watch.begin(training(create_model("chen2019/lenet"), load_glyphs("test", 10)))
    watch.after_step(training(create_model("chen2019/lenet"), load_glyphs("test", 10), 100))
    assert watch.result() == Nothing("starvation", "ConvNet has no capsule layers")
    normed = create_model("tsai2020/inverted_simple", width=0.1, in_chans=1, image_size=28)
    watch.begin(training(normed, load_glyphs("test", 10)))
    found = watch.result()
    assert found.dead(0) is None
    assert found.looks[0].layers[0].gradient > 0
    with pytest.raises(ValueError, match="every=0, images=128 is not allowed"):
        Starvation(every=0)


def test_primary_capsules_without_weights_have_gradients():
    """The network of a sign takes its numbers as capsules, by no map of its own."""
    net = create_model("peer2021/sign", bias=True)
    shown = Batch(torch.tensor([0.5, -0.3]).reshape(2, 1, 1, 1), torch.tensor([[1], [0]]))
    first, *_ = gradients(net, shown)
    assert first.pose.shape == (2, 1, 1, 1, 1)
    u = shown.images.clone().requires_grad_()
    loss = net.loss(net(u).scores, torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    (wanted,) = torch.autograd.grad(2 * loss, u)
    torch.testing.assert_close(first.pose.flatten(), wanted.flatten())
