"""FGSM and PGD against naive twins, and what AutoAttack and transfer are given."""

import logging
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from torchcaps.attacks import FGSM, PGD, AutoAttack, Transfer
from torchcaps.losses import MarginLoss, multi_hot
from torchcaps.models import create_model
from torchcaps.network import ConvNet

CLASSES = 4


@pytest.fixture
def net():
    return ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(30, 20), nn.Tanh(), nn.Linear(20, CLASSES)), loss=MarginLoss())


@pytest.fixture
def shown():
    return torch.rand(7, 1, 5, 6), torch.arange(7) % CLASSES


def gradient(net, images, labels, loss):
    images = images.clone().requires_grad_()
    total = sum(loss(net(image[None]).scores, label[None]) for image, label in zip(images, labels, strict=True))
    return torch.autograd.grad(total, images)[0]


def own(scores, labels):
    return MarginLoss()(scores, multi_hot(labels, CLASSES))


@pytest.mark.parametrize(("name", "loss"), [("ce", F.cross_entropy), ("own", own)])
def test_fgsm_is_one_step_along_the_sign(net, shown, name, loss):
    images, labels = shown
    g = gradient(net, images, labels, loss)
    found = FGSM(0.1, loss=name)(net, images, labels)
    torch.testing.assert_close(found, (images + 0.1 * g.sign()).clamp(0, 1))
    unit = g / g.flatten(1).norm(dim=-1)[:, None, None, None]
    found = FGSM(0.5, "l2", clip=False, loss=name)(net, images, labels)
    torch.testing.assert_close(found, images + 0.5 * unit, atol=1e-5, rtol=0)


@pytest.mark.parametrize("given", [0.07, None])
@pytest.mark.parametrize("clip", [True, False])
def test_pgd_is_many_steps_back_into_the_ball(net, shown, clip, given):
    images, labels = shown
    eps, steps = 0.2, 6
    step = 2.5 * 0.2 / 6 if given is None else given
    np.random.seed(3)
    start = np.random.uniform(-eps, eps, (7, 30)).reshape(images.shape)
    at = images + torch.from_numpy(start).float()
    at = at.clamp(0, 1) if clip else at
    for _ in range(steps):
        at = at + step * gradient(net, at, labels, F.cross_entropy).sign()
        at = at.clamp(0, 1) if clip else at
        at = images + (at - images).clamp(-eps, eps)
    found = PGD(eps, clip=clip, seed=3, steps=steps, step=given)(net, images, labels)
    torch.testing.assert_close(found, at)


def test_pgd_looks_at_forty_gradients(net, shown):
    """As many as Madry et al. take on MNIST."""
    images, labels = shown
    asked = []
    net.body.register_full_backward_hook(lambda *_: asked.append(1))
    PGD(0.1)(net, images, labels)
    assert len(asked) == 40


def test_an_image_does_not_know_its_batch(net, shown):
    images, labels = shown
    together = FGSM(0.3, "l2")(net, images, labels)
    alone = torch.cat([FGSM(0.3, "l2")(net, images[k : k + 1], labels[k : k + 1]) for k in range(7)])
    torch.testing.assert_close(together, alone)


def test_what_autoattack_is_given(shown):
    """Logits less a constant; of lengths, the logarithms of their shares: the softmax of either gives probabilities."""
    images, _ = shown
    for loss in (None, MarginLoss()):
        net = ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(30, CLASSES), nn.Sigmoid()), loss=loss)
        given = torch.from_numpy(AutoAttack._target(net, images, None).predict(images.numpy()))
        scores = net(images).scores
        torch.testing.assert_close(given.softmax(-1), net.probabilities(scores))
        expected = scores.log_softmax(-1) if loss is None else (scores / scores.sum(-1, keepdim=True)).log()
        torch.testing.assert_close(given, expected)


def test_transfer_is_the_substitutes_attack(net, shown):
    images, labels = shown
    other = ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(30, CLASSES)))
    assert torch.equal(Transfer(0.1, substitute=other)(net, images, labels), FGSM(0.1)(other, images, labels))
    unsure = ConvNet(nn.Sequential(nn.Dropout(0.5), nn.Flatten(), nn.Linear(30, CLASSES)))
    found = Transfer(0.1, substitute=unsure.train())(net, images, labels)  # which is asked in evaluation mode
    assert all(module.training for module in unsure.modules())
    assert all(p.requires_grad and p.grad is None for p in unsure.parameters())
    assert torch.equal(found, FGSM(0.1)(unsure.eval(), images, labels))
    through = Transfer(0.1, "l2", False, 4, substitute=other, through=PGD)(net, images, labels)
    assert torch.equal(through, PGD(0.1, "l2", False, 4)(other, images, labels))


def test_art_is_imported_late_and_says_nothing(net, shown, caplog, capfd, recwarn):
    code = "import sys, torchcaps.attacks; sys.exit('art' in sys.modules)"
    assert subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], check=False).returncode == 0
    level = logging.getLogger("art").level
    with caplog.at_level(logging.INFO):
        PGD(0.1, steps=2)(net, *shown)
        AutoAttack(0.1, steps=2, restarts=1, queries=2)(net, *shown)
    assert logging.getLogger("art").level == level
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")
    assert recwarn.list == []


def test_a_missing_toolbox_is_named(net, shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "art.attacks.evasion", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'torchcaps\[attacks\]'"):
        FGSM(0.1)(net, *shown)


def test_scores_of_capsules_reach_the_attack():
    net = create_model("sabour2017/capsnet", width=0.05)
    assert (FGSM(0.1)(net, torch.rand(1, 1, 28, 28), torch.tensor([2])) > 0).any()
