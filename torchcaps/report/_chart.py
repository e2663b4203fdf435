"""The geometry of a line chart: what a template needs to draw it as SVG."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 34


@dataclass(frozen=True)
class Tick:
    """A place on an axis, in the units of the drawing, and what is written there."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """Axes and lines, ready to be drawn; `lines` holds for each series its points, those without a value left out."""

    x: list[Tick]
    y: list[Tick]
    lines: list[list[tuple[float, float]]]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def chart(
    series: Sequence[Sequence[float]],
    *,
    x: Sequence[float] | None = None,
    log: bool = False,
    percent: bool = False,
    whole: bool = False,
) -> Chart:
    """A chart of series over the same places.

    Args:
        x: the places; if not given there is one value an epoch, and the first epoch is 1.
        log: a logarithmic axis; values that are not positive are left out.
        percent: values are shares and labelled as percentages.
        whole: the axis has every share from 0 to 1, whatever the values.
    """
    usable = [[_usable(v, log=log) for v in values] for values in series]
    known = [v for values in usable for v in values if v is not None] + ([0.0, 1.0] if whole else [])
    ticks = _log_ticks(known) if log else _ticks(min(known, default=0.0), max(known, default=1.0))
    low, high = min([*ticks, *known]), max([*ticks, *known])
    down = _scale(low, high, HEIGHT - BOTTOM, TOP, log=log)
    epochs = max((len(values) for values in usable), default=1)
    places = [float(e) for e in range(1, max(2, epochs) + 1)] if x is None else list(x)
    across = _scale(min(places), max(places), LEFT + 8, WIDTH - RIGHT - 8)
    step = max(1, math.ceil(epochs / 8))
    marks = [float(e) for e in range(1, epochs + 1, step)] if x is None else _inside(places)
    return Chart(
        [Tick(across(v), f"{v:g}".replace("-", "−")) for v in marks],
        [Tick(down(v), f"{100 * v:g} %" if percent else f"{v:g}") for v in ticks],
        [[(across(at), down(v)) for at, v in zip(places, row, strict=False) if v is not None] for row in usable],
    )


def _inside(places: Sequence[float]) -> list[float]:
    """Round numbers between the first place and the last."""
    return [tick for tick in _ticks(min(places), max(places), most=9) if min(places) <= tick <= max(places)]


def _usable(value: float | None, *, log: bool) -> float | None:
    if value is None or not math.isfinite(value) or (log and value <= 0):
        return None
    return value


def _scale(low: float, high: float, start: int, end: int, *, log: bool = False) -> Callable[[float], float]:
    """From values to places."""
    f = math.log if log else float
    span = (f(high) - f(low)) or 1.0
    return lambda value: round(start + (f(value) - f(low)) / span * (end - start), 1)


def _ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers that enclose the values.

    >>> _ticks(0.871, 0.984)
    [0.85, 0.9, 0.95, 1.0]
    """
    span = (high - low) or max(abs(high), 1.0) / 10  # of a flat line
    power = 10.0 ** math.floor(math.log10(span))
    for step in (s * power for s in (0.1, 0.2, 0.5, 1, 2, 5, 10)):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            break
    if first == last:  # a flat line: a tick below it, or, at the bottom, above
        first, last = (first - 1, last) if first > 0 else (first, last + 1)
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def _log_ticks(known: Sequence[float]) -> list[float]:
    """Ones, twos and fives that enclose the values, or powers of ten if those are many.

    >>> _log_ticks([0.03, 0.4])
    [0.02, 0.05, 0.1, 0.2, 0.5]
    """
    low, high = min(known, default=0.1), max(known, default=1.0)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    for digits in ((1, 2, 5), (1,)):
        marks = [float(f"{d}e{p}") for p in powers for d in digits]
        first = max(k for k, mark in enumerate(marks) if mark <= low)
        last = min(k for k, mark in enumerate(marks) if mark >= high and k > first)
        if last - first < 8:
            break
    return marks[first : last + 1]
