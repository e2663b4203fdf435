"""How results look on matplotlib axes: one palette for light and dark, told apart without colour too."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from torchcaps.measures.result import Result

# Okabe and Ito's palette without black and yellow, which vanish on one ground or the other, and with a lighter blue.
COLOURS = ("#1B7FC4", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS, DASHES = "osD^vP", ("-", "--", "-.", ":")
GREY = "#808080"
MOST_LABELS = 12  # a heat map of more rows or columns has no numbers in its cells

LIGHT = {"ground": "#ffffff", "ink": "#222222"}
DARK = {"ground": "#16181d", "ink": "#e6e6e6"}


def line_style(k: int) -> dict[str, Any]:
    """The look of the k-th series: colour, marker and dashes; later markers are smaller, so that equal ones show."""
    return {
        "color": COLOURS[k % len(COLOURS)],
        "marker": MARKERS[k % len(MARKERS)],
        "linestyle": DASHES[k % len(DASHES)],
        "linewidth": 1.6,
        "markersize": max(2.5, 7 - 1.2 * k),
    }


def legend(axes: "Axes") -> None:
    """A legend, or a word where there is nothing to show."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    else:
        axes.text(0.5, 0.5, "nothing to show", ha="center", va="center", transform=axes.transAxes)


def heat_map(
    axes: "Axes", values: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], *, vmax: float
) -> None:
    """A matrix of numbers from 0 to `vmax`, written into the cells if there are few; zeros are left out."""
    picture = axes.imshow(values, cmap="cividis", vmin=0, vmax=vmax, aspect="auto")
    few = max(len(rows), len(columns)) <= MOST_LABELS
    step = 1 if few else -(-max(len(rows), len(columns)) // MOST_LABELS)
    axes.set_xticks(range(0, len(columns), step), columns[::step])
    axes.set_yticks(range(0, len(rows), step), rows[::step])
    for y, row in enumerate(values if few else ()):
        for x, value in enumerate(row):
            if value:
                ink = "black" if value > 0.55 * vmax else "white"
                axes.text(x, y, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=7)
    if axes.figure is not None:
        axes.figure.colorbar(picture, ax=axes, fraction=0.046)


def figure(result: "Result", *, dark: bool = False, columns: int = 3) -> "Figure":
    """All panels of a result as a figure of matplotlib, to be saved or shown.

    >>> from torchcaps.measures import Nothing
    >>> len(figure(Nothing("activity", "there are no capsules")).axes)
    1

    Args:
        dark: light ink on a dark ground.
        columns: panels side by side, at most.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    theme: Any = _theme(DARK if dark else LIGHT)
    with mpl.rc_context(theme):
        across = 2 if result.panels == 4 else min(columns, result.panels)
        down = -(-result.panels // across)
        page = Figure(figsize=(4.6 * across + 0.4, 3.4 * down + 0.2), layout="constrained")
        for panel in range(result.panels):
            result.draw(page.add_subplot(down, across, panel + 1), panel)
        return page


def _theme(colours: dict[str, str]) -> dict[str, Any]:
    ink = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), colours["ink"]
    )
    ground = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"),
                           colours["ground"])  # fmt: skip
    return {
        **ink,
        **ground,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": False,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "font.size": 9,
        "axes.titlesize": 10,
    }
