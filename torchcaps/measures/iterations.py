"""What each routing iteration costs (tsai2020, figure 4, bottom right)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.infer import infer, ready
from torchcaps.measures._axes import legend, line_style
from torchcaps.measures._cost import cost
from torchcaps.measures.result import Result, Table
from torchcaps.measures.walk import Progress, silent
from torchcaps.network import Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Iteration:
    """A network with so many routing iterations: seconds and peak memory of a batch, answered and learned from."""

    iterations: int
    seconds: float
    peak_bytes: int
    training_seconds: float
    training_peak_bytes: int


@dataclass(frozen=True)
class IterationsResult(Result):
    """Networks that differ in their iterations only, for the same batch of so many images."""

    batch: int
    points: tuple[Iteration, ...]

    def table(self) -> Table:
        """A row for each number of iterations."""
        rows = [
            (
                str(p.iterations),
                *(f"{1000 * s:.1f}" for s in (p.seconds, p.training_seconds)),
                *(f"{b / MEGABYTE:.1f}" for b in (p.peak_bytes, p.training_peak_bytes)),
            )
            for p in self.points
        ]
        titles = ("iterations", "ms", "ms, training", "MB", "MB, training")
        return Table(titles, rows, f"Batches of {self.batch} images.")

    @property
    def panels(self) -> int:
        """Time and memory."""
        return 2

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """Time or memory against iterations, for answers and for training steps."""
        name, unit = (("seconds", 1e-3), ("peak_bytes", MEGABYTE))[panel]
        for k, (kind, said) in enumerate((("", "inference"), ("training_", "forward and backward"))):
            values = [getattr(p, kind + name) / unit for p in self.points]
            axes.plot([p.iterations for p in self.points], values, label=said, **line_style(k))
        title = f"{('Time', 'Peak memory')[panel]} of {self.batch} images"
        axes.set(title=title, xlabel="routing iterations", ylabel=("ms", "MB")[panel])
        axes.set_xticks([p.iterations for p in self.points])
        axes.set_ylim(bottom=0)
        legend(axes)


def iterations(
    build: Callable[[int], Model],
    images: Float[Tensor, "b c h w"],
    *,
    counts: Sequence[int] = (1, 2, 3, 4, 5),
    seconds: float = 0.2,
    progress: Progress = silent,
) -> IterationsResult:
    """Time and peak memory of a network by the number of its routing iterations.

    >>> from torchcaps.models import create_model
    >>> def build(iters):
    ...     return create_model("tsai2020/inverted_simple", width=0.1, iters=iters)
    >>> found = iterations(build, torch.rand(1, 3, 32, 32), counts=[1, 6], seconds=0.01)
    >>> found.points[0].training_peak_bytes < found.points[1].training_peak_bytes
    True

    Args:
        build: gives the network with so many iterations.
        images: the batch.
        seconds: for how long each network is timed.
        progress: told after each network how many are done, of how many.
    """
    points = []
    for done, count in enumerate(counts, 1):
        points.append(_point(build(count), count, images, seconds))
        progress(done, len(counts))
    return IterationsResult(len(images), tuple(points))


def _point(model: Model, count: int, images: Tensor, seconds: float) -> Iteration:
    x = ready(model, images)
    learned = [p for p in model.parameters() if p.requires_grad]

    def train() -> None:
        torch.autograd.grad(model(x).scores.sum(), learned, allow_unused=True)

    device = str(x.device)
    answer = cost(lambda: infer(model, x), device=device, seconds=seconds)
    return Iteration(count, *answer, *cost(train, device=device, seconds=seconds))
