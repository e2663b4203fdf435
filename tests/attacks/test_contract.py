"""What every attack promises of every network: within its bounds, repeatable, and nothing left changed."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from tests.contracts.networks import CLASSES, GRID, build
from tests.contracts.networks import D as DIM
from tests.contracts.networks import N as TYPES
from torchcaps.attacks import METHODS, NORMS, make_attack
from torchcaps.models import create_model
from torchcaps.network import ConvNet
from torchcaps.routing import ROUTINGS

SHAPE = (TYPES * DIM, *GRID)
SLIGHT = 1e-5  # what float32 may add to a distance
FEW = {
    "pgd": {"steps": 3},
    "autoattack": {"steps": 2, "restarts": 1, "queries": 3},
    "universal": {"iterations": 2},
}
EPS = {"linf": 0.2, "l2": 0.7}


def convnet(shape=SHAPE):
    return ConvNet(nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(CLASSES)))


def network(name):
    net = convnet() if name == "convnet" else build(name)
    net(torch.zeros(1, *SHAPE))
    return net.train()


def made(method, eps, **options):
    if method == "transfer":
        torch.manual_seed(0)
        options["substitute"] = network("convnet")
    return make_attack(method, eps, **FEW.get(method, {}), **options)


def distance(a, b, norm):
    moved = (a - b).flatten(1)
    return (moved.abs().amax(-1) if norm == "linf" else moved.norm(dim=-1)).max().item()


def some(count=3):
    images = torch.rand(count, *SHAPE)
    images[:, :, 0] = images[:, :, 0].round()  # black and white, where clipping bites
    return images, torch.arange(count) % CLASSES


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", [*ROUTINGS, "convnet"])
@pytest.mark.parametrize("method", METHODS)
def test_every_attack_stays_within_its_bounds(method, name, norm):
    net, (images, labels), eps = network(name), some(), EPS[norm]
    before = {key: value.clone() for key, value in net.state_dict().items()}
    given = images.clone()
    attack = made(method, eps, norm=norm)
    found = attack(net, images, labels)
    assert torch.equal(images, given)
    assert found.shape == images.shape
    assert found.dtype == torch.float32
    assert distance(found, images, norm) <= eps + SLIGHT
    assert found.min() >= 0
    assert found.max() <= 1
    assert torch.equal(attack(net, images, labels), found)
    free = made(method, eps, norm=norm, clip=False)(net, images, labels)
    assert distance(free, images, norm) <= eps + SLIGHT
    if method not in ("autoattack", "transfer"):  # the first moves only what it can turn, the second is tried below
        assert distance(free, images, norm) > 0.9 * eps
        assert free.min() < 0
        assert free.max() > 1
    assert torch.equal(made(method, 0.0, norm=norm)(net, images, labels), images)
    assert all(module.training for module in net.modules())
    assert all(p.requires_grad and p.grad is None for p in net.parameters())
    assert all(torch.equal(before[key], value) for key, value in net.state_dict().items())


@pytest.mark.parametrize("method", METHODS)
def test_flags_gradients_modes_and_chance_come_back(method, no_shape_checks):  # which draw from Python's chance
    net, (images, labels) = network("dynamic"), some()
    first, second, *_ = net.parameters()
    first.requires_grad_(False)
    second.grad = torch.full_like(second, 3.0)
    net.layers.eval()
    attack = made(method, 0.1)
    (torch.manual_seed(5), np.random.seed(5), random.seed(5))
    wanted = torch.rand(1).item(), np.random.rand(), random.random()
    (torch.manual_seed(5), np.random.seed(5), random.seed(5))
    attack(net, images, labels)
    assert (torch.rand(1).item(), np.random.rand(), random.random()) == wanted
    assert not first.requires_grad
    assert second.requires_grad
    assert torch.equal(second.grad, torch.full_like(second, 3.0))
    assert [net.training, net.primary.training, net.layers.training] == [True, True, False]


@pytest.mark.parametrize("method", METHODS)
def test_other_seeds_draw_others(method):
    """Where something is drawn at all."""
    net, (images, labels) = network("convnet"), some()
    one, other = (made(method, 0.2, seed=seed)(net, images, labels) for seed in (0, 1))
    assert torch.equal(one, other) == (method in ("fgsm", "transfer"))


@pytest.mark.parametrize("method", METHODS)
def test_other_precisions(method):
    """A network in float64, which ART does not know, gets its images so and gives the same attack."""
    net, (images, labels) = network("convnet"), some()
    single = made(method, 0.2)(net, images, labels)
    double = made(method, 0.2)(net.double(), images, labels)
    assert double.dtype == torch.float32
    assert distance(double, images, "linf") <= 0.2 + SLIGHT
    if method in ("fgsm", "noise"):
        torch.testing.assert_close(double, single, atol=1e-5, rtol=0)


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("norm", NORMS)
def test_autoattack_with_all_four_attacks(norm, clip):
    """Square needs larger images than the contract has: here it runs, at sides that ART's own start would not fit."""
    for side in (10, 11, 13):
        net = convnet((1, side, side))
        images = torch.rand(6, 1, side, side)
        right = net(images).scores.argmax(-1)
        attack = made("autoattack", 0.3, norm=norm, clip=clip)
        assert len(list(attack._attacks(net, images))) == 4
        found = attack(net, images, right)
        assert distance(found, images, norm) <= 0.3 + SLIGHT
        assert not clip or 0 <= found.min() <= found.max() <= 1
        turned = net(found).scores.argmax(-1) != right
        assert (distance(found, images, norm) > 0) == bool(turned.any())


def test_two_classes():
    net = ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(4, 2)))
    images, labels = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 0])
    for method in ("fgsm", "pgd", "autoattack", "universal", "noise"):
        assert made(method, 0.5)(net, images, labels).shape == images.shape


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("fgsm", {"eps": -0.1}, "eps=-0.1 is not allowed"),
        ("fgsm", {"eps": 8.0}, "in the units of the image, 0 to 1 .8 grey levels of 255 are 0.031."),
        ("fgsm", {"eps": 0.1, "norm": "l1"}, "norm='l1' is not allowed: choose one of 'linf', 'l2'"),
        ("pgd", {"eps": 0.1, "steps": 0}, "steps=0 is not allowed"),
        ("pgd", {"eps": 0.1, "step": 0.0}, "step=0.0 is not allowed"),
        ("autoattack", {"eps": 0.1, "queries": 0}, "queries=0 is not allowed"),
        ("universal", {"eps": 0.1, "iterations": 0}, "iterations=0 is not allowed"),
        ("universal", {"eps": 0.1, "aim": "up"}, "aim='up' is not allowed"),
        ("transfer", {"eps": 0.1}, "the attack 'transfer' cannot be made with eps alone"),
        ("fgms", {"eps": 0.1}, "no attack 'fgms': choose one of 'fgsm', 'pgd'"),
    ],
)
def test_wrong_options_are_quoted(method, options, said, no_shape_checks):
    with pytest.raises(ValueError, match=said):
        make_attack(method, **options)


def test_images_of_another_range_are_refused_while_clipped():
    net, (images, labels) = network("convnet"), some()
    with pytest.raises(ValueError, match="the images run from -1 to 1, not from 0 to 1"):
        made("fgsm", 0.1)(net, images * 2 - 1, labels)
    assert distance(made("fgsm", 0.1, clip=False)(net, images * 2 - 1, labels), images * 2 - 1, "linf") <= 0.1 + SLIGHT
    assert made("fgsm", 8.0, clip=False).eps == 8


def test_any_loss_and_none_that_is_unknown(no_shape_checks):
    net, (images, labels) = network("dynamic"), some()
    for loss in ("own", "ce", "margin", "bce_lengths", nn.MSELoss()):
        assert made("fgsm", 0.1, loss=loss)(net, images, labels).shape == images.shape
    with pytest.raises(ValueError, match="loss='mse' is not allowed: choose 'own' or one of 'margin'"):
        made("fgsm", 0.1, loss="mse")(net, images, labels)


def test_shipped_networks_of_every_kind_can_be_attacked():
    for name in ("sabour2017/capsnet", "chen2019/lenet"):
        net = create_model(name, pretrained=True)
        images = torch.rand(2, 1, 28, 28)
        assert (made("fgsm", 0.1)(net, images, torch.tensor([0, 1])) != images).any()
