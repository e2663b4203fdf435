"""One capsule layer: every routing, fully connected and convolutional, against its textbook twin."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import torch
from torch import Tensor

from benchmarks import textbook
from benchmarks.measure import Call, Effort, measure
from benchmarks.speed.gemm import same_contraction
from benchmarks.speed.result import OURS, TEXTBOOK, Mode, Row, Workload
from torchcaps import ops
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import ROUTINGS
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules

PART, PLAIN, GEMM = "layers", "plain torch", "gemm"
MODES: tuple[Mode, ...] = ("train", "inference")
TOLERANCE = 1e-2  # of deep networks in single precision; the tests hold the two together far closer in double

Forward = Callable[[], tuple[Tensor, ...]]
Case = tuple[CapsuleLayer, Capsules]
Further = Callable[[Mode, Call], dict[str, Call]]
"""More candidates for a mode, given our call."""


def connected(routing: str, children: CapsShape, n: int, d: int, batch: int) -> Case:
    """Every child votes for each of `n` parents of `d` numbers."""
    layer = CapsuleLayer(children, n, d, init_std=0.1, routing=ROUTINGS[routing])
    return layer, some_capsules(children, batch)


def convolutional(routing: str, children: CapsShape, batch: int) -> Case:
    """4×4 poses in 3×3 windows with a stride of 2, as many types of parents as of children."""
    layer = CapsuleLayer(children, children.n, 16, rows=4, window=3, stride=2, routing=ROUTINGS[routing])
    return layer, some_capsules(children, batch)


def some_capsules(shape: CapsShape, batch: int) -> Capsules:
    pose = torch.randn(batch, *shape.grid, shape.n, shape.d) * 0.1
    return Capsules(pose.requires_grad_(), torch.rand(batch, *shape.grid, shape.n))


def workloads(*, quick: bool) -> Iterator[Workload]:
    """The layers of the issue; a quick run has smaller batches."""
    share = 16 if quick else 1
    for name in ROUTINGS:
        build = partial(connected, name, CapsShape((6, 6), 32, 8), 10, 16, 128 // share)
        yield _workload(f"{name}, FC 1152→10", build)
    large = partial(connected, "dynamic", CapsShape((8, 8), 32, 8), 100, 16, 32 // share)
    yield _workload("dynamic, FC 2048→100", large)
    for name in ROUTINGS:
        build = partial(convolutional, name, CapsShape((16, 16), 32, 16), max(1, 8 // share))
        yield _workload(f"{name}, conv 3×3", build)


def _workload(name: str, build: Callable[[], Case]) -> Workload:
    return Workload(PART, name, partial(_rows, name, build), partial(_own_calls, build))


def _own_calls(build: Callable[[], Case]) -> Iterator[tuple[Mode, dict[str, Call]]]:
    layer, below = build()
    for mode, call in own_steps(layer, below):
        further = _also(layer, len(below.pose), mode, call)
        yield mode, {OURS: call, **{name: each for name, each in further.items() if name == PLAIN}}


def own_steps(layer: CapsuleLayer, below: Capsules) -> Iterator[tuple[Mode, Call]]:
    """What is timed of a layer of ours, without the textbook's."""
    for mode in MODES:
        yield mode, step(mode, partial(ours, layer, below), [*layer.parameters(), below.pose])


def _rows(workload: str, build: Callable[[], Case], effort: Effort) -> Iterator[Row]:
    layer, below = build()
    yield from compare(PART, workload, layer, below, effort, partial(_also, layer, len(below.pose)))


def compare(
    part: str, workload: str, layer: CapsuleLayer, below: Capsules, effort: Effort, also: Further = lambda *_: {}
) -> Iterator[Row]:
    """Training and inference of a layer, ours and the textbook's, after a look whether they compute the same."""
    forwards = {TEXTBOOK: partial(textbook.run, layer, below), OURS: partial(ours, layer, below)}
    error = difference(forwards[TEXTBOOK], forwards[OURS])
    for mode in MODES:
        calls = {name: step(mode, forward, [*layer.parameters(), below.pose]) for name, forward in forwards.items()}
        calls |= also(mode, calls[OURS])
        yield Row(part, workload, mode, measure(calls, effort), {"error": error, "batch": len(below.pose)})


def ours(layer: CapsuleLayer, below: Capsules) -> tuple[Tensor, Tensor]:
    """The parents as the library finds them."""
    [[state]] = sequential([layer], below)
    return state.pose, state.act


def difference(expected: Forward, found: Forward) -> float:
    """The largest error relative to the largest value, over all outputs; one that is no rounding error is refused."""
    with torch.no_grad():
        pairs = zip(expected(), found(), strict=True)
        error = max(((a - b).abs().max() / a.abs().max().clamp_min(1e-30)).item() for a, b in pairs)
    if not error < TOLERANCE:
        raise RuntimeError(f"the two do not compute the same: they differ by {error:.1e} of the largest value")
    return float(f"{error:.1e}")


def step(mode: Mode, forward: Forward, leaves: Iterable[Tensor]) -> Call:
    """What is timed: the forward pass alone, or with the gradients of all leaves."""

    @torch.no_grad()
    def infer() -> None:
        forward()

    if mode == "inference":
        return infer
    leaves = list(leaves)
    with torch.no_grad():
        grads = [torch.randn_like(out) for out in forward()]

    def train() -> None:
        for leaf in leaves:
            leaf.grad = None
        pairs = [(out, grad) for out, grad in zip(forward(), grads, strict=True) if out.requires_grad]
        torch.autograd.backward([out for out, _ in pairs], [grad for _, grad in pairs])

    return train


def _also(layer: CapsuleLayer, batch: int, mode: Mode, call: Call) -> dict[str, Call]:
    """Further candidates of fully connected layers: the plain passes, or the GEMM that a folded routing amounts to."""
    name = textbook.name_of(layer)
    if layer.shape_out.grid != (1, 1):
        return {}
    if name == "dynamic":
        return {PLAIN: partial(_plainly, call)}
    if name in ("uniform", "trainable"):
        return {GEMM: same_contraction(batch, layer.weight, mode)}
    return {}


def _plainly(call: Call) -> None:
    """`call` with the passes in plain torch, as where there is no compiler."""
    with ops.plainly():
        call()
