"""The kernels as functions of tensors: what they are given room for, and how shares of a result become one."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchcaps.ops.sizes import Sizes
from torchcaps.ops.triton import _backward, _forward
from torchcaps.ops.triton._plan import Kernel, Launch, Target, launch

Given = dict[str, Tensor | None]
COMMON = ("u", "w", "bias", "centre", "query", "precision", "prior")
GRADS = ("g_mass", "g_first", "g_second")
RESULTS = ("mass", "first", "second")
OF_PARENTS = ("bias", "centre", "query", "precision", "prior")
OF_CHILDREN = ("u", "w", "prior", "weight")


class Call(NamedTuple):
    """One call of a pass: its tensors by name, those of `attend` under the names of `moments`, sizes and options."""

    given: Given
    s: Sizes
    target: Target
    detach: bool = False

    @property
    def u(self) -> Tensor:
        """The children."""
        u = self.given["u"]
        assert u is not None
        return u

    def launch(self, kernel: Kernel) -> Launch:
        """How one of its kernels is run."""
        prior = self.given["prior"]
        of = (False, False) if prior is None else (prior.shape[0] > 1, prior.shape[2] > 1)
        return launch(
            kernel,
            self.s,
            self.target,
            dtype=self.u.dtype,
            prior=of,
            detach=self.detach,
            tf32=self.target.backend != "cpu" and tf32_allowed(),
            atomic=not torch.are_deterministic_algorithms_enabled(),
        )

    def tensors(self, *names: str) -> list[Tensor | None]:
        """Some of them, in the order of a kernel's arguments."""
        return [self.given.get(name) for name in names]


def tf32_allowed() -> bool:
    """Torch's own setting, whichever of its ways it was made in; an older torch knows the second question alone."""
    matmul = torch.backends.cuda.matmul
    try:
        return bool(matmul.fp32_precision == "tf32")
    except AttributeError:
        return bool(matmul.allow_tf32)


class Shares:
    """Room for a result that programs have shares of: one place that they add to, or a place for each."""

    def __init__(self, like: Tensor, shape: Sequence[int], places: int, *, atomic: bool) -> None:
        self.like, self.atomic = like, atomic
        if atomic:
            self.room = torch.zeros(*shape, device=like.device)
        else:
            kind = like.dtype if places == 1 else torch.float32
            self.room = torch.empty(places, *shape, device=like.device, dtype=kind)

    def sum(self) -> Tensor:
        """The result, in the precision of the inputs."""
        whole = self.room if self.atomic else self.room[0] if len(self.room) == 1 else self.room.sum(0)
        return whole.to(self.like.dtype)


def run_forward(call: Call, *, second: bool) -> dict[str, Tensor]:
    """ "mass" Σ r, "first" Σ r x and, if asked for, "second" Σ r x²."""
    how, s = call.launch("forward"), call.s
    stats = _statistics(call, how, grads=())
    shapes = {"mass": (s.j, s.m), "first": s.poses} | ({"second": s.poses} if second else {})
    rooms = {name: Shares(call.u, shape, how.grid[2], atomic=how.adds) for name, shape in shapes.items()}
    _run(_forward.forward, how, call, *call.tensors(*COMMON, "weight"), *stats[:2], *_rooms(rooms, RESULTS))
    return {name: room.sum() for name, room in rooms.items()}


def run_backward(call: Call) -> dict[str, Tensor]:
    """The gradient of every tensor that is there, by its name."""
    parents = call.launch("parents")
    given = [*call.tensors(*COMMON, "weight", *GRADS), *_statistics(call, parents, grads=GRADS)]
    return _pull_parents(call, parents, given) | _pull_children(call, call.launch("children"), given)


def _pull_parents(call: Call, how: Launch, given: list[Tensor | None]) -> dict[str, Tensor]:
    blocks_m, _, shares = how.grid
    own, summed = (shares, how.adds), (shares * blocks_m, how.plan.atomic)  # over the instances too
    places = {"bias": summed, "centre": own, "query": own, "precision": own}
    if not how.plan.prior_i:
        places["prior"] = own if how.plan.prior_m else summed
    rooms = _make_rooms(call, places)
    if rooms:
        _run(_backward.pull_parents, how, call, *given, *_rooms(rooms, OF_PARENTS))
    return {name: room.sum() for name, room in rooms.items()}


def _pull_children(call: Call, how: Launch, given: list[Tensor | None]) -> dict[str, Tensor]:
    own, summed = (1, False), (how.grid[2], how.adds)
    places = {"u": (how.blocks, how.plan.atomic and how.blocks > 1), "w": summed, "weight": own}
    if how.plan.prior_i:
        places["prior"] = own if how.plan.prior_m else summed
    rooms = _make_rooms(call, places)
    _run(_backward.pull_children, how, call, *given, *_rooms(rooms, OF_CHILDREN))
    return {name: room.sum() for name, room in rooms.items()}


def _make_rooms(call: Call, places: dict[str, tuple[int, bool]]) -> dict[str, Shares]:
    """For the gradients of those tensors that are there: how many programs share them, and whether they add."""
    there = {name: t for name in places if (t := call.given.get(name)) is not None}
    return {name: Shares(t, t.shape, places[name][0], atomic=places[name][1]) for name, t in there.items()}


def _rooms(rooms: dict[str, Shares], names: Sequence[str]) -> list[Tensor | None]:
    return [rooms[name].room if name in rooms else None for name in names]


def _statistics(call: Call, how: Launch, *, grads: Sequence[str]) -> list[Tensor | None]:
    """Of the softmax over parents in several blocks: the largest logits, what the exponentials sum to, the mean of dr.

    Each block of parents is looked at apart; what was found is joined as in an online softmax. All kernels of a call
    have the same blocks of parents.
    """
    if how.blocks == 1:
        return [None, None, None]
    tops, totals = (torch.empty(how.blocks, call.s.i, call.s.m, device=call.u.device) for _ in range(2))
    slopes = torch.empty_like(tops) if grads else None
    given = [*call.tensors(*COMMON), *(call.tensors(*grads) or [None] * len(GRADS))]
    _run(_forward.scan, how, call, *given, tops, totals, slopes)
    top = tops.amax(0)
    scale = (tops - top).exp()
    total = (totals * scale).sum(0)
    return [top, total, None if slopes is None else (slopes * scale).sum(0) / total]


def _run(kernel: Any, how: Launch, call: Call, *tensors: Tensor | None) -> None:
    with torch.cuda.device(call.u.device) if call.u.is_cuda else nullcontext():
        kernel[how.grid](*tensors, call.s.i, call.s.m, how.span, how.plan, **how.options)
