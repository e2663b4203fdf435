"""The ball around an image, what is kept of what an attack finds, and which images are attacked how; all by hand."""

import sys

import pytest
import torch
from torch import nn

from torchcaps.attacks import Attack, AutoAttack, Chosen, Fixed, Noise, Universal, attacked
from torchcaps.attacks._base import bounded, frozen
from torchcaps.data import Placed, Stored
from torchcaps.losses import MarginLoss
from torchcaps.network import ConvNet

NAN, INF = float("nan"), float("inf")


def shades(count, seed=0, size=2):
    """Grey images whose shade is their number, of two classes in turn."""
    images = torch.arange(count, dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(count, 1, size, size) + 50
    return Stored(images, torch.arange(count) % 2, ("a", "b"), seed=seed)


def net(classes=2, size=2):
    return ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(size * size, classes)))


def row(*pixels):
    return torch.tensor(pixels).reshape(1, 1, 1, -1)


@pytest.mark.parametrize(
    ("norm", "found", "kept"),
    [
        ("l2", row(0.5, 0.6), row(0.5, 0.6)),  # 0.1 away, within the ball
        ("l2", row(0.8, 0.9), row(0.62, 0.66)),  # 0.5 away, brought back to 0.2
        ("linf", row(0.5, 0.6), row(0.5, 0.6)),
        ("linf", row(0.8, -0.9), row(0.7, 0.3)),
        ("l2", row(NAN, 0.6), row(0.5, 0.6)),
        ("l2", row(INF, -INF), row(0.5, 0.5)),
        ("linf", row(NAN, INF), row(0.5, 0.5)),
    ],
)
def test_what_is_found_comes_back_into_the_ball(norm, found, kept):
    """Images of 0.5 and an eps of 0.2; what is no number stays as it was."""
    torch.testing.assert_close(bounded(torch.full_like(found, 0.5), found, 0.2, norm, clip=False), kept)
    torch.testing.assert_close(bounded(torch.full_like(found, 0.5), found, 0.2, norm, clip=True), kept)


def test_without_room_the_images_are_copied():
    images = torch.rand(2, 1, 2, 2)
    before = images.clone()
    found = Noise(0.0)(net(), images, torch.tensor([0, 1]))
    found.zero_()
    assert torch.equal(images, before)


def test_the_network_is_asked_in_evaluation_mode_and_gets_its_flags_back():
    model = net().train()
    model.body[1].weight.requires_grad_(False)
    seen = []

    class Look(Attack):
        name = "look"

        def search(self, model, images, labels):
            seen.append((model.training, torch.is_grad_enabled(), [p.requires_grad for p in model.parameters()]))
            return images + 9

    found = Look(0.25)(model, torch.zeros(1, 1, 2, 2), torch.tensor([0]))
    assert seen == [(False, True, [False, False])]
    assert (model.training, [p.requires_grad for p in model.parameters()]) == (True, [False, True])
    assert found.unique().tolist() == [0.25]
    with pytest.raises(KeyboardInterrupt), frozen(model):
        raise KeyboardInterrupt
    assert [p.requires_grad for p in model.parameters()] == [False, True]


@pytest.fixture
def blocks_of_two(monkeypatch):
    monkeypatch.setattr(sys.modules["torchcaps.attacks.attacked"], "BLOCK", 2)


@pytest.mark.usefixtures("blocks_of_two")
def test_a_universal_perturbation_is_one_for_all_blocks():
    data = shades(6)
    view = attacked(Universal(0.1, clip=False, iterations=2, batch_size=3))(net(), data)
    index = torch.arange(6)
    moved = view.batch(index).images - data.batch(index).images
    torch.testing.assert_close(moved, moved[:1].expand_as(moved))
    assert moved.abs().max() > 0.01


@pytest.mark.usefixtures("blocks_of_two")
def test_every_block_of_every_epoch_is_drawn_anew():
    data = shades(6)
    view = attacked(Noise(0.1, clip=False))(net(), data)
    index = torch.arange(6)
    moved = torch.cat([view.batch(index, epoch).images - data.batch(index).images for epoch in (0, 1)])
    assert len({tuple(part.sign().flatten().tolist()) for part in moved.split(2)}) == 6
    torch.testing.assert_close(moved.abs(), torch.full_like(moved, 0.1))


def test_everybody_gets_the_same_images_from_all_over():
    first, second = Chosen(shades(100), 10), Chosen(shades(100, seed=5), 10)
    assert torch.equal(first.index, second.index)
    assert len(first.index.unique()) == 10
    assert first.index.max() > 50  # not the first ones
    index = torch.arange(10)
    torch.testing.assert_close(first.batch(index).images[:, 0, 0, 0], (first.index + 50) / 255)
    placed = Placed(shades(100), canvas=8)
    few = Chosen(placed, 10)
    for epoch in (0, 1):
        assert torch.equal(few.batch(index, epoch).images, placed.batch(few.index, epoch).images)
    assert not torch.equal(few.batch(index, 0).images, few.batch(index, 1).images)


def test_what_autoattack_asks_of_each_attack():
    """Twice APGD on its two losses, DeepFool and Square, each with its own patience; two classes have no ratio."""
    images = torch.rand(2, 1, 12, 12)
    ce, ratio, fool, square = AutoAttack(0.3, steps=4, queries=7, restarts=2)._attacks(net(3, 12), images)
    assert (ce.loss_type, ratio.loss_type) == ("cross_entropy", "difference_logits_ratio")
    assert [attack.max_iter for attack in (ce, ratio, fool, square)] == [4, 4, 4, 7]
    assert (ce.nb_random_init, square.nb_restarts) == (2, 2)
    assert len(list(AutoAttack(0.3)._attacks(net(2, 12), images))) == 3


def test_a_network_that_is_sure_gives_autoattack_numbers(no_shape_checks):
    """Lengths of 1 and 0: the logarithm of nothing is no number, and no attack could follow it."""
    sure = ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(4, 3)), loss=MarginLoss())
    with torch.no_grad():
        sure.body[1].weight.zero_()
        sure.body[1].bias.copy_(torch.tensor([1.0, 0.0, 0.0]))
    images = torch.rand(2, 1, 2, 2)
    given = torch.from_numpy(AutoAttack._target(sure, images, None).predict(images.numpy()))
    assert given.isfinite().all()
    torch.testing.assert_close(given.softmax(-1), torch.tensor([[1.0, 0.0, 0.0]] * 2))


def test_a_fixed_perturbation_and_its_control():
    """The control has the same numbers at other pixels, and both signs."""
    attack = Fixed(1.0, clip=False, perturbation=torch.arange(1.0, 26.0).reshape(1, 1, 5, 5) / 25)
    control = attack.shuffled().perturbation
    flat = control.flatten()
    torch.testing.assert_close(flat.abs().sort().values, attack.perturbation.flatten())
    assert not torch.equal(flat.abs(), attack.perturbation.flatten())
    assert 5 < int((flat < 0).sum()) < 20


def test_no_images_under_attack_are_no_images():
    nothing = shades(2).select(torch.arange(0))
    assert len(attacked(Noise(0.1))(net(), nothing)) == 0
