"""Whether a capsule is as active for a warped image as for the image itself (mitterreiter2023, section 4.2)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.data import Batch, Dataset
from torchcaps.measures._axes import legend, line_style
from torchcaps.measures._layers import layer_names, layer_sizes, why_no_activation, why_no_capsules
from torchcaps.measures.result import Nothing, Result, Table, number
from torchcaps.measures.sweep import UNITS, Groups, Steps
from torchcaps.network import CapsNet, Model
from torchcaps.types import Parse, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LayerInvariance:
    """One layer's correlations at each strength.

    Attributes:
        correlation: mean over its capsules; None if all of them are silent.
        silent: how many capsules are left out at each strength, their activations being zero for every image.
    """

    layer: str
    capsules: int
    correlation: tuple[float | None, ...]
    silent: tuple[int, ...]


@dataclass(frozen=True)
class FactorInvariance:
    """One transformation: its strengths, and every layer whose activations mean something."""

    factor: str
    strengths: tuple[float, ...]
    layers: tuple[LayerInvariance, ...]


@dataclass(frozen=True)
class InvarianceResult(Result):
    """Every transformation; `left_out` says which layers have no activations, and why."""

    images: int
    factors: tuple[FactorInvariance, ...]
    left_out: tuple[tuple[str, str], ...]

    def table(self) -> Table:
        """A row for each transformation and strength, a column for each layer."""
        rows = []
        for f in self.factors:
            for k, strength in enumerate(f.strengths):
                name = f"{f.factor.replace('_', ' ')} ±{strength:g}{UNITS[f.factor]}"
                rows.append((name, *(number(layer.correlation[k], 3) for layer in f.layers)))
        silent = [(la.layer, max(la.silent)) for f in self.factors for la in f.layers if any(la.silent)]
        notes = [f"{name}: up to {most} silent capsules left out." for name, most in sorted(set(silent))]
        notes += [f"{name}: {why}." for name, why in self.left_out]
        return Table(("strength", *(layer.layer for layer in self.factors[0].layers)), rows, "\n".join(notes))

    @property
    def panels(self) -> int:
        """One for each transformation."""
        return len(self.factors)

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """Correlation against strength, a line for each layer, as in figure 4."""
        f = self.factors[panel]
        for k, layer in enumerate(f.layers):
            values = [float("nan") if v is None else v for v in (1.0, *layer.correlation)]
            axes.plot((0.0, *f.strengths), values, label=layer.layer, **line_style(k))
        name = f.factor.replace("_", " ")
        unit = UNITS[f.factor].strip()
        axes.set(title=f"Activations under {name}", xlabel=f"{name} ±" + (f" ({unit})" if unit else ""))
        axes.set(ylabel="correlation", ylim=(min(0.5, axes.get_ylim()[0]), 1.01))
        legend(axes)


class Invariance:
    """v₁ᵀv₂ / (‖v₁‖ ‖v₂‖) of a capsule's activations over images, as they are and warped; the mean over a layer.

    The correlation is the paper's: it is not centred. Both signs of a strength are averaged. Capsules that are silent
    for all images have none; they are left out and counted. For a walk over `swept` images.

    >>> from torchcaps.data import load
    >>> from torchcaps.measures import Invariance, swept, walk
    >>> from torchcaps.models import create_model
    >>> net = create_model("mitterreiter2023/capsnet", pretrained=True)
    >>> data = swept(("rotation",), count=3)(net, load("glyphs", "test", count=5))
    >>> [layer.layer for layer in walk(net, data, [Invariance()])[0].factors[0].layers]
    ['primary', 'hidden 1', 'hidden 2', 'classes']
    """

    record: Record = "last"

    def begin(self, model: Model, data: Dataset) -> None:
        """Find the layers whose activations mean something."""
        self.groups = Groups(data, "invariance")
        self.why, self.layers = why_no_capsules(model), dict[int, str]()
        if isinstance(model, CapsNet):
            self.whys, self.names, sizes = why_no_activation(model), layer_names(model), layer_sizes(model)
            self.layers = {k: name for k, name in enumerate(self.names) if not self.whys[k]}
            self.why = "" if self.layers else self.whys[0]
            shape = (len(self.groups.data.sweeps), self.groups.data.group)
            self.cross = {k: torch.zeros(*shape, sizes[k], dtype=torch.double) for k in self.layers}
            self.square = {k: torch.zeros_like(sums) for k, sums in self.cross.items()}
        self.record = "none" if self.why else "last"

    def update(self, parse: Parse, batch: Batch) -> None:
        """Add up products of activations."""
        if self.why:
            return
        middle = self.groups.data.sweeps[0].middle
        acts = [parse.capsules[k].act.flatten(1).double().cpu() for k in self.layers]
        for f, parts in self.groups.split(*acts):
            for k, act in zip(self.layers, parts, strict=True):
                self.cross[k][f] += (act * act[:, middle, None]).sum(0)
                self.square[k][f] += act.square().sum(0)

    def result(self) -> InvarianceResult | Nothing:
        """Every transformation, or why there is none."""
        if self.why:
            return Nothing("invariance", self.why)
        data = self.groups.data
        factors = []
        for f, sweep in enumerate(data.sweeps):
            layers = tuple(self._layer(k, f, sweep) for k in self.layers)
            factors.append(FactorInvariance(sweep.factor, sweep.strengths, layers))
        left_out = tuple((name, why) for name, why in zip(self.names, self.whys, strict=True) if why)
        return InvarianceResult(len(data.source), tuple(factors), left_out)

    def _layer(self, k: int, f: int, sweep: Steps) -> LayerInvariance:
        norms = self.square[k][f].sqrt()
        correlation = self.cross[k][f] / (norms * norms[sweep.middle])
        means, silent = list[float | None](), list[int]()
        for strength in range(len(sweep.strengths)):
            both: Float[Tensor, "2 n"] = correlation[list(sweep.both(strength))]
            known = both.isfinite().all(0)
            silent.append(int((~known).sum()))
            means.append(float(both[:, known].mean()) if known.any() else None)
        return LayerInvariance(self.layers[k], norms.shape[-1], tuple(means), tuple(silent))
