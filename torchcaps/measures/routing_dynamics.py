"""How much routes differ from image to image (mitterreiter2023, section 4.1)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from torchcaps.data import Batch, Dataset
from torchcaps.layers import CapsuleLayer
from torchcaps.measures._axes import COLOURS, legend, line_style
from torchcaps.measures._layers import (
    capsule_layers,
    dead,
    defined,
    layer_names,
    why_no_activation,
    why_no_capsules,
    why_no_couplings,
)
from torchcaps.measures._moments import Moments
from torchcaps.measures.result import Nothing, Result, Table, number
from torchcaps.network import CapsNet, Model
from torchcaps.types import Parse, Record
from torchcaps.windows import Windows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Dynamics:
    """dyr, the share of a perfect routing's dynamics, and dys, the expected number of targets.

    Attributes:
        dyr, dys: means over the layer's capsules, of those for which they are defined.
        by_capsule: dyr of each capsule, in the order (row, column, type); None where undefined.
    """

    dyr: float | None
    dys: float | None
    by_capsule: tuple[float | None, ...]


@dataclass(frozen=True)
class LayerDynamics:
    """The capsules of one layer as children of the next.

    Attributes:
        alive: capsules that are not dead; None where activations mean nothing.
        living: dead parents and dead children left out; None where it is not known which capsules are dead.
        printed: the paper's formula, over all capsules.
        why: why couplings, or deaths, mean nothing here.
    """

    layer: str
    capsules: int
    alive: int | None
    living: Dynamics | None
    printed: Dynamics | None
    why: str = ""


@dataclass(frozen=True)
class DynamicsResult(Result):
    """Every layer but the last, which has no parents."""

    images: int
    layers: tuple[LayerDynamics, ...]

    def table(self) -> Table:
        """The columns of the paper's table 1, over living capsules and as printed."""
        rows = []
        for layer in self.layers:
            both = ((part.dyr, part.dys) if part else (None, None) for part in (layer.living, layer.printed))
            figures = [number(value) for part in both for value in part]
            rows.append((layer.layer, str(layer.capsules), number(layer.alive, 0), *figures))
        said = "\n".join(f"{layer.layer}: {layer.why}." for layer in self.layers if layer.why)
        return Table(("layer", "capsules", "alive", "dyr", "dys", "dyr, all", "dys, all"), rows, said)

    @property
    def panels(self) -> int:
        """The share and the number of targets."""
        return 2

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """dyr (or dys) by layer; a dot for each capsule where it is dyr."""
        name, said = (("dyr", "dyr: 1 is the most possible"), ("dys", "dys: expected targets"))[panel]
        at = range(len(self.layers))
        for k, part in enumerate(("printed", "living")):
            found = [getattr(layer, part) for layer in self.layers]
            if panel == 0:
                dots = [(x, v) for x, d in zip(at, found, strict=True) for v in (d.by_capsule if d else ()) if v]
                places = [x + 0.16 * (k - 0.5) for x, _ in dots]
                axes.scatter(places, [v for _, v in dots], s=16, alpha=0.5, color=COLOURS[k], linewidths=0)
            values = [float("nan") if d is None or getattr(d, name) is None else getattr(d, name) for d in found]
            label = {"living": "living capsules", "printed": "all capsules"}[part]
            axes.plot(at, values, label=label, **line_style(k))
        axes.set_xticks(at, [layer.layer for layer in self.layers], rotation=20)
        axes.set(title=said, ylabel=name)
        axes.set_ylim(bottom=0)
        legend(axes)


class RoutingDynamics:
    """dyr(u) = (1/n) Σ_i std(c_i) / √((1 − 1/n)/n): 1 for a child that goes to each of n parents equally often.

    Deviations are over images (the population's), couplings those of the last iteration. A child that a window shares
    out among the parents of each position has a dyr for every position, and theirs is their mean; where parents compete
    across the grid, n are all the parents it reaches. Over the living, dead parents leave the sum and n, dead children
    the mean; n ≤ 1 is undefined.

    >>> from torchcaps.data import load
    >>> from torchcaps.measures import walk
    >>> from torchcaps.models import create_model
    >>> net = create_model("mitterreiter2023/capsnet", pretrained=True)
    >>> [found] = walk(net, load("glyphs", "test", count=20), [RoutingDynamics()])
    >>> print(found.table().columns[0])
    layer

    Args:
        dead_mean, dead_std: ε₁ and ε₂ of dead capsules, see `Activity`.
    """

    record: Record = "last"

    def __init__(self, dead_mean: float = 0.01, dead_std: float = 0.01) -> None:
        self.dead_mean, self.dead_std = dead_mean, dead_std

    def begin(self, model: Model, data: Dataset) -> None:
        """Find the layers whose couplings say where a child goes."""
        self.why = why_no_capsules(model)
        self.layers = list[CapsuleLayer]()
        if isinstance(model, CapsNet):
            self.layers, self.names, self.silent = capsule_layers(model), layer_names(model), why_no_activation(model)
            self.whys = [why_no_couplings(layer) for layer in self.layers]
            self.why = self.whys[0] if all(self.whys) else ""
        self.record = "none" if self.why else "last"
        self.coupling = [Moments() for _ in self.layers]
        self.act = [Moments() for _ in range(len(self.layers) + 1)]

    def update(self, parse: Parse, batch: Batch) -> None:
        """See couplings and activations of a batch."""
        if self.why:
            return
        for moments, capsules in zip(self.act, parse.capsules, strict=True):
            moments.update(capsules.act)
        for moments, coupling, why in zip(self.coupling, parse.couplings, self.whys, strict=True):
            if not why:
                moments.update(coupling)

    def result(self) -> DynamicsResult | Nothing:
        """Every layer that has parents."""
        if self.why:
            return Nothing("routing dynamics", self.why)
        return DynamicsResult(self.act[0].count, tuple(self._layer(k) for k in range(len(self.layers))))

    def _layer(self, k: int) -> LayerDynamics:
        layer, n = self.layers[k], self.layers[k].shape_in.children
        alive = ~dead(self.act[k], self.dead_mean, self.dead_std).flatten()
        counted = None if self.silent[k] else int(alive.sum())
        if self.whys[k]:
            return LayerDynamics(self.names[k], n, counted, None, None, self.whys[k])
        parents = ~dead(self.act[k + 1], self.dead_mean, self.dead_std)
        deviation, grid_wide = self.coupling[k].std, layer.competition == "grid"
        printed = _mean(*rates(deviation, torch.ones_like(parents), layer.windows, grid_wide=grid_wide))
        unknown = self.silent[k] or self.silent[k + 1]
        if unknown:
            return LayerDynamics(
                self.names[k], n, counted, None, printed, f"it is not known which capsules are dead: {unknown}"
            )
        rate, targets = rates(deviation, parents, layer.windows, grid_wide=grid_wide)
        none = torch.full_like(rate, torch.nan)
        living = _mean(torch.where(alive, rate, none), torch.where(alive, targets, none))
        return LayerDynamics(self.names[k], n, counted, living, printed)


def rates(
    deviation: Float[Tensor, "h w i j"], parents: Bool[Tensor, "h w j"], windows: Windows, *, grid_wide: bool
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """dyr and dys of each child over the parents that count; NaN where undefined.

    Args:
        deviation: of each coupling over images.
        grid_wide: whether a child's couplings sum to one over all the windows it belongs to, or in each.
    """
    counts = parents[:, :, None].expand_as(deviation).to(deviation)
    both = torch.stack([deviation * counts, counts]).to(windows.index.device)
    total, n = windows.by_child(both).cpu().sum(-1).flatten(1, 3)  # of each child in each of its windows
    if grid_wide:
        total, n = total.sum(-1, keepdim=True), n.sum(-1, keepdim=True)
    rate = torch.where(n > 1, total / (n * ((1 - 1 / n) / n).sqrt()), torch.nan)
    return rate.nanmean(-1), (n * rate).nanmean(-1)


def _mean(rate: Float[Tensor, " n"], targets: Float[Tensor, " n"]) -> Dynamics:
    dyr, dys = defined(torch.stack([rate.nanmean(), targets.nanmean()]))
    return Dynamics(dyr, dys, defined(rate))
