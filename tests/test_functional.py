import math

import pytest
import torch

from torchcaps.functional import SQUASHES, identity, length, squash, squash_exp


@pytest.mark.parametrize("function", [squash, squash_exp])
def test_direction_is_kept_and_length_is_below_one(function):
    s = torch.randn(100, 5, dtype=torch.double) * torch.logspace(-6, 4, 100)[:, None]
    v = function(s)
    torch.testing.assert_close(torch.cosine_similarity(s, v, eps=1e-30), torch.ones(100, dtype=torch.double))
    assert (length(v) <= 1 + 1e-12).all()
    order = length(s).argsort()
    assert (length(v)[order].diff() >= -1e-12).all()


def test_formulas():
    s = torch.randn(10, 4, dtype=torch.double)
    n = s.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(squash(s), n**2 / (1 + n**2) * s / n)
    torch.testing.assert_close(squash_exp(s), (1 - 1 / n.exp()) * s / n)


@pytest.mark.parametrize("name", SQUASHES)
def test_gradients_are_right_and_finite_at_zero(name):
    assert torch.autograd.gradcheck(SQUASHES[name], torch.randn(3, 4, dtype=torch.double, requires_grad=True))
    zero = torch.zeros(3, 4, requires_grad=True)
    SQUASHES[name](zero).sum().backward()
    length(zero).sum().backward()
    assert torch.isfinite(zero.grad).all()


@pytest.mark.parametrize("name", ["squash", "squash_exp"])
def test_half_precision_neither_overflows_nor_divides_by_zero(name):
    s = torch.tensor([[0.0, 0.0], [600.0, 0.0]], dtype=torch.float16)
    v = SQUASHES[name](s)
    assert v.dtype == torch.float16
    assert torch.isfinite(v).all()
    assert v[1, 0] >= 0.99


def test_each_name_is_its_own():
    named = {"squash": squash, "squash_exp": squash_exp, "identity": identity}
    assert named == SQUASHES


def test_epsilon_is_added_to_the_square_of_the_length_and_to_the_result():
    """The released code of peer2021: n² = s² + ε, n²/(1 + n²) · s/n + ε."""
    square = 3**2 + 4**2 + 0.1
    factor = square / (1 + square) / math.sqrt(square)
    expected = torch.tensor([3 * factor + 0.1, -4 * factor + 0.1], dtype=torch.double)
    torch.testing.assert_close(squash(torch.tensor([3.0, -4.0], dtype=torch.double), eps=0.1), expected)
    torch.testing.assert_close(squash(torch.zeros(2), eps=1e-7), torch.full((2,), 1e-7))


def test_a_short_pose_is_not_rounded_away():
    s = torch.tensor([6e-9, 8e-9])
    torch.testing.assert_close(squash_exp(s), s, rtol=1e-6, atol=0)
