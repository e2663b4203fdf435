"""Trees on paper, as figures 2, 3 and 5 of mitterreiter2023 draw them."""

from typing import TYPE_CHECKING, Any, Literal

from torchcaps.explain.difference import difference
from torchcaps.explain.layout import Layout, arrange
from torchcaps.explain.tree import Tree

if TYPE_CHECKING:
    from jaxtyping import Float
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from torch import Tensor

Layers = Literal["columns", "rows"]
MOST_LABELS = 24  # classes; the names of more are left out
WIDE = 0.62  # of the space between two layers, what the longest bar takes
LIGHT, DARK = ("#ffffff", "#1d2128", "#0b3d91", "#c2321f"), ("#14171c", "#e8eaee", "#8fb8ff", "#ff7a63")


def draw_edges(axes: "Axes", tree: Tree, *, layers: Layers = "columns", full: float | None = None) -> Layout:
    """Capsules as dots and couplings as lines, the darker the greater; dead capsules are red.

    >>> from matplotlib.figure import Figure
    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("mitterreiter2023/capsnet", width=0.25), torch.rand(1, 1, 40, 40))
    >>> len(draw_edges(Figure().add_subplot(), tree).dots)
    26

    Args:
        layers: as "columns" from left to right, or as "rows" from the bottom up.
        full: the coupling that is drawn darkest; see `arrange`.
    """
    from matplotlib.collections import LineCollection

    layout = arrange(tree, full=full)
    _, ink, line, dead = _colours(axes)
    at = [(dot.x, 1 - dot.y) if layers == "columns" else (dot.y, dot.x) for dot in layout.dots]
    ends = [(at[edge.child], at[edge.parent]) for edge in layout.lines]
    shades = [(line, edge.darkness) for edge in layout.lines]
    axes.add_collection(LineCollection(ends, colors=shades, linewidths=1.1, zorder=1))
    size = max(4.0, min(26.0, 700 / max(1, _tallest(layout))))
    across, up = zip(*at, strict=True)
    axes.scatter(across, up, s=size, c=[dead if dot.dead else ink for dot in layout.dots], zorder=2)
    _frame(axes, layout, layers)
    return layout


def draw_bars(axes: "Axes", tree: Tree, *, layers: Layers = "columns", longest: float | None = None) -> Layout:
    """How strong each capsule is, as a bar at its place; dead capsules have a red mark.

    >>> from matplotlib.figure import Figure
    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("mitterreiter2023/capsnet", width=0.25), torch.rand(1, 1, 40, 40))
    >>> draw_bars(Figure().add_subplot(), tree).names[0]
    'primary'

    Args:
        longest: the strength whose bar fills its space; 1, or the greatest if that is more.
    """
    from matplotlib.collections import LineCollection

    layout = arrange(tree)
    _, ink, line, dead = _colours(axes)
    full = layout.bar if longest is None else longest
    step = 1 / max(1, len(layout.names) - 1)
    bars, frames, marks = [], [], []
    for dot in layout.dots:
        y = 1 - dot.y if layers == "columns" else dot.y
        start, length = dot.x - WIDE * step / 2, WIDE * step * min(1.0, dot.strength / full)
        bars.append([(start, y), (start + length, y)])
        frames.append([(start, y), (start + WIDE * step, y)])
        if dot.dead:
            marks.append([(start, y), (start + WIDE * step, y)])
    turned = (lambda ends: [tuple(reversed(end)) for end in ends]) if layers == "rows" else list
    width = max(1.5, min(7.0, 110 / max(1, _tallest(layout))))
    for ends, colour, alpha in ((frames, ink, 0.1), (bars, line, 1.0), (marks, dead, 0.85)):
        drawn = LineCollection([turned(end) for end in ends], colors=colour, linewidths=width, alpha=alpha)
        drawn.set_capstyle("butt")
        axes.add_collection(drawn)
    _frame(axes, layout, layers, reach=WIDE * step / 2)
    return layout


def figure_of_trees(
    trees: "list[Tree]", images: "Float[Tensor, 'b c h w'] | None" = None, *, dark: bool = False
) -> "Figure":
    """For each image its couplings, its norms and itself (figure 2); under two, how much their trees differ (figure 5).

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> images = torch.rand(2, 1, 40, 40)
    >>> trees = parse_trees(create_model("mitterreiter2023/capsnet", width=0.25), images)
    >>> len(figure_of_trees(trees, images).axes)
    6

    Args:
        dark: light ink on a dark ground.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    ground, ink, *_ = DARK if dark else LIGHT
    theme: Any = {"text.color": ink, "axes.facecolor": ground, "figure.facecolor": ground, "savefig.facecolor": ground}
    with mpl.rc_context({**theme, "font.size": 9, "axes.titlesize": 10}):
        columns = 2 if images is None else 3
        page = Figure(figsize=(9.4 if columns == 2 else 11.5, 3.2 * len(trees) + 0.4), layout="constrained")
        grid = page.add_gridspec(len(trees), columns, width_ratios=(2, 2, 1)[:columns])
        for k, tree in enumerate(trees):
            spots = [page.add_subplot(grid[k, column]) for column in range(columns)]
            couplings, strengths = draw_edges(spots[0], tree), draw_bars(spots[1], tree)
            spots[0].set_title(f"couplings, darkest {couplings.full:.2g}")
            spots[1].set_title(f"{tree.structure.layers[0].measure}s, full bar {strengths.bar:.2g}")
            if images is not None:
                _picture(spots[2], images[k])
        if len(trees) == 2 and any(link.shares for link in trees[0].structure.links):
            page.supxlabel(f"the two trees differ by {difference(*trees).value:.3f}", fontsize=10)
        return page


def _picture(axes: "Axes", image: "Float[Tensor, 'c h w']") -> None:
    from einops import rearrange

    axes.imshow(rearrange(image.clamp(0, 1), "c h w -> h w c").cpu().numpy(), cmap="gray", vmin=0, vmax=1)
    axes.set_axis_off()


def _frame(axes: "Axes", layout: Layout, layers: Layers, reach: float = 0.0) -> None:
    """No axes but the names of layers and, at the last, of classes if they are few."""
    depths = [k / max(1, len(layout.names) - 1) for k in range(len(layout.names))]
    top = [dot for dot in layout.dots if dot.layer == len(layout.names) - 1]
    shown = top if len(top) <= MOST_LABELS else []
    along, across = (axes.xaxis, axes.yaxis) if layers == "columns" else (axes.yaxis, axes.xaxis)
    along.set_ticks(depths, [name.replace(", ", "\n") for name in layout.names])
    across.set_ticks([1 - dot.y if layers == "columns" else dot.y for dot in shown], [dot.label for dot in shown])
    if layers == "columns":
        axes.yaxis.tick_right()
    axes.tick_params(length=0, labelsize=8, labelcolor=_colours(axes)[1])
    margin = reach + 0.04
    limits = ((-margin, 1 + margin), (-0.02, 1.02))
    axes.set(xlim=limits[layers == "rows"], ylim=limits[layers == "columns"])
    axes.spines[:].set_visible(False)


def _tallest(layout: Layout) -> int:
    """How many dots the largest layer has."""
    return max(sum(dot.layer == k for dot in layout.dots) for k in range(len(layout.names)))


def _colours(axes: "Axes") -> tuple[str, str, str, str]:
    """Ground, ink, lines and the dead, as they can be seen on these axes."""
    from matplotlib.colors import rgb_to_hsv, to_rgb

    return LIGHT if rgb_to_hsv(to_rgb(axes.get_facecolor()))[2] > 0.5 else DARK
