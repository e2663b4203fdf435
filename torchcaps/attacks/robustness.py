"""How a network fares under attack: accuracy against eps, beside controls that a real defence also withstands."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from torchcaps.attacks._art import require
from torchcaps.attacks._base import Attack, bound_in_words
from torchcaps.attacks.attacked import BLOCK, attacked
from torchcaps.attacks.fgsm import FGSM
from torchcaps.attacks.masking import MaskedGradientsWarning, signs, without_gradient
from torchcaps.attacks.noise import Noise
from torchcaps.attacks.pgd import PGD
from torchcaps.attacks.universal import Universal
from torchcaps.data import Dataset
from torchcaps.measures import Accuracy, AccuracyResult, Result, Table, walk
from torchcaps.measures._axes import line_style
from torchcaps.network import Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Told = Callable[[str, int, int], None]


def untold(name: str, done: int, total: int) -> None:
    """Progress that nobody wants to hear of: what is going on, how much is done, of how much."""


@dataclass(frozen=True)
class Point:
    """What was left at an eps, or after an iteration: accuracy, outcome of each image, and what was taken for what."""

    at: float
    found: AccuracyResult


@dataclass(frozen=True)
class Robustness(Result):
    """Accuracy under attack.

    Attributes:
        axis: what the points of a curve lie along: "eps" or "iteration".
        bound: how perturbations are bounded, in words.
        clean: without attack.
        curves: by attack, "noise" being the control that asks the network nothing.
        masked: what speaks for masked gradients; empty where nothing does.
    """

    axis: str
    bound: str
    clean: AccuracyResult
    curves: dict[str, tuple[Point, ...]]
    masked: tuple[str, ...] = ()

    def histogram(self, name: str, at: float) -> dict[str, int]:
        """How many images were taken for each class."""
        [found] = [point.found for point in self.curves[name] if point.at == at]
        return dict(zip(found.classes, (sum(column) for column in zip(*found.confusion, strict=True)), strict=True))

    def table(self) -> Table:
        """Accuracy in percent with Wilson's 95 % interval, an attack a column."""
        places = sorted({point.at for points in self.curves.values() for point in points})
        by = {name: {point.at: point.found for point in points} for name, points in self.curves.items()}
        rows = [(f"{at:g}", *(_cell(by[name].get(at)) for name in by)) for at in places]
        rows = [("clean", *[_cell(self.clean)] * len(by)), *rows]
        warned = [f"Gradients look masked: {said}." for said in self.masked]
        note = f"Accuracy in % (95 % interval) on {self.clean.count:,} images; {self.bound}."
        return Table((self.axis, *by), rows, "\n".join([note, *warned]))

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """A line for each attack with its 95 % intervals as a band."""
        start = [Point(0.0, self.clean)] if self.axis == "eps" else []
        for k, (name, points) in enumerate(self.curves.items()):
            line = [*start, *sorted((p for p in points if p.at > 0 or not start), key=lambda p: p.at)]
            places, scores = [p.at for p in line], [p.found.score for p in line]
            axes.plot(places, [s.value for s in scores], label=name, **line_style(k))
            low, high = zip(*(s.interval for s in scores), strict=True)
            axes.fill_between(places, low, high, color=line_style(k)["color"], alpha=0.15, linewidth=0)
        title = f"Accuracy under attack, {self.clean.count:,} images"
        title += "\n(gradients look masked)" if self.masked else ""
        axes.set(title=title, xlabel=f"{self.axis} ({self.bound})", ylabel="accuracy", ylim=(-0.03, 1.03))
        axes.legend()


def _cell(found: AccuracyResult | None) -> str:
    if found is None:
        return "–"
    low, high = found.score.interval
    return f"{100 * found.score.value:.1f} ({100 * low:.1f}–{100 * high:.1f})"


def robustness(model: Model, data: Dataset, attacks: Sequence[Attack], *, progress: Told = untold) -> Robustness:
    """Accuracy under attacks of growing eps, beside noise as large and FGSM at the same eps.

    Both controls cost next to nothing and always run: an attack that does no better than noise, or with more steps
    worse than FGSM, has been led astray. Where that happens, or images have no gradient, gradients look masked, which
    is said in the result and with a warning.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net, digits = create_model("chen2019/lenet", pretrained=True), load("glyphs", "test", count=40)
    >>> found = robustness(net, digits, [FGSM(0.3)])
    >>> {name: [point.at for point in points] for name, points in found.curves.items()}
    {'noise': [0.3], 'fgsm': [0.3]}

    Args:
        data: images of one class each.
        attacks: all of one norm, and all clipped or none.
        progress: told after each batch what is going on, how many images are done, of how many.
    """
    require()
    check_alike(attacks)
    loss = next((attack.loss for attack in attacks if isinstance(attack, FGSM | PGD | Universal)), "ce")
    clean = judge(model, data, "clean", progress)
    curves = dict[str, tuple[Point, ...]]()
    for attack in [*controls(attacks, loss), *attacks]:
        found = judge(model, attacked(attack)(model, data), f"{attack.name} {attack.eps:g}", progress)
        curves[attack.name] = (*curves.get(attack.name, ()), Point(attack.eps, found))
    right = {name: {p.at: p.found.right for p in points} for name, points in curves.items()}
    masked = signs(right, clean.right, without_gradient(model, data, loss))
    if masked:
        warnings.warn(f"gradients look masked: {'; '.join(masked)}", MaskedGradientsWarning, stacklevel=2)
    return Robustness("eps", bound_in_words(attacks[0]), clean, curves, masked)


def check_alike(attacks: Sequence[Attack]) -> None:
    """Refuse attacks that one table cannot show: none, several of one name and eps, or several kinds of bounds."""
    if not attacks:
        raise ValueError("there is no attack to judge by")
    if len({(attack.name, attack.eps) for attack in attacks}) < len(attacks):
        raise ValueError("one attack was given twice with the same eps: judge its variants one by one")
    if len({(attack.norm, attack.clip) for attack in attacks}) > 1:
        raise ValueError("attacks of different norms, or clipped and not, do not compare: judge them one by one")


def controls(attacks: Sequence[Attack], loss: str | nn.Module) -> list[Attack]:
    """Noise and FGSM for every eps of the attacks, as far as they are not among them."""
    given = {(attack.name, attack.eps) for attack in attacks}
    ones = {attack.eps: (attack.eps, attack.norm, attack.clip, attack.seed) for attack in attacks}.values()
    wanted = [*(Noise(*one) for one in ones), *(FGSM(*one, loss=loss) for one in ones)]
    return [control for control in wanted if (control.name, control.eps) not in given]


def judge(model: Model, data: Dataset, name: str, progress: Told = untold) -> AccuracyResult:
    """Accuracy on a view, with the outcome of every image."""

    def told(done: int, total: int) -> None:
        progress(name, done, total)

    progress(name, 0, len(data))
    measure = Accuracy()
    walk(model, data, [measure], batch_size=BLOCK, progress=told)
    return measure.result()
