"""Maps scaled by couplings, block by block: the product and gradients of maps scaled at once."""

import pytest
import torch
from torch.profiler import profile

from tests.ops.test_product import twice
from torchcaps.ops import multiply, native, scaled
from torchcaps.ops.scaled import scaled_product

pytestmark = pytest.mark.skipif(native.status() != "native", reason=f"here serves {native.status()}")


def naive(u, w, c):
    return torch.einsum("nix,ixjy,ijy->njy", u, w, c.expand(-1, -1, w.shape[3]))


def drawn(i=7, n=5, x=3, j=4, y=2, own=1):
    shapes = (n, i, x), (i, x, j, y), (i, j, own)
    return [torch.randn(shape, dtype=torch.float64) for shape in shapes]


@pytest.fixture
def always(monkeypatch):
    """Maps of any size are scaled block by block."""
    monkeypatch.setattr(scaled, "LARGE", -1)


LARGE_MAPS = {"x": 8, "j": 10, "y": 16}  # 25 children of them are a block


@pytest.mark.parametrize("own", [1, 16], ids=["for a parent", "for each number"])
@pytest.mark.parametrize(("i", "n"), [(0, 3), (7, 0), (1, 1), (7, 5), (230, 5), (230, 257), (60, 2100)])
def test_any_blocks_parts_and_tiles_give_the_sum_and_its_gradients(always, i, n, own):
    given = drawn(i=i, n=n, own=own, **LARGE_MAPS)
    leaves = [t.clone().requires_grad_() for t in given]
    made = scaled_product(*leaves)
    assert "Scaled" in made.grad_fn.name()
    expected = naive(*(copies := [t.clone().requires_grad_() for t in given]))
    torch.testing.assert_close(made, expected)
    g = torch.randn_like(expected)
    for found, wanted in zip(
        torch.autograd.grad(made, leaves, g), torch.autograd.grad(expected, copies, g), strict=True
    ):
        torch.testing.assert_close(found, wanted)


def test_results_do_not_depend_on_the_number_of_threads(always):
    given = [t.float().requires_grad_() for t in drawn(i=230, n=70, **LARGE_MAPS)]
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        made = scaled_product(*given)
        found.append([made, *torch.autograd.grad(made.square().sum(), given)])
    torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


def test_second_derivatives(always):
    given = drawn()
    for found, wanted in zip(twice(scaled_product, *given), twice(naive, *given), strict=True):
        torch.testing.assert_close(found, wanted)


def test_small_maps_are_scaled_at_once():
    assert "Scaled" not in scaled_product(*(t.requires_grad_() for t in drawn())).grad_fn.name()


@pytest.mark.parametrize("wrong", [(0, (5, 6, 3)), (0, (5, 7, 2)), (2, (6, 4, 1)), (2, (7, 3, 1)), (2, (7, 4, 3))])
def test_sizes_that_do_not_belong_together_are_refused(wrong):
    given = drawn()
    given[wrong[0]] = torch.zeros(wrong[1], dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"children|couplings"):
        torch.ops.torchcaps.scaled(*given)
    with pytest.raises(RuntimeError, match="gradients are"):
        torch.ops.torchcaps.scaled_backward(torch.zeros(5, 4, 3, dtype=torch.float64), *drawn(), [True] * 3)


def test_second_derivatives_of_inputs_that_depend_on_each_other(always):
    u, w, _ = drawn()

    def of(product):
        return lambda u, w: product(u, w, w.mean((1, 3))[..., None].sin())

    for found, wanted in zip(twice(of(scaled_product), u, w), twice(of(naive), u, w), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_gradients_that_nobody_wants_are_not_made(always, wanted):
    given = drawn()
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
    u, w, c = (t.float().requires_grad_() for t in drawn(i=400, n=2, x=8, j=10, y=16))
    with profile(profile_memory=True) as forward:
        s = scaled_product(u, w, c)
    with profile(profile_memory=True) as backward:
        s.sum().backward()
    with profile(profile_memory=True) as unwanted:
        scaled_product(u, w.detach(), c).sum().backward()
    assert [_large(run, w.nbytes) for run in (forward, backward, unwanted)] == [0, 1, 0]


def _large(run, least):
    """How often so much memory was taken at once."""
    return sum(event.self_cpu_memory_usage >= least for event in run.events() if event.name != "[memory]")


def test_a_folded_routing_takes_it(monkeypatch):
    """Couplings of each image's every position alike; poses of several rows, and couplings of each number."""
    monkeypatch.setattr(scaled, "LARGE", -1)
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
    monkeypatch.setattr(scaled, "LARGE", -1)
    u, w, c = drawn()
    slope = torch.func.grad(lambda c: scaled_product(u, w, c).sum())(c)
    torch.testing.assert_close(slope, torch.autograd.functional.jacobian(lambda c: naive(u, w, c).sum(), c))


def test_couplings_of_another_precision_are_left_to_torch(always):
    u, w, c = drawn(i=50, **LARGE_MAPS)
    torch.testing.assert_close(scaled_product(u, w, c.float()), naive(u, w, c.float().double()))
