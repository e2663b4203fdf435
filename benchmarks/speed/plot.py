"""The picture of the report: ratios of every routing as bars, and how time grows as curves."""

from pathlib import Path
from typing import Any

from benchmarks.measure import ratio
from benchmarks.speed import layers, scaling
from benchmarks.speed.result import OURS, TEXTBOOK, Mode, Row, Run
from benchmarks.speed.tables import number

COLOURS: dict[Mode, str] = {"train": "#1f5a99", "inference": "#e08a1e"}
INK, GRID = "#333333", "#dddddd"


def draw(run: Run, path: Path) -> bool:
    """Draw what a run has of layers and scaling; nothing is drawn of a run that has neither."""
    bars, curves = bool(run.find(layers.PART)), bool(run.find(scaling.PART))
    if not bars and not curves:
        return False
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "text.color": INK})
    figure = plt.figure(figsize=(12, 4.2 * (bars + curves)), layout="constrained")
    parts = list(figure.subfigures(bars + curves, 1, squeeze=False)[:, 0])
    if bars:
        _bars(parts.pop(0), run)
    if curves:
        _curves(parts.pop(0), run)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def _bars(figure: Any, run: Run) -> None:
    """A panel of fully connected layers and one of convolutional ones."""
    figure.suptitle("One layer: how many times as fast as the textbook", fontsize=11, fontweight="bold")
    rows = run.find(layers.PART)
    panels = figure.subplots(1, 2)
    for panel, kind in zip(panels, ("FC", "conv"), strict=True):
        found = [row for row in rows if row.workload.split(", ")[1].startswith(kind)]
        _panel(panel, found)
        panel.set_title({"FC": "fully connected", "conv": "convolutional, 3×3"}[kind], fontsize=10)
    panels[0].legend(loc="lower right", frameon=False)


def _panel(panel: Any, rows: list[Row]) -> None:
    names = list(dict.fromkeys(row.workload for row in rows))
    for row in rows:
        found = ratio(row.costs[TEXTBOOK], row.costs[OURS])
        y = names.index(row.workload) + (0.2 if row.mode == "inference" else -0.2)
        first = row.workload == names[0]
        panel.barh(y, found.value, 0.38, color=COLOURS[row.mode], label=row.mode if first else None)
        panel.plot([found.low, found.high], [y, y], color=INK, linewidth=1)
        end = max(found.value, found.high)
        panel.annotate(
            number(found.value), (end, y), xytext=(3, 0), textcoords="offset points", va="center", fontsize=8
        )
    panel.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    panel.set_yticks(range(len(names)), [_label(name) for name in names])
    panel.invert_yaxis()
    panel.set_xlabel("textbook ÷ torchcaps, line: 5–95 %")
    panel.margins(x=0.1)
    panel.grid(axis="x", color=GRID)
    panel.set_axisbelow(True)


def _label(workload: str) -> str:
    routing, kind = workload.split(", ")
    return f"{routing.replace('_', ' ')}\n2048→100" if "2048" in kind else routing.replace("_", " ")


def _curves(figure: Any, run: Run) -> None:
    """A panel for each axis: milliseconds a call, ours in full lines, the textbook's in broken ones."""
    figure.suptitle("Dynamic routing: milliseconds a call", fontsize=11, fontweight="bold")
    panels = figure.subplots(1, len(scaling.POINTS), sharey=True)
    for panel, axis in zip(panels, scaling.POINTS, strict=True):
        rows = [row for row in run.find(scaling.PART) if row.notes["axis"] == axis]
        for name, style in ((TEXTBOOK, "--"), (OURS, "-")):
            for mode, colour in COLOURS.items():
                points = [(row.notes["value"], row.costs[name].seconds * 1e3) for row in rows if row.mode == mode]
                label = f"{name}, {mode}"
                panel.plot(*zip(*points, strict=True), style, marker="o", markersize=3, color=colour, label=label)
        values = sorted({row.notes["value"] for row in rows})
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        panel.set_xticks(values, [str(value) for value in values])
        panel.set_xlabel(axis if axis != "dimension" else "dimension of a pose, below and above")
        panel.grid(color=GRID)
    panels[0].set_ylabel("ms")
    panels[0].legend(frameon=False, fontsize=8)
