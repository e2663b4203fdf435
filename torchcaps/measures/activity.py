"""How active capsules are, and how many are dead (mitterreiter2023, section 4.3)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from torchcaps.data import Batch, Dataset
from torchcaps.measures._axes import legend, line_style
from torchcaps.measures._layers import dead, layer_names, layer_sizes, why_no_activation, why_no_capsules
from torchcaps.measures._moments import Moments
from torchcaps.measures.result import Nothing, Result, Table, number
from torchcaps.network import CapsNet, Model
from torchcaps.types import Parse, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SWEEP = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class LayerActivity:
    """One layer of n capsules; every number is None where activations mean nothing, and `why` says so.

    Attributes:
        cns, cnm: norms of an image's capsules, their sum and their mean, averaged over images.
        cas, car: active capsules per image, and their share.
        cds, cdr: dead capsules, and their share.
        car_sweep, cdr_sweep: the shares at each threshold of the sweep, which stands for both thresholds of death.
        means, deviations: of each capsule's activation over images, in the order (row, column, type).
    """

    layer: str
    capsules: int
    why: str = ""
    cns: float | None = None
    cnm: float | None = None
    cas: float | None = None
    car: float | None = None
    cds: int | None = None
    cdr: float | None = None
    car_sweep: tuple[float, ...] = ()
    cdr_sweep: tuple[float, ...] = ()
    means: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()


@dataclass(frozen=True)
class ActivityResult(Result):
    """Every layer of capsules, from the primary ones up, with the thresholds that decided."""

    eps: float
    dead_mean: float
    dead_std: float
    sweep: tuple[float, ...]
    images: int
    layers: tuple[LayerActivity, ...]

    def table(self) -> Table:
        """The columns of the paper's table 2."""
        rows = [
            (a.layer, str(a.capsules), *(number(v) for v in (a.cnm, a.cns, a.car, a.cas, a.cdr)), number(a.cds, 0))
            for a in self.layers
        ]
        said = [f"{a.layer}: {a.why}." for a in self.layers if a.why]
        limits = f"Active: at least {self.eps:g}. Dead: mean at most {self.dead_mean:g}, deviation {self.dead_std:g}."
        columns = ("layer", "capsules", "cnm", "cns", "car", "cas", "cdr", "cds")
        return Table(columns, rows, "\n".join([limits, *said]))

    @property
    def panels(self) -> int:
        """Shares by layer, and each share against its threshold."""
        return 3

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """Mean norm, share active and share dead by layer; or one of the shares against the threshold."""
        known = [a for a in self.layers if not a.why]
        if panel == 0:
            for k, (name, said) in enumerate((("cnm", "mean norm"), ("car", "share active"), ("cdr", "share dead"))):
                axes.plot(range(len(known)), [getattr(a, name) for a in known], label=said, **line_style(k))
            axes.set_xticks(range(len(known)), [a.layer for a in known], rotation=20)
            axes.set(title="Activity by layer", ylim=(-0.03, 1.03))
        else:
            what, said = (("car_sweep", "active"), ("cdr_sweep", "dead"))[panel - 1]
            for k, a in enumerate(known):
                axes.plot(self.sweep, getattr(a, what), label=a.layer, **line_style(k))
            axes.set(title=f"Share {said} by threshold", xscale="log", xlabel="threshold", ylim=(-0.03, 1.03))
        legend(axes)


class Activity:
    """Norms, active and dead capsules of every layer.

    A capsule is active for an image if its activation is at least `eps`, and dead if over all images the mean and the
    (population's) deviation of its activation are small. The paper's own thresholds are in an appendix that is not
    public. In a convolutional layer a capsule is a type at a position.

    >>> from torchcaps.data import load
    >>> from torchcaps.measures import walk
    >>> from torchcaps.models import create_model
    >>> net = create_model("mitterreiter2023/capsnet", image_size=28, width=0.2)
    >>> [found] = walk(net, load("glyphs", "test", count=20), [Activity()])
    >>> [layer.layer for layer in found.layers]
    ['primary', 'hidden 1', 'hidden 2', 'hidden 3', 'classes']

    Args:
        eps: ε of active capsules.
        dead_mean, dead_std: ε₁ and ε₂ of dead ones.
        sweep: thresholds at which both shares are given besides.
    """

    record: Record = "last"

    def __init__(
        self, eps: float = 0.1, dead_mean: float = 0.01, dead_std: float = 0.01, sweep: tuple[float, ...] = SWEEP
    ) -> None:
        self.eps, self.dead_mean, self.dead_std, self.sweep = eps, dead_mean, dead_std, sweep

    def begin(self, model: Model, data: Dataset) -> None:
        """Find the layers whose activations mean something."""
        self.why = why_no_capsules(model)
        if isinstance(model, CapsNet):
            self.whys, self.names = why_no_activation(model), layer_names(model)
            self.sizes = layer_sizes(model)
            self.why = self.whys[0] if all(self.whys) else ""
        self.record = "none" if self.why else "last"
        self.moments = [Moments() for _ in range(0 if self.why else len(self.names))]
        self.active = torch.zeros(len(self.moments), 1 + len(self.sweep), dtype=torch.long)

    def update(self, parse: Parse, batch: Batch) -> None:
        """See the activations of a batch."""
        for k, moments in enumerate(self.moments):
            if not self.whys[k]:
                act = parse.capsules[k].act
                moments.update(act)
                self.active[k] += torch.stack([(act >= eps).sum() for eps in (self.eps, *self.sweep)]).cpu()

    def result(self) -> ActivityResult | Nothing:
        """The table of layers."""
        if self.why:
            return Nothing("activity", self.why)
        images = max(moments.count for moments in self.moments)
        layers = tuple(self._layer(k, images) for k in range(len(self.moments)))
        return ActivityResult(self.eps, self.dead_mean, self.dead_std, self.sweep, images, layers)

    def _layer(self, k: int, images: int) -> LayerActivity:
        n, moments = self.sizes[k], self.moments[k]
        if self.whys[k]:
            return LayerActivity(self.names[k], n, self.whys[k])
        cns = float(moments.mean.sum())
        active = (self.active[k] / images).tolist()
        gone = int(dead(moments, self.dead_mean, self.dead_std).sum())
        return LayerActivity(
            layer=self.names[k],
            capsules=n,
            cns=cns,
            cnm=cns / n,
            cas=active[0],
            car=active[0] / n,
            cds=gone,
            cdr=gone / n,
            car_sweep=tuple(a / n for a in active[1:]),
            cdr_sweep=tuple(float(dead(moments, eps, eps).double().mean()) for eps in self.sweep),
            means=tuple(moments.mean.flatten().tolist()),
            deviations=tuple(moments.std.flatten().tolist()),
        )
