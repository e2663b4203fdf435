"""The workloads of docs/speed.md as a card runs them: layers, networks, every model, how time grows, and the GEMM peak.

Each is done as the textbook, the textbook under torch.compile, our plain passes, and ours.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch

from benchmarks import textbook
from benchmarks.gpu.workloads import Layer, layer_cases
from benchmarks.measure import Call
from benchmarks.speed import gemm, layers, networks, scaling
from benchmarks.speed.layers import PLAIN, Case, difference, step
from benchmarks.speed.result import OURS, TEXTBOOK, Mode
from benchmarks.twin import twin_of, votes_bytes
from torchcaps import ops
from torchcaps.models import card, create_model, list_models
from torchcaps.network import CapsNet, Model
from torchcaps.types import Capsules

COMPILED = "textbook, compiled"

Ways = dict[str, Callable[[], Call]]
"""By name, what makes a call; that alone may need more memory than there is."""
Prepared = tuple[Mode, Ways, dict[str, Any]]


class Where(NamedTuple):
    """The device, "cuda" or "cpu", and whether it is a dry run, with small sizes and without a compiler."""

    device: str
    quick: bool

    def compiled(self, way: Any) -> Any:
        """The textbook as torch's compiler makes it: afresh, for these sizes alone, and whole or not at all.

        What was compiled before is forgotten: after eight layers torch would give up and run the ninth as it is.
        """
        torch.compiler.reset()
        return torch.compile(way, fullgraph=True, dynamic=False, backend="eager" if self.quick else "inductor")


class Workload(NamedTuple):
    """Something to measure; nothing is built before `prepare`."""

    part: str
    name: str
    prepare: Callable[[Where], Iterator[Prepared]]


def workloads(*, quick: bool) -> Iterator[Workload]:
    """All parts, in the order of the page."""
    for name, build in layer_cases(quick=quick).items():
        yield Workload(layers.PART, name, partial(_layer, build))
    width = 0.05 if quick else 1.0
    for name, batch in networks.BATCHES.items():
        size = 2 if quick else batch
        for bf16 in (False, True):
            title = f"{name}, batch {batch}" + ", bf16" * bf16
            yield Workload(networks.PART, title, partial(_network, name, size, width=width, bf16=bf16))
    for name in list_models():
        yield Workload(networks.MODELS, name, partial(_network, name, 2 if quick else 8, width=width, bf16=False))
    for axis, points in scaling.POINTS.items():
        for value in points[:2] if quick else points:
            yield Workload(scaling.PART, f"{axis} {value}", partial(_layer, partial(scaling.case, axis, value)))
    for name, sizes in gemm.SHAPES.items():
        small = sizes._replace(m=sizes.m // 8) if quick else sizes
        yield Workload(gemm.PART, name, partial(_peak, small, 512 if quick else 8192))


def _layer(build: Callable[[], Case], where: Where) -> Iterator[Prepared]:
    layer, given = build()
    layer.to(where.device)
    below = Capsules(given.pose.detach().to(where.device).requires_grad_(), given.act.to(where.device))
    book, mine = Layer(layer, textbook.run), Layer(layer, layers.ours)
    ways = {TEXTBOOK: book, COMPILED: where.compiled(book), PLAIN: partial(_plainly, mine), OURS: mine}
    forwards = {key: partial(way, *below) for key, way in ways.items()}
    notes = {"batch": len(below.pose), "error": _error(partial(difference, forwards[TEXTBOOK], forwards[OURS]))}
    for mode in networks.MODES:
        leaves = [*layer.parameters(), below.pose]
        yield mode, {key: partial(step, mode, forward, leaves) for key, forward in forwards.items()}, notes


def _network(name: str, batch: int, where: Where, *, width: float, bf16: bool) -> Iterator[Prepared]:
    """All ways in the same precision. A card tries every textbook, and may find it too large; a CPU small ones."""
    net = create_model(name, width=width).to(where.device)
    images = torch.rand(batch, *card(name).image, device=where.device)
    labels = torch.randint(0, card(name).classes, (batch,), device=where.device)
    nets: dict[str, Model] = {OURS: net}
    notes: dict[str, Any] = {"batch": batch}
    small = where.device == "cuda" or votes_bytes_of(net, batch) <= networks.LARGEST_VOTES
    if isinstance(net, CapsNet) and small:
        nets = {TEXTBOOK: twin_of(net), COMPILED: where.compiled(twin_of(net)), PLAIN: net, OURS: net}
        notes["error"] = _error(partial(networks.check_twin, net, images))
    optimiser = torch.optim.Adam(net.parameters(), lr=0.0, fused=True)  # a step's work, but the weights stay
    for mode in networks.MODES:
        ways: Ways = {
            key: partial(networks.call, mode, each, images, labels, optimiser, bf16=bf16) for key, each in nets.items()
        }
        if PLAIN in ways:
            ways[PLAIN] = partial(_made_plain, ways[PLAIN])
        yield mode, ways, notes


def votes_bytes_of(net: Model, batch: int) -> int:
    """None where there are no capsules."""
    return votes_bytes(net, batch) if isinstance(net, CapsNet) else 0


def _peak(sizes: gemm.Sizes, side: int, where: Where) -> Iterator[Prepared]:
    ops.status(where.device)  # which registers the passes
    with torch.device(where.device):
        found = list(gemm.beside(sizes, side))
    for mode, calls, notes in found:
        yield mode, {key: partial(_same, call) for key, call in calls.items()}, notes


def _error(of: Callable[[], float]) -> float | None:
    """How far ours is from the textbook, where that fits the card."""
    try:
        return of()
    except torch.OutOfMemoryError:
        return None


def _same(call: Call) -> Call:
    return call


def _made_plain(make: Callable[[], Call]) -> Call:
    return partial(_plainly, make())


def _plainly(way: Callable[..., Any], *inputs: Any) -> Any:
    with ops.plainly():
        return way(*inputs)
