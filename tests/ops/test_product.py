"""Products whose large results lie in huge pages: the same numbers and gradients, made once and in order."""

import re
from functools import partial
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchcaps.ops import multiply, native, pages, store
from torchcaps.ops import product as products
from torchcaps.ops.ordinary import ordinary
from torchcaps.ops.pages import MAPPED, PAGE, in_huge_pages, release, room
from torchcaps.ops.product import product


@pytest.fixture
def all_is_large(monkeypatch):
    monkeypatch.setattr(products, "LARGE", 0)


class Made(TorchDispatchMode):
    """Which operators make or write tensors of a size."""

    def __init__(self, numel):
        super().__init__()
        self.numel, self.found = numel, []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        out = operator(*args, **(kwargs or {}))
        made = out if isinstance(out, tuple) else (out,)
        aliases = any(value.alias_info and not value.alias_info.is_write for value in operator._schema.returns)
        if (
            not aliases
            and "empty" not in operator.name()
            and any(isinstance(t, torch.Tensor) and t.numel() == self.numel for t in made)
        ):
            self.found.append(operator.name())
        return out


def twice(function, *inputs):
    """What a function gives, and its first and second gradients."""
    leaves = [t.clone().requires_grad_() for t in inputs]
    out = function(*leaves)
    first = torch.autograd.grad(out.square().sum(), leaves, create_graph=True)
    second = torch.autograd.grad(sum(g.square().sum() for g in first), leaves)
    return [out, *first, *second]


def test_it_is_the_product_with_its_gradients(all_is_large):
    left, right = torch.randn(2, 3, 5, dtype=torch.float64), torch.randn(5, 7, dtype=torch.float64)
    assert (
        product(left.requires_grad_(), right).grad_fn.name() != "UnsafeViewBackward0"
    )  # else `@` is compared with itself
    for found, wanted in zip(
        twice(product, left.detach(), right), twice(torch.matmul, left.detach(), right), strict=True
    ):
        torch.testing.assert_close(found, wanted)
    assert torch.autograd.gradcheck(product, (left, right.requires_grad_()))


def test_only_what_is_asked_for_has_a_gradient(all_is_large):
    left, right = torch.randn(3, 5), torch.randn(5, 7, requires_grad=True)
    product(left, right).sum().backward()
    torch.testing.assert_close(right.grad, left.sum(0)[:, None].expand(5, 7))


def test_what_torch_must_see_through_is_torchs_own(all_is_large):
    left, right = torch.randn(3, 5), torch.randn(5, 7)
    assert ordinary(left, right)
    assert not ordinary(left.bfloat16(), right)
    assert not ordinary(left.to("meta"), right.to("meta"))
    with torch.autocast("cpu", torch.bfloat16):
        assert not ordinary(left, right)
        assert product(left, right).dtype == torch.bfloat16
    torch.testing.assert_close(torch.func.vmap(product, (0, None))(left[:, None], right)[:, 0], left @ right)


def test_stored_votes_have_two_gradients_again(all_is_large):
    u, w = torch.randn(3, 4, 12, dtype=torch.float64), torch.randn(4, 6, 10, dtype=torch.float64)

    def naive(u, w):
        return torch.einsum("miax,ixv->imav", u.reshape(3, 4, 2, 6), w).reshape(4, 3, 2, 5, 2)

    made = partial(store, bias=None, j=5, rows=2)
    for found, wanted in zip(twice(made, u, w), twice(naive, u, w), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("form", ["stored", "folded"])
def test_the_gradient_of_the_maps_is_made_once_and_never_copied(form, all_is_large):
    """Neither zeros around a part nor a turn of axes: maps may have a hundred megabytes."""
    poses, w = torch.randn(4, 1, 1, 50, 8, requires_grad=True), torch.randn(50, 8, 30, requires_grad=True)
    if form == "stored":
        out = store(poses, w, None, j=3, rows=1)
    else:
        out = multiply(poses, w, torch.full((1, 1, 1, 1, 1), 0.1), j=3, rows=1)
    with Made(w.numel()) as made:
        out.sum().backward()
    assert len(made.found) == 1, made.found
    assert w.grad.is_contiguous()


def test_the_system_is_asked_for_whole_pages_inside_of_a_large_tensor(monkeypatch):
    asked = []

    class System:
        def madvise(self, begin, length, advice):
            asked.append((begin.value, length.value, advice))

    monkeypatch.setattr(pages, "_SYSTEM", System())
    assert in_huge_pages(torch.empty(2 * PAGE - 1, dtype=torch.uint8)).numel() == 2 * PAGE - 1
    assert not asked
    t = torch.empty(5 * PAGE + 1000, dtype=torch.uint8)
    assert in_huge_pages(t) is t
    ((begin, length, advice),) = asked
    assert advice == 14
    assert begin % PAGE == 0 == length % PAGE
    assert t.data_ptr() <= begin < t.data_ptr() + PAGE
    assert t.data_ptr() + t.nbytes - PAGE < begin + length <= t.data_ptr() + t.nbytes


@pytest.mark.parametrize("by", ["Python", "C++"])
def test_the_advice_reaches_the_system(by):
    """It stands in the list that Linux keeps of a process's memory, where it has such pages."""
    if not Path("/sys/kernel/mm/transparent_hugepage").exists():
        pytest.skip("the system has no huge pages")
    if by == "C++" and native.status() != "native":
        pytest.skip(f"here serves {native.status()}")
    release()
    like = torch.ones(1, dtype=torch.uint8)
    t = in_huge_pages(like.new_empty(64 * PAGE)) if by == "Python" else torch.ops.torchcaps.room((64 * PAGE,), like)
    middle, inside = t.data_ptr() + t.nbytes // 2, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= middle < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            assert "hg" in line.split()
            return
    raise AssertionError("no such memory")


def test_the_memory_of_a_very_large_result_is_used_again():
    if native.status() != "native":
        pytest.skip(f"here serves {native.status()}")
    release()  # of what other tests left
    like = torch.ones(1)
    sizes = MAPPED // 4 // 8, 8
    first = room(sizes, like)
    assert (first.shape, first.dtype) == (sizes, torch.float32)
    where, view = first.data_ptr(), first[1:].fill_(1)
    del first
    others = [room(sizes, like).zero_() for _ in range(3)]
    assert all(other.data_ptr() != where for other in others)  # part of the first is still there
    assert view.sum() == view.numel()
    del view
    again = room(sizes, like)
    assert again.data_ptr() == where
    assert again[1:].eq(1).all()  # else the system gave it back, filled with zeros
    assert room((2, 3), like.double()).dtype == torch.float64


def test_memory_that_is_kept_can_be_given_back():
    if native.status() != "native":
        pytest.skip(f"here serves {native.status()}")
    release()
    large = room((MAPPED // 4,), torch.ones(1))
    assert release() == 0  # it is in use
    del large
    assert release() == MAPPED
    assert release() == 0


def test_of_memory_that_is_kept_there_is_a_gigabyte_at_the_most():
    """Nobody writes to it here, so the system need not have it."""
    if native.status() != "native":
        pytest.skip(f"here serves {native.status()}")
    release()
    made = [room((size << 20,), torch.ones(1, dtype=torch.uint8)) for size in (40, 300, 300, 300, 500)]
    while made:
        made.pop(0)
    assert release() == (300 + 500) << 20  # for the last went the smallest and, of those like it, as many as need be
    room(((1 << 30) + 1,), torch.ones(1, dtype=torch.uint8))
    assert release() == 0
