"""Routing by agreement against self-attention as layers grow (mitterreiter2023, table 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from torchcaps.measures._axes import legend, line_style
from torchcaps.measures._contenders import Attention, Dense, Fused
from torchcaps.measures._cost import cost
from torchcaps.measures._fit import Estimate, powers, shares
from torchcaps.measures.result import Result, Table
from torchcaps.measures.walk import Progress, silent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUANTITIES = {
    "parameters": "parameters",
    "multiply_adds": "multiply-adds per image",
    "seconds": "seconds per batch",
    "peak_bytes": "peak memory (bytes)",
}


CONTENDERS: dict[str, Callable[[int, int], nn.Module]] = {"RBA, fused": Fused, "RBA, dense": Dense, "MHSA": Attention}
TERMS = {"RBA": {"n²d²": (2, 2), "n²d": (2, 1)}, "MHSA": {"n²d": (2, 1), "nd²": (1, 2)}}  # exponents of n and d


@dataclass(frozen=True)
class Point:
    """One layer of one size."""

    n: int
    d: int
    parameters: int
    multiply_adds: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Law:
    """How one quantity grows.

    Attributes:
        n, d: exponents of the power law n^a d^b that fits best, with 95 % intervals.
        terms: coefficients of the sum of the two terms that the contender's cost is made of.
    """

    quantity: str
    n: Estimate
    d: Estimate
    terms: tuple[tuple[str, Estimate], ...]


@dataclass(frozen=True)
class Growth:
    """One contender over the grid."""

    name: str
    points: tuple[Point, ...]
    laws: tuple[Law, ...]


@dataclass(frozen=True)
class ComplexityResult(Result):
    """Every contender over the same grid, for batches of so many images, forward or forward and backward."""

    batch: int
    backward: bool
    contenders: tuple[Growth, ...]

    def table(self) -> Table:
        """Exponents of n and d, and the two terms."""
        rows = []
        for c in self.contenders:
            for law in c.laws:
                least = 1e-9 * max(abs(of.value) for _, of in law.terms)  # below that a coefficient is rounding
                terms = " + ".join(f"{of.value:.3g} {term}" for term, of in law.terms if abs(of.value) > least)
                rows.append((f"{c.name}: {law.quantity.replace('_', ' ')}", str(law.n), str(law.d), terms))
        how = "forward and backward" if self.backward else "forward"
        return Table(
            ("", "exponent of n", "exponent of d", "as two terms"), rows, f"Batches of {self.batch} images, {how}."
        )

    @property
    def panels(self) -> int:
        """One for each quantity."""
        return len(QUANTITIES)

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """A quantity against n at the greatest d, both logarithmic."""
        name, said = list(QUANTITIES.items())[panel]
        for k, contender in enumerate(self.contenders):
            widest = max(p.d for p in contender.points)
            points = [p for p in contender.points if p.d == widest]
            law = next(law for law in contender.laws if law.quantity == name)
            label = f"{contender.name}: $n^{{{round(law.n.value, 1) + 0.0}}}d^{{{round(law.d.value, 1) + 0.0}}}$"
            axes.plot([p.n for p in points], [getattr(p, name) for p in points], label=label, **line_style(k))
        axes.set(title=f"{said.capitalize()} at d = {widest}", xlabel="capsules n", xscale="log", yscale="log")
        axes.set_xticks([p.n for p in points], [str(p.n) for p in points])
        axes.minorticks_off()
        legend(axes)


def complexity(
    ns: Sequence[int] = (16, 32, 64, 128),
    ds: Sequence[int] = (8, 16, 32),
    *,
    batch: int = 16,
    backward: bool = False,
    seconds: float = 0.2,
    device: str = "cpu",
    contenders: Sequence[str] = tuple(CONTENDERS),
    progress: Progress = silent,
) -> ComplexityResult:
    """Parameters, multiply-adds, time and peak memory of layers from n vectors of d to as many, and how they grow.

    Routing takes three iterations. Multiply-adds are those of matrix products, counted on the meta device; the memory
    is what a call allocates beside its input and its parameters.

    >>> found = complexity([4, 8], [4, 8], seconds=0.01)
    >>> {c.name: round(c.laws[0].n.value, 2) for c in found.contenders}  # parameters: n²d² and d²
    {'RBA, fused': 2.0, 'RBA, dense': 2.0, 'MHSA': 0.0}

    Args:
        ns, ds: the grid: every n with every d.
        batch: images at once.
        backward: whether gradients are computed too.
        seconds: for how long each layer is timed.
        contenders: names of `CONTENDERS`, if not all.
        progress: told after each layer how many are done, of how many.
    """
    grid = [(name, n, d) for name in contenders for n in ns for d in ds]
    points: dict[str, list[Point]] = {name: [] for name in contenders}
    for done, (name, n, d) in enumerate(grid, 1):
        points[name].append(_point(CONTENDERS[name], n, d, batch, seconds, device, backward=backward))
        progress(done, len(grid))
    growths = (Growth(name, tuple(of), tuple(_law(q, name, of) for q in QUANTITIES)) for name, of in points.items())
    return ComplexityResult(batch, backward, tuple(growths))


def _point(
    build: Callable[[int, int], nn.Module], n: int, d: int, batch: int, seconds: float, device: str, *, backward: bool
) -> Point:
    layer, u = build(n, d).to(device), torch.randn(batch, n, d, device=device)

    def call() -> None:
        with torch.set_grad_enabled(backward):
            out = layer(u)
            if backward:
                torch.autograd.grad(out.sum(), list(layer.parameters()))

    from torch.utils.flop_counter import FlopCounterMode  # which imports Triton, if it is there, for a second

    taken = cost(call, device=device, seconds=seconds)
    counted = layer.to("meta")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        counted(u[:1].to("meta"))
    size = sum(p.numel() for p in layer.parameters())
    return Point(n, d, size, int(counter.get_total_flops()) // 2, taken.seconds, taken.peak_bytes)


def _law(quantity: str, name: str, points: Sequence[Point]) -> Law:
    values = [float(getattr(p, quantity)) for p in points]
    by_n, by_d = powers([[p.n for p in points], [p.d for p in points]], values)
    terms = TERMS[name.split(",")[0]]
    found = shares([[float(p.n**a * p.d**b) for p in points] for a, b in terms.values()], values)
    return Law(quantity, by_n, by_d, tuple(zip(terms, found, strict=True)))
