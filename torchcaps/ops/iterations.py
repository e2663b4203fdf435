"""One gradient for all iterations that `attend` to the same votes.

What reaches children and maps is a sum over the iterations. Each for itself would make the votes again, and write a
gradient as large as the maps; so an iteration passes on what its part of the sum is made of, as gradients of `Slots`
that nobody reads, and when all have done so one pass makes the sum.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.library import register_fake

from torchcaps.ops.attend import attend_pass
from torchcaps.ops.operators import LIBRARY
from torchcaps.ops.tiles import differentiate, pull, whole
from torchcaps.ops.votes import Bias, Children, Maps, PerParent, Poses, pair_bytes

LEAST = 3
"""Iterations that make it worth while: each but the first makes the votes once more, for its query alone."""


class Slot(NamedTuple):
    """Where an iteration leaves the gradients of its sums, and its query: no numbers, shapes alone."""

    g_sum: Tensor
    g_mass: Tensor
    query: Tensor


def slots(u: Children, w: Maps, bias: Bias, *, j: int, count: int) -> list[Slot]:
    """A slot for each of `count` iterations that attend to the votes of these children, maps and bias.

    >>> u, w = torch.ones(6, 2, 1, 4, requires_grad=True), torch.ones(6, 2, 15)
    >>> [slot.query.shape for slot in slots(u, w, None, j=5, count=2)]
    [torch.Size([5, 3, 1, 4]), torch.Size([5, 3, 1, 4])]
    """
    made: tuple[Tensor, ...] = _Slots.apply(*whole(u, w, bias), j, count)  # type: ignore[no-untyped-call]
    return [Slot(*made[k : k + 3]) for k in range(0, 3 * count, 3)]


def attend_in(
    slot: Slot, u: Children, w: Maps, bias: Bias, query: Poses | None, *, j: int, known: tuple[Poses, PerParent] | None
) -> tuple[Poses, PerParent]:
    """`attend` without prior and weight, as one of the iterations that `slots` are for.

    Args:
        slot: not used before.
        known: what it gives, where that is known; without a query it must be.
    """
    s, mass = _Iteration.apply(*slot, *whole(u, w, bias, query), j, known)  # type: ignore[no-untyped-call]
    return s, mass


class _Slots(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, w: Tensor, bias: Tensor | None, j: int, count: int) -> tuple[Tensor, ...]:
        ctx.save_for_backward(u, w, bias)
        ctx.j = j
        ctx.set_materialize_grads(False)
        _, _, a, m = u.shape
        poses, mass = (j, w.shape[2] // j, a, m), (j, m)
        return tuple(u.new_zeros(()).expand(shape) for _ in range(count) for shape in (poses, mass, poses))

    @staticmethod
    def backward(ctx: Any, *found: Tensor | None) -> tuple[Tensor | None, ...]:
        u, w, bias = ctx.saved_tensors
        left = [found[k : k + 3] for k in range(0, len(found), 3) if found[k] is not None]
        if not left:
            return (None,) * 5
        asked = [parts for parts in left if parts[2] is not None]
        even = [g_sum for g_sum, _, query in left if g_sum is not None and query is None]
        du, dw, d_bias = torch.ops.torchcaps.votes_backward(
            [g_sum for g_sum, _, _ in asked],
            [g_mass for _, g_mass, _ in asked],
            [query for _, _, query in asked],
            torch.stack(even).sum(0) / ctx.j if even else None,
            u,
            w,
            bias,
            ctx.j,
        )
        return du, dw, None if bias is None else d_bias, None, None


class _Iteration(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        g_sum: Tensor,  # noqa: ARG004
        g_mass: Tensor,  # noqa: ARG004
        asked: Tensor,  # noqa: ARG004
        u: Tensor,
        w: Tensor,
        bias: Tensor | None,
        query: Tensor | None,
        j: int,
        known: tuple[Tensor, Tensor] | None,
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(u, w, bias, query)
        ctx.j = j
        if known is not None:
            return known
        s, mass = torch.ops.torchcaps.attend(u, w, bias, query, None, None, j, False)
        return s, mass

    @staticmethod
    def backward(ctx: Any, g_sum: Tensor, g_mass: Tensor) -> tuple[Tensor | None, ...]:
        u, w, bias, query = given = ctx.saved_tensors
        if torch.is_grad_enabled():  # gradients that are to be differentiated again: each iteration's own, in torch
            needed = (*ctx.needs_input_grad[3:7], False, False)
            over = attend_pass(ctx.j, detach=False)
            found = differentiate(over, (g_sum, g_mass), (*given, None, None), needed, create_graph=True)
            return None, None, None, *found[:4], None, None
        g_sum, g_mass = g_sum.contiguous(), g_mass.contiguous()
        if query is None:
            return g_sum, None, None, *(None,) * 6
        d_query = torch.ops.torchcaps.query_backward(g_sum, g_mass, u, w, bias, query, ctx.j)
        return g_sum, g_mass, query, None, None, None, d_query, None, None


def _query_backward(
    g_sum: Tensor, g_mass: Tensor, u: Tensor, w: Tensor, bias: Tensor | None, query: Tensor, j: int
) -> Tensor:
    needed = (False, False, False, True, False, False)
    found: Tensor = _pull((g_sum, g_mass), (u, w, bias, query, None, None), needed, j)[3]
    return found


def _votes_backward(
    g_sums: list[Tensor],
    g_masses: list[Tensor],
    queries: list[Tensor],
    even: Tensor | None,
    u: Tensor,
    w: Tensor,
    bias: Tensor | None,
    j: int,
) -> tuple[Tensor, Tensor, Tensor]:
    parts = list(zip(g_sums, g_masses, queries, strict=True))
    if even is not None:  # softmax of nothing gives each parent one over j
        parts.append((even * j, u.new_zeros(j, u.shape[3]), torch.zeros_like(even)))
    du, dw = torch.zeros_like(u), torch.zeros_like(w)
    d_bias = u.new_empty(0) if bias is None else torch.zeros_like(bias)
    for g_sum, g_mass, query in parts:
        needed = (True, True, bias is not None, False, False, False)
        found = _pull((g_sum, g_mass), (u, w, bias, query, None, None), needed, j)
        for total, part in zip((du, dw, d_bias), found[:3], strict=True):
            if part is not None:
                total.add_(part)
    return du, dw, d_bias


def _pull(grads: tuple[Tensor, ...], given: tuple[Tensor | None, ...], needed: tuple[bool, ...], j: int) -> Any:
    u, w = given[0], given[1]
    assert u is not None
    assert w is not None
    with torch.no_grad():
        over = attend_pass(j, detach=False)
        return pull(over, grads, given, needed, i=u.shape[0], m=u.shape[3], pair_bytes=pair_bytes(u, w))


def _votes_shapes(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    u, w, bias = arguments[4:7]
    return torch.empty_like(u), torch.empty_like(w), u.new_empty(0) if bias is None else torch.empty_like(bias)


def _query_shapes(*arguments: Any) -> Tensor:
    return torch.empty_like(arguments[5])


_OPERATORS = {
    "query_backward(Tensor g_sum, Tensor g_mass, Tensor u, Tensor w, Tensor? bias, Tensor query, int j) -> Tensor": (
        _query_backward,
        _query_shapes,
    ),
    "votes_backward(Tensor[] g_sums, Tensor[] g_masses, Tensor[] queries, Tensor? even, Tensor u, Tensor w, "
    "Tensor? bias, int j) -> (Tensor, Tensor, Tensor)": (_votes_backward, _votes_shapes),
}
for _schema, (_plain, _shapes) in _OPERATORS.items():
    LIBRARY.define(_schema, tags=(torch.Tag.pt2_compliant_tag,))
    LIBRARY.impl(_schema.split("(")[0], _plain, "CompositeExplicitAutograd")
    register_fake(f"torchcaps::{_schema.split('(')[0]}", _shapes, lib=LIBRARY)
