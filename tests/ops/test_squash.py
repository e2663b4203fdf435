"""Squashes in one pass: the numbers and gradients of those in plain torch, and of the formulas."""

import math

import pytest
import torch

from tests.ops.test_product import twice
from torchcaps import functional, ops
from torchcaps.ops import native

pytestmark = pytest.mark.skipif(native.status() != "native", reason=f"here serves {native.status()}")
SQUASHES = [functional.squash, functional.squash_exp]
SHAPES = [(4,), (1, 1), (3, 8), (2, 3, 16), (5, 2, 33), (0, 8), (4, 0), (3000, 20)]


def poses(shape, dtype=torch.float64):
    """Long and short ones, and one that is zero."""
    s = torch.randn(shape, dtype=dtype)
    flat = s.reshape(-1, shape[-1]) if shape[-1] else s.reshape(0, 1)
    for k, scale in enumerate((1.0, 0.0, 1e-13, 1e-5, 0.01, 30.0)[: len(flat)]):
        flat[k] *= scale
    return s


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("squash", SQUASHES)
def test_values_and_gradients_are_those_of_plain_torch(squash, shape):
    s = poses(shape).requires_grad_()
    g = torch.randn(shape, dtype=s.dtype)
    found = squash(s)
    assert "Squash" in found.grad_fn.name()  # else plain torch is compared with itself
    with ops.plainly():
        wanted = squash(s)
        assert "Squash" not in wanted.grad_fn.name()
    torch.testing.assert_close(found, wanted)
    pulled = [torch.autograd.grad(v, s, g)[0] for v in (found, wanted)]
    torch.testing.assert_close(*pulled, rtol=1e-7, atol=1e-7)  # short poses lose digits in plain torch
    with torch.no_grad():
        torch.testing.assert_close(squash(s), found)


def test_lengths_are_those_of_the_formulas():
    for n in (1e-7, 0.009, 0.011, 0.5, 3.0):
        s = torch.tensor([3.0, 0.0, 4.0], dtype=torch.float64) * (n / 5)
        assert functional.squash(s).norm().item() == pytest.approx(n**2 / (1 + n**2))
        assert functional.squash_exp(s).norm().item() == pytest.approx(1 - math.exp(-n))


@pytest.mark.parametrize("n", [1e-9, 1e-4, 0.0099, 0.0101, 0.3, 4.0])
def test_the_slope_along_a_pose_is_that_of_the_formula(n):
    """d/dn (1 − e^−n) = e^−n, by the series of short poses and by the formula of others; of squash 2n / (1 + n²)²."""
    for squash, slope in (
        (functional.squash_exp, math.exp(-n)),
        (functional.squash, 2 * n / (1 + n**2) ** 2),
    ):
        s = torch.tensor([0.6, 0.8], dtype=torch.float64) * n
        (found,) = torch.autograd.grad(squash(s.requires_grad_()), s, torch.tensor([0.6, 0.8], dtype=torch.float64))
        torch.testing.assert_close(found, slope * torch.tensor([0.6, 0.8], dtype=torch.float64), rtol=1e-11, atol=0)


@pytest.mark.parametrize("squash", SQUASHES)
def test_gradients_can_be_differentiated_again(squash):
    s = torch.randn(3, 5, dtype=torch.float64)
    found = twice(squash, s)
    with ops.plainly():
        for a, b in zip(found, twice(squash, s), strict=True):
            torch.testing.assert_close(a, b)
    assert torch.autograd.gradcheck(squash, s.requires_grad_())
    assert torch.autograd.gradgradcheck(squash, s)


@pytest.mark.parametrize("squash", SQUASHES)
def test_poses_need_not_lie_in_order(squash):
    s = torch.randn(6, 4, 5).mT.requires_grad_()
    g = torch.randn(6, 4, 5).mT
    found = torch.autograd.grad(squash(s), s, g)
    assert torch.equal(squash(s), squash(s.contiguous()))
    with ops.plainly():
        torch.testing.assert_close(found, torch.autograd.grad(squash(s), s, g))


@pytest.mark.parametrize("squash", SQUASHES)
def test_threads_change_nothing(squash):
    s, g = torch.randn(5000, 16, requires_grad=True), torch.randn(5000, 16)
    found = []
    for count in (1, 2):
        torch.set_num_threads(count)
        v = squash(s)
        found.append((v, *torch.autograd.grad(v, s, g)))
    for a, b in zip(*found, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("squash", SQUASHES)
def test_nan_stays_nan_in_its_own_pose(squash):
    s = torch.ones(2, 3)
    s[0, 1] = math.nan
    assert squash(s).isnan().tolist() == [[True] * 3, [False] * 3]


@pytest.mark.parametrize("squash", SQUASHES)
def test_who_looks_inside_finds_ordinary_torch(squash):
    s = torch.rand(2, 3)
    assert squash(s.bfloat16()).dtype == torch.bfloat16
    with ops.plainly():
        slope = torch.autograd.functional.jacobian(squash, s[0])
    torch.testing.assert_close(torch.func.jacrev(squash)(s[0]), slope)
    torch.testing.assert_close(torch.vmap(squash)(s), squash(s))
    program = torch.export.export(torch.nn.Sequential(Squashed(squash)), (s,))
    assert "torchcaps" not in str(program.graph)


def test_a_compiler_finds_ordinary_torch(monkeypatch):
    s = torch.rand(2, 3)
    assert ops.natively(s)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert not ops.natively(s)


class Squashed(torch.nn.Module):
    def __init__(self, squash):
        super().__init__()
        self.squash = squash

    def forward(self, s):
        return self.squash(s)
