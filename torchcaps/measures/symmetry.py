"""Whether a network can tell an input from its negative (peer2021, section 3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from torchcaps.data import Batch, Dataset
from torchcaps.infer import evaluating, infer
from torchcaps.layers import CapsuleLayer
from torchcaps.measures._axes import COLOURS, legend
from torchcaps.measures._layers import capsule_layers, layer_names
from torchcaps.measures.result import Result, Table
from torchcaps.network import CapsNet, Model
from torchcaps.types import Capsules, Parse, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 1e-12  # of a logarithmic axis


@dataclass(frozen=True)
class Asymmetry:
    """How far f(−u) is from f(u), and from −f(u), each as a share of f(u); None where f(u) is zero throughout.

    The shares are roots of sums of squares over all images: 0 is exact, 2 is the opposite.
    """

    what: str
    even: float | None
    odd: float | None


@dataclass(frozen=True)
class SymmetryResult(Result):
    """Poses and activations of every layer above negated primary capsules, the scores, and those of negated images."""

    images: int
    parts: tuple[Asymmetry, ...]

    def table(self) -> Table:
        """A row for each part."""
        rows = [(p.what, *("–" if v is None else f"{v:.1e}" for v in (p.even, p.odd))) for p in self.parts]
        return Table(("f", "‖f(−u) − f(u)‖", "‖f(−u) + f(u)‖"), rows, "As shares of ‖f(u)‖, over all images.")

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """Both distances of every part, on a logarithmic axis."""
        at = range(len(self.parts))
        for k, (name, said) in enumerate((("even", "from f(u)"), ("odd", "from −f(u)"))):
            values = [max(SMALL, getattr(p, name) or 0.0) for p in self.parts]
            axes.scatter(values, at, label=said, color=COLOURS[k], marker="os"[k], s=(45, 20)[k])
        axes.set_yticks(at, [p.what for p in self.parts])
        axes.invert_yaxis()
        axes.set(
            title="Distance of f(−u)", xscale="log", xlabel="share of ‖f(u)‖, zero at the left end", xlim=(SMALL / 3, 5)
        )
        axes.grid(visible=True, axis="x", alpha=0.3)
        legend(axes)


class _Distance:
    """Sums of squares behind one `Asymmetry`."""

    def __init__(self) -> None:
        self.even = self.odd = self.size = 0.0

    def update(self, plain: Tensor, negated: Tensor) -> None:
        f, g = plain.detach().double(), negated.detach().double()
        self.even += float((g - f).square().sum())
        self.odd += float((g + f).square().sum())
        self.size += float(f.square().sum())

    def result(self, what: str) -> Asymmetry:
        if self.size == 0:
            return Asymmetry(what, None, None)
        return Asymmetry(what, (self.even / self.size) ** 0.5, (self.odd / self.size) ** 0.5)


class Symmetry:
    """How far f(−u) is from ±f(u): without a bias, routing by agreement is odd, and its class scores are even.

    Of a capsule network, u are the poses of the primary capsules, whose activations stay; f are poses and activations
    of every layer above and the class scores. Of any network, u are also the images and f the scores.

    >>> from torchcaps.data import Sign
    >>> from torchcaps.measures import walk
    >>> from torchcaps.models import create_model
    >>> [found] = walk(create_model("peer2021/sign", bias=False), Sign(count=50), [Symmetry()])
    >>> found.table().columns
    ('f', '‖f(−u) − f(u)‖', '‖f(−u) + f(u)‖')
    """

    record: Record = "last"

    def begin(self, model: Model, data: Dataset) -> None:
        """Forget everything."""
        self.model, self.images = model, 0
        self.record = "last" if isinstance(model, CapsNet) else "none"
        self.sums = dict[str, _Distance]()

    def update(self, parse: Parse, batch: Batch) -> None:
        """Ask the network again, with the sign changed."""
        self.images += len(batch.images)
        if isinstance(self.model, CapsNet):
            with evaluating(self.model):
                _add(self.sums, *_negated(self.model, parse))
        again = infer(self.model, -batch.images).scores
        _add(self.sums, {"scores of negated images": parse.scores}, {"scores of negated images": again})

    def result(self) -> SymmetryResult:
        """Every part."""
        return SymmetryResult(self.images, tuple(sums.result(what) for what, sums in self.sums.items()))


def layer_symmetry(layer: CapsuleLayer, below: Capsules) -> tuple[Asymmetry, Asymmetry]:
    """How far one layer's poses and activations are from odd and even.

    >>> layer = CapsuleLayer(CapsShape((1, 1), 4, 8), n=3).double()
    >>> below = Capsules(torch.randn(5, 1, 1, 4, 8).double(), torch.rand(5, 1, 1, 4).double())
    >>> pose, act = layer_symmetry(layer, below)
    >>> pose.odd < 1e-12, act.even < 1e-12, pose.even
    (True, True, 2.0)
    """
    sums = dict[str, _Distance]()
    with torch.no_grad():
        plain, negated = (layer(Capsules(s * below.pose, below.act)) for s in (1, -1))
    _add(sums, {"pose": plain.pose, "activation": plain.act}, {"pose": negated.pose, "activation": negated.act})
    return sums["pose"].result("pose"), sums["activation"].result("activation")


def _negated(model: CapsNet, parse: Parse) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """What layers and scores are, and what they are above negated primary capsules."""
    primary = parse.capsules[0]
    history = model.schedule(capsule_layers(model), Capsules(-primary.pose, primary.act), "last")
    tops = [states[-1].capsules for states in history]
    plain, negated = dict[str, Tensor](), dict[str, Tensor]()
    for name, before, after in zip(layer_names(model)[1:], parse.capsules[1:], tops, strict=True):
        plain.update({f"{name}: poses": before.pose, f"{name}: activations": before.act})
        negated.update({f"{name}: poses": after.pose, f"{name}: activations": after.act})
    return {**plain, "scores": parse.scores}, {**negated, "scores": model.head(tops[-1])}


def _add(sums: dict[str, _Distance], plain: Mapping[str, Tensor], negated: Mapping[str, Tensor]) -> None:
    for what, value in plain.items():
        sums.setdefault(what, _Distance()).update(value, negated[what])
