"""The theorems of peer2021 and mitterreiter2023, as identities of the library."""

from functools import partial

import pytest
import torch

from tests.contracts.networks import build, images
from torchcaps.functional import length, squash
from torchcaps.layers import ActivationHead, CapsuleLayer
from torchcaps.losses import MarginLoss
from torchcaps.models.peer2021 import sign
from torchcaps.routing import EM, Dynamic
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules


@pytest.mark.parametrize("connection", ["connected", "convolutional"])
@pytest.mark.parametrize("factory", [Dynamic, partial(EM, output="length"), EM], ids=["dynamic", "em vector", "em"])
def test_peer2021_theorems_1_and_2(factory, connection):
    """Without a bias a negated input gives negated poses and the same class scores, exactly."""
    net = build("dynamic", "vector", connection, factory=factory)
    x = images(4)
    plus, minus = net(x, record="all"), net(-x, record="all")
    assert torch.equal(plus.scores, minus.scores)
    for a, b in zip(plus.capsules, minus.capsules, strict=True):
        assert torch.equal(a.pose, -b.pose)
        assert torch.equal(a.act, b.act)
    for a, b in zip(plus.couplings, minus.couplings, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("routing", ["dynamic", "em"])
def test_a_bias_tells_them_apart(routing):
    """Section 4: with a bias the class scores of u and −u differ; without one they cannot."""
    x = torch.linspace(0.1, 1, 10).reshape(-1, 1, 1, 1)
    biased, plain = sign(routing=routing, bias=True), sign(routing=routing, bias=False)
    assert (biased(x).scores - biased(-x).scores).abs().min(-1).values.max() > 1e-4
    assert torch.equal(plain(x).scores, plain(-x).scores)


@pytest.mark.parametrize("present", [0.0, 1.0])
def test_mitterreiter2023_theorem_1(present):
    """The margin loss pulls an output capsule along its pose with 2(m⁺ − ‖u‖): the force does not vanish with it."""
    loss = MarginLoss()
    for size in (1e-4, 0.05, 0.3, 0.95):
        u = torch.randn(8, dtype=torch.double)
        u = (u / u.norm() * size).requires_grad_()
        pose = u.reshape(1, 1, 1, 1, 8)
        scores = ActivationHead(CapsShape((1, 1), 1, 8))(Capsules(pose, length(pose)))
        loss(scores, torch.tensor([[present]], dtype=torch.double)).backward()
        n = u.norm()
        force = -present * max(0.0, 0.9 - n) + 0.5 * (1 - present) * max(0.0, n - 0.1)
        torch.testing.assert_close(u.grad, (force * 2 * u / n).detach())


def test_mitterreiter2023_theorem_2():
    """A hidden capsule's gradient is Σ_j ∂L/∂û_ij W_ij and a map's is ∂L/∂û_ij u_i: both vanish with the other."""
    layer = CapsuleLayer(CapsShape((1, 1), 5, 4), 3, 6).double()
    pose = torch.randn(1, 1, 1, 5, 4, dtype=torch.double, requires_grad=True)
    targets = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.double)
    state = sequential([layer], Capsules(pose, pose.norm(dim=-1)))[-1][-1]
    MarginLoss()(state.act[:, 0, 0], targets).backward()

    w = layer.weight.detach().reshape(5, 4, 3, 6)
    votes = torch.einsum("ix,ixjy->ijy", pose.detach()[0, 0, 0], w).requires_grad_()
    logits = torch.zeros(5, 3, dtype=torch.double)
    for _ in range(3):
        v = squash((logits.softmax(-1)[..., None] * votes).sum(0))
        logits = logits + (votes * v).sum(-1)
    MarginLoss()(v.norm(dim=-1)[None], targets).backward()
    torch.testing.assert_close(pose.grad[0, 0, 0], torch.einsum("ijy,ixjy->ix", votes.grad, w))
    expected = torch.einsum("ijy,ix->ixjy", votes.grad, pose.detach()[0, 0, 0])
    torch.testing.assert_close(layer.weight.grad.reshape(5, 4, 3, 6), expected)


def test_a_dead_capsule_stays_dead():
    """The limit of theorem 2: a zero capsule behind zero maps gets no gradient, and neither do its maps."""
    layer = CapsuleLayer(CapsShape((1, 1), 5, 4), 3, 6)
    with torch.no_grad():
        layer.weight[2] = 0
    pose = torch.randn(2, 1, 1, 5, 4)
    pose[:, 0, 0, 2] = 0
    pose.requires_grad_()
    state = sequential([layer], Capsules(pose, pose.norm(dim=-1)))[-1][-1]
    MarginLoss()(state.act[:, 0, 0], torch.tensor([[1.0, 0.0, 0.0]]).expand(2, 3)).backward()
    assert not pose.grad[:, 0, 0, 2].any()
    assert not layer.weight.grad[2].any()
    assert layer.weight.grad[1].any()
