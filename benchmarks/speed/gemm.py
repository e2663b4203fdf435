"""How near to the processor's limit: the GEMM behind a layer, and the arithmetic of the native passes."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks.measure import Call, Effort, measure
from benchmarks.speed.result import Mode, Row, Workload
from torchcaps.ops import native

PART, LIMIT, PASS = "peak", "gemm", "attend"


def same_contraction(batch: int, weight: Tensor, mode: Mode) -> Call:
    """One matmul (b, i·x) @ (i·x, j·y), what a layer with fixed couplings has to compute; in training, its three."""
    i, x, jy = weight.shape
    u, w, g = torch.randn(batch, i * x), torch.randn(i * x, jy), torch.randn(batch, jy)

    @torch.no_grad()
    def infer() -> Tensor:
        return u @ w

    @torch.no_grad()
    def train() -> tuple[Tensor, Tensor, Tensor]:
        return u @ w, g @ w.T, u.T @ g

    return train if mode == "train" else infer


class Sizes(NamedTuple):
    """Of a pass: children, columns, rows and instances of u; parents and columns of a vote."""

    i: int
    x: int
    a: int
    m: int
    j: int
    y: int

    def forward_flops(self) -> int:
        """A number of a vote takes 2x operations to make, 2 for its part of the logit and 2 for the weighted sum.

        The exponentials of the softmax, one for y·a numbers, are not counted.
        """
        return self._numbers() * (2 * self.x + 4)

    def backward_flops(self) -> int:
        """Three times the 2x of a vote, which is made again and passes its gradient to child and maps, and 9 more.

        These are 2 each for the logit, the coupling's gradient and the query's, and 3 for the vote's own gradient,
        share · g + dl · q.
        """
        return self._numbers() * (6 * self.x + 9)

    def _numbers(self) -> int:
        return self.i * self.m * self.j * self.y * self.a


SHAPES = {
    "attend, FC 1152×8→10×16": Sizes(1152, 8, 1, 128, 10, 16),
    "attend, FC 2048×8→100×16": Sizes(2048, 8, 1, 32, 100, 16),
    "attend, conv 288×4×4→32×4×4": Sizes(288, 4, 4, 49 * 8, 32, 4),
}


def workloads(*, quick: bool) -> Iterator[Workload]:
    """`attend` forward and backward on the shapes of the issue, beside a large matmul."""
    if native.status() != "native":
        return
    for name, sizes in SHAPES.items():
        small = sizes._replace(m=sizes.m // 8) if quick else sizes
        side = 512 if quick else 2048
        yield Workload(PART, name, partial(_rows, name, small, side), partial(_own_calls, small))


def _rows(workload: str, s: Sizes, side: int, effort: Effort) -> Iterator[Row]:
    for mode, calls, notes in beside(s, side):
        yield Row(PART, workload, mode, measure(calls, effort), notes)


def _own_calls(s: Sizes) -> Iterator[tuple[Mode, dict[str, Call]]]:
    for mode, calls, _ in beside(s, 1):
        yield mode, {PASS: calls[PASS]}


def beside(s: Sizes, side: int) -> Iterator[tuple[Mode, dict[str, Call], dict[str, Any]]]:
    """`attend` in both directions and a square matmul, on torch's default device, and how many operations they have."""
    left, right = torch.randn(side, side), torch.randn(side, side)
    u, w, query = torch.randn(s.i, s.x, s.a, s.m), torch.randn(s.i, s.x, s.j * s.y) * 0.1, _poses(s)
    given = (u, w, None, query, None, None, s.j, False)
    grads = (_poses(s), torch.randn(s.j, s.m))
    passes: dict[Mode, tuple[Call, int]] = {
        "inference": (partial(torch.ops.torchcaps.attend, *given), s.forward_flops()),
        "train": (partial(torch.ops.torchcaps.attend_backward, *grads, *given), s.backward_flops()),
    }
    for mode, (call, flops) in passes.items():
        notes = {"pass": "forward" if mode == "inference" else "backward", "flops": flops, "limit_flops": 2 * side**3}
        yield mode, {LIMIT: partial(torch.matmul, left, right), PASS: call}, notes


def _poses(s: Sizes) -> Tensor:
    return torch.randn(s.j, s.y, s.a, s.m)
