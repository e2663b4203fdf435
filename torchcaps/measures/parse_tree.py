"""The tree of a whole data set: mean and deviation of every node and edge (mitterreiter2023, figure 3)."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from torchcaps.data import Batch, Dataset
from torchcaps.explain import Structure, Tree, arrange, draw_bars, draw_edges, summarise
from torchcaps.explain.summary import is_large
from torchcaps.explain.tree import strength
from torchcaps.measures._layers import why_no_capsules
from torchcaps.measures._moments import Moments
from torchcaps.measures.result import Nothing, Result, Table, number
from torchcaps.network import Model
from torchcaps.types import Parse, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LayerOfTrees:
    """A layer over all images, and its couplings to the next, if there is one.

    Attributes:
        dead: how many of its capsules are; None where activations mean nothing.
        strength: the mean over capsules and images.
        wavering: the deviation of a capsule's strength over images, mean over capsules.
        rerouting: the deviation of a coupling over images, mean over the edges there are.
    """

    layer: str
    capsules: int
    dead: int | None
    strength: float
    wavering: float
    rerouting: float | None


@dataclass(frozen=True)
class ParseTreeResult(Result):
    """Mean and deviation as trees; one with a large layer is kept as its types, and its mean by place besides.

    Attributes:
        mean, deviation: over images; both mark the capsules that are dead. Deviations are no shares of a child.
        by_place: the mean by position, where the trees are kept by type.
    """

    images: int
    dead_mean: float
    dead_std: float
    layers: tuple[LayerOfTrees, ...]
    mean: Tree
    deviation: Tree
    by_place: Tree | None = None

    def table(self) -> Table:
        """A row a layer."""
        rows = [
            (
                a.layer,
                str(a.capsules),
                number(a.dead, 0),
                *(number(v, 3) for v in (a.strength, a.wavering, a.rerouting)),
            )
            for a in self.layers
        ]
        limits = f"Dead: mean at most {self.dead_mean:g}, deviation {self.dead_std:g}. Deviations are over images."
        columns = ("layer", "capsules", "dead", "strength", "its deviation", "coupling's deviation")
        return Table(columns, rows, limits)

    @property
    def panels(self) -> int:
        """The five of the paper's figure 3."""
        return 5

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """Mean and deviation of the couplings, mean and deviation of the norms, or the dead."""
        if panel in (0, 1):
            layout = draw_edges(axes, (self.mean, self.deviation)[panel])
            axes.set_title(f"({'ab'[panel]}) {('mean', 'deviation')[panel]} of couplings, darkest {layout.full:.2g}")
        elif panel in (2, 3):
            longest = arrange(self.mean).bar if panel == 2 else max(float(s.max()) for s in self.deviation.strength)
            longest = longest or 1.0
            draw_bars(axes, (self.mean, self.deviation)[panel - 2], longest=longest)
            axes.set_title(f"({'cd'[panel - 2]}) {('mean', 'deviation')[panel - 2]} of norms, full bar {longest:.2g}")
        else:
            draw_bars(axes, replace(self.mean, strength=tuple(map(torch.zeros_like, self.mean.strength))))
            known = [(a.dead, a.capsules) for a in self.layers if a.dead is not None]
            dead, of = sum(d for d, _ in known), sum(n for _, n in known)
            axes.set_title(f"(e) dead capsules: {dead} of {of}" if known else "(e) dead capsules: unknown")


class ParseTree:
    """The mean tree of a data set and its deviation, in memory that does not grow with the images.

    >>> from torchcaps.data import load
    >>> from torchcaps.measures import walk
    >>> from torchcaps.models import create_model
    >>> net = create_model("mitterreiter2023/capsnet", image_size=28, width=0.2)
    >>> [found] = walk(net, load("glyphs", "test", count=20), [ParseTree()])
    >>> found.images, [tuple(c.shape) for c in found.mean.couplings]
    (20, [(1, 1, 3, 3), (1, 1, 3, 3), (1, 1, 3, 3), (1, 1, 3, 10)])

    Args:
        dead_mean, dead_std: ε₁ and ε₂ of dead capsules, see `Activity`.
    """

    record: Record = "last"

    def __init__(self, dead_mean: float = 0.01, dead_std: float = 0.01) -> None:
        self.dead_mean, self.dead_std = dead_mean, dead_std

    def begin(self, model: Model, data: Dataset) -> None:
        """Find the layers and who can reach whom."""
        self.why = why_no_capsules(model)
        self.record = "none" if self.why else "last"
        self.structure = Structure.of(model)
        if len(data.classes) == len(self.structure.classes):
            self.structure = replace(self.structure, classes=tuple(data.classes))
        self.nodes = [Moments() for _ in self.structure.layers]
        self.edges = [Moments() for _ in self.structure.links]

    def update(self, parse: Parse, batch: Batch) -> None:
        """See strengths and couplings of a batch."""
        if self.why:
            return
        for moments, values in zip(self.nodes, strength(self.structure, parse.capsules), strict=True):
            moments.update(values)
        for moments, values in zip(self.edges, parse.couplings, strict=True):
            moments.update(values)

    def result(self) -> ParseTreeResult | Nothing:
        """Both trees, as large as they can be looked at."""
        if self.why:
            return Nothing("parse tree", self.why)
        dead = tuple(
            (m.mean <= self.dead_mean) & (m.std <= self.dead_std) & (layer.measure == "activation")
            for m, layer in zip(self.nodes, self.structure.layers, strict=True)
        )
        spread = replace(self.structure, links=tuple(replace(link, shares=False) for link in self.structure.links))
        means, deviations = (
            Tree(
                structure,
                tuple(getattr(m, name) for m in self.nodes),
                dead,
                tuple(getattr(m, name) for m in self.edges),
            )
            for structure, name in ((self.structure, "mean"), (spread, "std"))
        )
        layers = tuple(self._layer(means, deviations, k) for k in range(len(self.nodes)))
        large = is_large(self.structure)
        return ParseTreeResult(
            images=self.nodes[0].count,
            dead_mean=self.dead_mean,
            dead_std=self.dead_std,
            layers=layers,
            mean=summarise(means) if large else means,
            deviation=summarise(deviations) if large else deviations,
            by_place=summarise(means, "position") if large else None,
        )

    def _layer(self, means: Tree, deviations: Tree, k: int) -> LayerOfTrees:
        layer, last = self.structure.layers[k], len(self.structure.links) == k
        there = None if last else self.structure.children(k) >= 0
        return LayerOfTrees(
            layer=layer.name,
            capsules=means.strength[k].numel(),
            dead=int(means.dead[k].sum()) if layer.measure == "activation" else None,
            strength=float(means.strength[k].mean()),
            wavering=float(deviations.strength[k].mean()),
            rerouting=None if there is None else float(deviations.couplings[k][there].mean()),
        )
