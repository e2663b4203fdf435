"""Turned matrices, and their gradients, lie in memory as they are read."""

import pytest
import torch

from torchcaps.ops import native, plainly
from torchcaps.ops.turn import turned


def test_columns_are_rows_in_memory_too():
    t = torch.randn(3, 5)
    for each in (t, t.clone().requires_grad_()):
        made = turned(each)
        assert made.is_contiguous()
        torch.testing.assert_close(made, t.T)


def test_so_is_the_gradient():
    t = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(5, 3, dtype=torch.float64)
    (found,) = torch.autograd.grad((turned(t) * weight).sum(), t)
    assert found.is_contiguous()
    torch.testing.assert_close(found, weight.T)
    assert torch.autograd.gradgradcheck(turned, t)


def test_a_transform_sees_through_it():
    t = torch.randn(3, 5)
    torch.testing.assert_close(torch.func.grad(lambda t: turned(t).square().sum())(t), 2 * t)


@pytest.mark.skipif(native.status() != "native", reason=f"here serves {native.status()}")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    "shape", [(1, 1), (0, 3), (3, 0), (16, 16), (17, 15), (5, 300), (300, 33), (128, 1000)], ids=str
)
def test_every_number_finds_its_place(shape, dtype):
    t = torch.arange(shape[0] * shape[1]).reshape(shape).to(dtype)
    for each in (t, t.T.contiguous().T, torch.stack([t, t], -1)[..., 0]):  # in order, turned already, with gaps
        for made in (torch.ops.torchcaps.turned(each), turned(each)):
            assert made.is_contiguous()
            assert made.tolist() == t.T.tolist()
    with plainly():
        assert torch.equal(turned(t), t.T)
        assert turned(t).is_contiguous()


@pytest.mark.skipif(native.status() != "native", reason=f"here serves {native.status()}")
def test_what_it_gives_is_its_own():
    t = torch.zeros(4, 3).T
    turned(t)[0, 0] = 1
    assert not t.any()
    with pytest.raises(RuntimeError, match="only a matrix can be turned, not \\[2, 3, 4\\]"):
        torch.ops.torchcaps.turned(torch.zeros(2, 3, 4))
