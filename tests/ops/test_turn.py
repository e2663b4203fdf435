"""Turned matrices, and their gradients, lie in memory as they are read."""

import torch

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
