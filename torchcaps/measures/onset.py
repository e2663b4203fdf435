"""When learning starts (peer2021, figure 2)."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torchcaps.measures._axes import COLOURS, GREY, legend
from torchcaps.measures.result import Nothing, Result, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 500


@dataclass(frozen=True)
class OnsetResult(Result):
    """The first step at which the running training accuracy passes a threshold.

    Attributes:
        step: None if learning never started.
        window: over how many steps the running accuracy is taken.
        curve: steps and running accuracies, thinned out.
    """

    step: int | None
    steps: int
    threshold: float
    window: int
    curve: tuple[tuple[int, float], ...]

    def table(self) -> Table:
        """One row."""
        said = "never" if self.step is None else f"{self.step:,}"
        note = f"Running training accuracy over {self.window} steps above {self.threshold:.0%}."
        return Table(("learning starts", "of steps"), [(said, f"{self.steps:,}")], note)

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """The running accuracy, the threshold, and the step that passes it."""
        axes.plot(*zip(*self.curve, strict=True), color=COLOURS[0], label="running accuracy")
        axes.axhline(self.threshold, color=GREY, linestyle="--", label=f"threshold {self.threshold:.0%}")
        if self.step is not None:
            axes.axvline(self.step, color=COLOURS[1], linestyle=":", label=f"step {self.step:,}")
        axes.set(title="When learning starts", xlabel="step", ylabel="training accuracy", ylim=(-0.03, 1.03))
        legend(axes)


def onset(log: str | Path | Iterable[Mapping[str, Any]], classes: int, *, window: int = 50) -> OnsetResult | Nothing:
    """The first step whose running training accuracy passes 2/classes, or 0.55 of two classes.

    A log has for each step the accuracy of its epoch so far; the accuracy of the last steps follows from that. Until
    there are as many steps as the window has, those there are count.

    >>> lines = [{"event": "step", "epoch": 0, "step": k + 1, "accuracy": 0.1 if k < 9 else 0.5} for k in range(12)]
    >>> onset(lines, classes=10, window=3).step
    10

    Args:
        log: a training's log.jsonl, its folder, or the lines themselves.
        classes: how many the network tells.
        window: over how many steps the running accuracy is taken.
    """
    if window < 1:
        raise ValueError(f"window={window} is not allowed: at least one step is needed")
    lines = [line for line in _lines(log) if line.get("event") == "step"]
    if not lines:
        return Nothing("onset", "the log has no steps")
    own = np.concatenate([[0.0], np.cumsum(_own(lines))])
    at = np.arange(1, len(lines) + 1)
    first = np.maximum(0, at - window)
    running = (own[at] - own[first]) / (at - first)
    threshold = 0.55 if classes == 2 else 2 / classes
    passed = np.flatnonzero(running > threshold)
    steps = [int(line["step"]) for line in lines]
    thin = range(0, len(lines), -(-len(lines) // MOST_POINTS))
    curve = tuple((steps[k], float(running[k])) for k in thin)
    return OnsetResult(steps[passed[0]] if len(passed) else None, steps[-1], threshold, window, curve)


def _own(lines: list[Mapping[str, Any]]) -> list[float]:
    """Each step's own accuracy, from the means of its epoch so far; the batches of an epoch count alike."""
    found, epoch, count, total = list[float](), None, 0, 0.0
    for line in lines:
        if line["epoch"] != epoch:
            epoch, count, total = line["epoch"], 0, 0.0
        count += 1
        found.append(line["accuracy"] * count - total)
        total = line["accuracy"] * count
    return found


def _lines(log: str | Path | Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    if not isinstance(log, str | Path):
        return log
    path = Path(log)
    text = (path / "log.jsonl" if path.is_dir() else path).read_text()
    return [json.loads(line) for line in text.splitlines() if line.strip()]
