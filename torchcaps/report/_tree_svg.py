"""The geometry of a parse tree: what a template needs to draw it as SVG, edges and bars."""

from dataclasses import dataclass

from torchcaps.explain import Layout

WIDTH, TOP, BOTTOM = 420, 8, 34
NAMES, CLASSES = 42.0, 32.0  # room beside the first layer for half its name, and beside the last bar for a class
ROW, LEAST, MOST = 15, 150, 420  # height of a capsule, and of the whole between these
SHADES = 12  # so many shades of edges, each one path
BAR, LONGEST = 0.55, 90.0  # of the space between two layers what the longest bar takes, and at most


@dataclass(frozen=True)
class Spot:
    """A capsule in the units of the drawing, and how long its bar is."""

    x: float
    y: float
    bar: float
    dead: bool
    label: str


@dataclass(frozen=True)
class Picture:
    """A tree, ready to be drawn.

    Attributes:
        shades: from the faintest, how opaque, and the path of all edges that are.
        names: of the layers, each with its place; a second line where capsules are summarised.
        room: length of the longest bar.
    """

    shades: list[tuple[float, str]]
    spots: list[Spot]
    names: list[tuple[float, list[str]]]
    classes: list[Spot]
    room: float
    thick: float
    height: int
    full: float
    bar: float
    width: int = WIDTH


def picture(layout: Layout, *, longest: float | None = None) -> Picture:
    """Where everything of a layout is drawn.

    Args:
        longest: the strength whose bar is longest; the layout's own if not given.
    """
    layers = len(layout.names)
    tallest = max(sum(dot.layer == k for dot in layout.dots) for k in range(layers))
    inside = min(MOST, max(LEAST, ROW * tallest))
    room = min(LONGEST, BAR * (WIDTH - NAMES - CLASSES) / layers)
    left, right = max(NAMES, room / 2 + 4), max(NAMES, room / 2 + CLASSES)
    step = (WIDTH - left - right) / max(1, layers - 1)
    bar = longest or layout.bar
    spots = [
        Spot(
            round(left + dot.layer * step, 1),
            round(TOP + dot.y * inside, 1),
            round(room * min(1.0, dot.strength / bar), 1),
            dot.dead,
            dot.label,
        )
        for dot in layout.dots
    ]
    paths: dict[int, list[str]] = {}
    for line in layout.lines:
        a, b = spots[line.child], spots[line.parent]
        paths.setdefault(round(line.darkness * SHADES), []).append(f"M{a.x:g},{a.y:g}L{b.x:g},{b.y:g}")
    return Picture(
        shades=[(max(0.5, shade) / SHADES, "".join(paths[shade])) for shade in sorted(paths)],
        spots=spots,
        names=[(round(left + k * step, 1), name.split(", ")) for k, name in enumerate(layout.names)],
        classes=[spot for spot, dot in zip(spots, layout.dots, strict=True) if dot.layer == layers - 1],
        room=round(room, 1),
        thick=max(1.5, min(9.0, 0.6 * inside / tallest)),
        height=TOP + inside + BOTTOM,
        full=layout.full,
        bar=bar,
    )
