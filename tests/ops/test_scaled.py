"""Maps scaled by couplings, block by block: the product and gradients of maps scaled at once."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.ops.test_product import twice
from torchcaps.ops import multiply, scaled
from torchcaps.ops.scaled import scaled_product


def naive(u, w, c):
    return torch.einsum("nix,ixjy,ijy->njy", u, w, c.expand(-1, -1, w.shape[3]))


def drawn(i=7, n=5, x=3, j=4, y=2, own=1):
    shapes = (n, i, x), (i, x, j, y), (i, j, own)
    return [torch.randn(shape, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("own", [1, 2], ids=["for a parent", "for each number"])
@pytest.mark.parametrize("children", [1, 2, 3, 7, 100], ids="{} in a block".format)
def test_blocks_of_any_size_give_the_sum_and_its_gradients(monkeypatch, children, own):
    given = drawn(own=own)
    monkeypatch.setattr(scaled, "BLOCK", children * given[1][0].nbytes)
    made = scaled_product(*(t.clone().requires_grad_() for t in given))
    assert ("Scaled" in made.grad_fn.name()) == (children < 7)
    for found, wanted in zip(twice(scaled_product, *given), twice(naive, *given), strict=True):
        torch.testing.assert_close(found, wanted)


def test_second_derivatives_of_inputs_that_depend_on_each_other(monkeypatch):
    monkeypatch.setattr(scaled, "BLOCK", 200)
    u, w, _ = drawn()

    def of(product):
        return lambda u, w: product(u, w, w.mean((1, 3))[..., None].sin())

    for found, wanted in zip(twice(of(scaled_product), u, w), twice(of(naive), u, w), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_gradients_that_nobody_wants_are_not_made(monkeypatch, wanted):
    given = drawn()
    monkeypatch.setattr(scaled, "BLOCK", 200)
    for k in wanted:
        given[k].requires_grad_()
    leaves = [given[k] for k in wanted]
    g = torch.randn(5, 4, 2, dtype=torch.float64)
    found = torch.autograd.grad(scaled_product(*given), leaves, g)
    for a, b in zip(found, torch.autograd.grad(naive(*given), leaves, g), strict=True):
        torch.testing.assert_close(a, b)
    again = torch.autograd.grad(scaled_product(*given), leaves, g, create_graph=True)
    for a, b in zip(again, found, strict=True):
        torch.testing.assert_close(a, b)


def test_no_scaled_maps_are_made_whole():
    """Of maps larger than a block, nothing of their size is made but their gradient."""
    u, w, c = (t.float().requires_grad_() for t in drawn(i=400, x=8, j=10, y=16))
    seen = []

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            out = operator(*args, **(kwargs or {}))
            aliases = any(value.alias_info for value in operator._schema.returns)
            if isinstance(out, torch.Tensor) and out.numel() == w.numel() and not aliases:
                seen.append(operator.name())
            return out

    with Sizes():
        s = scaled_product(u, w, c)
        assert seen == []
        s.sum().backward()
    assert seen == ["aten::new_empty"]
    assert w.grad is not None


def test_a_folded_routing_takes_it(monkeypatch):
    """Couplings of each image's every position alike; poses of several rows, and couplings of each number."""
    monkeypatch.setattr(scaled, "BLOCK", 0)
    calls = []
    real = scaled._Scaled.apply
    monkeypatch.setattr(scaled._Scaled, "apply", lambda *given: calls.append(1) or real(*given))
    for rows, d in ((1, 1), (2, 1), (1, 6)):
        u, w = (
            torch.randn(2, 3, 1, 5, 4, dtype=torch.float64),
            torch.randn(5, 4 // rows, 12 // rows, dtype=torch.float64),
        )
        c = torch.randn(1, 1, 5, 2, d, dtype=torch.float64)
        found = multiply(u, w, c, j=2, rows=rows)
        parts = u.reshape(2, 3, 1, 5, rows, -1), w.reshape(5, 4 // rows, 2, -1)
        votes = torch.einsum("bhwiax,ixjy->bhwijay", *parts).flatten(-2)
        torch.testing.assert_close(found, (votes * c).sum(3))
    assert len(calls) == 3


def test_a_transform_sees_through_it(monkeypatch):
    monkeypatch.setattr(scaled, "BLOCK", 0)
    u, w, c = drawn()
    slope = torch.func.grad(lambda c: scaled_product(u, w, c).sum())(c)
    torch.testing.assert_close(slope, torch.autograd.functional.jacobian(lambda c: naive(u, w, c).sum(), c))
