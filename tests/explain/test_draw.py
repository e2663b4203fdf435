"""What is drawn: every capsule where it belongs, every edge as dark as its coupling, the dead in red."""

from dataclasses import replace

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tests.explain.networks import IMAGE, by_hand, convolutional
from torchcaps.explain import arrange, difference, draw_bars, draw_edges, figure_of_trees, parse_trees
from torchcaps.explain.draw import DARK, LIGHT
from torchcaps.models import create_model
from torchcaps.routing import Trainable


@pytest.fixture
def tree():
    [tree] = parse_trees(convolutional(), torch.rand(1, *IMAGE), ["cat", "dog", "owl"])
    dead = tuple(map(torch.zeros_like, tree.dead))
    dead[1][1, 0, 2] = True
    return replace(tree, dead=dead)


def test_the_layout_has_every_node_and_edge(tree):
    layout = arrange(tree)
    assert layout.names == ("primary", "hidden 1", "classes")
    assert [dot.strength for dot in layout.dots] == [node.strength for node in tree.nodes()]
    assert [dot.label for dot in layout.dots[-3:]] == ["cat", "dog", "owl"]
    assert {dot.x for dot in layout.dots} == {0.0, 0.5, 1.0}
    for k in range(3):
        ys = [dot.y for dot in layout.dots if dot.layer == k]
        assert ys == sorted(ys)
        assert 0 < ys[0] < ys[-1] < 1
    nodes = list(tree.nodes())
    couplings = {(edge.child, edge.parent): edge.coupling for edge in tree.edges()}
    found = {(nodes[line.child], nodes[line.parent]): line.darkness for line in layout.lines}
    assert found == {pair: c for pair, c in couplings.items() if c >= 0.02}
    assert layout.full == 1


def test_couplings_that_are_no_shares_are_drawn_against_the_largest():
    [tree] = parse_trees(convolutional(Trainable), torch.rand(1, *IMAGE))
    layout = arrange(tree)
    assert layout.full == max(c.abs().max() for c in tree.couplings)
    assert max(line.darkness for line in layout.lines) == 1


def test_a_large_layer_is_drawn_as_its_types():
    [tree] = parse_trees(create_model("sabour2017/capsnet", width=0.5), torch.rand(1, 1, 28, 28))
    layout = arrange(tree)
    assert layout.names == ("primary, 36 positions", "classes")
    assert len(layout.dots) == 16 + 10


@pytest.mark.parametrize(("ground", "colours"), [(LIGHT[0], LIGHT), (DARK[0], DARK)])
@pytest.mark.parametrize("layers", ["columns", "rows"])
def test_lines_dots_and_bars(tree, layers, ground, colours):
    page = Figure()
    left, right = page.subplots(1, 2)
    for axes in (left, right):
        axes.set_facecolor(ground)
    layout = draw_edges(left, tree, layers=layers)
    lines, dots = left.collections
    shades = [colour[3] for colour in lines.get_colors()]
    assert shades == pytest.approx([line.darkness for line in layout.lines])
    assert shades == sorted(shades)
    red = [to_hex(colour) == colours[3] for colour in dots.get_facecolors()]
    assert red == [dot.dead for dot in layout.dots]
    assert red.count(True) == 1
    dot = layout.dots[5]
    assert tuple(dots.get_offsets()[5]) == pytest.approx((dot.x, 1 - dot.y) if layers == "columns" else (dot.y, dot.x))
    nodes, place = list(tree.nodes()), 1 if layers == "columns" else 0
    downward = layers == "columns"  # the first capsule of a layer on top, or else at the left
    heights = [1 - dot.y if downward else dot.y for dot in layout.dots]
    ends = [[end[place] for end in segment] for segment in lines.get_segments()]
    assert ends == [pytest.approx([heights[line.child], heights[line.parent]]) for line in layout.lines]
    draw_bars(right, tree, layers=layers)
    frames, bars, marks = right.collections
    along = 0 if layers == "columns" else 1
    for frame, bar, node in zip(frames.get_segments(), bars.get_segments(), tree.nodes(), strict=True):
        share = (bar[1] - bar[0])[along] / (frame[1] - frame[0])[along]
        assert share == pytest.approx(node.strength)
    for drawn in (frames, bars):
        assert [segment[0][place] for segment in drawn.get_segments()] == pytest.approx(heights)
    assert len(marks.get_segments()) == 1
    for axes in (left, right):
        side = axes.yaxis if downward else axes.xaxis
        named = dict(zip((text.get_text() for text in side.get_ticklabels()), side.get_ticklocs(), strict=True))
        classes = [heights[k] for k, node in enumerate(nodes) if node.layer == 2]
        assert named == pytest.approx(dict(zip(("cat", "dog", "owl"), classes, strict=True)))
    words = {text.get_text() for axes in (left, right) for text in (*axes.get_xticklabels(), *axes.get_yticklabels())}
    assert words >= {"primary", "hidden 1", "classes", "cat", "dog", "owl"}


def test_trees_can_be_drawn_to_one_scale(tree):
    shades = []
    for full in (1.0, 2.0):
        axes = Figure().subplots()
        assert draw_edges(axes, tree, full=full).full == full
        shades.append([colour[3] for colour in axes.collections[0].get_colors()])
    assert shades[0] == pytest.approx([2 * shade for shade in shades[1]])


def test_a_pair_says_how_much_it_differs():
    images = torch.rand(2, *IMAGE)
    trees = parse_trees(convolutional(), images)
    page = figure_of_trees(trees, images)
    assert page.get_supxlabel() == f"the two trees differ by {difference(*trees).value:.3f}"
    assert len(page.axes) == 6
    for axes, image in zip(page.axes[2::3], images, strict=True):
        torch.testing.assert_close(torch.as_tensor(axes.images[0].get_array()), image[0])
    page.draw_without_rendering()
    assert len(figure_of_trees(trees[:1], dark=True).axes) == 2


def test_there_is_no_tree_without_capsules():
    [plain] = parse_trees(create_model("gu2021/convnet_avg", width=0.02, image_size=20), torch.rand(1, 1, 20, 20))
    with pytest.raises(ValueError, match="no tree to draw"):
        arrange(plain)


def test_the_longest_bar_may_be_asked_for(tree):
    axes = Figure().add_subplot()
    draw_bars(axes, tree, longest=2.0)
    frames, bars, _ = axes.collections
    for frame, bar, node in zip(frames.get_segments(), bars.get_segments(), tree.nodes(), strict=True):
        assert (bar[1] - bar[0])[0] / (frame[1] - frame[0])[0] == pytest.approx(node.strength / 2)


def test_bars_leave_room_between_layers(tree):
    """Three layers from 0 to 1: none reaches the half that is between it and the next."""
    axes = Figure().add_subplot()
    draw_bars(axes, tree)
    ends = [(frame[0][0], frame[1][0]) for frame in axes.collections[0].get_segments()]
    for (left, right), node in zip(ends, tree.nodes(), strict=True):
        assert (left + right) / 2 == pytest.approx(node.layer / 2)
        assert 0.2 < right - left < 0.5


def darkness(tree):
    layout = arrange(tree)
    return {(line.child, line.parent): pytest.approx(line.darkness) for line in layout.lines}, layout.full


def test_how_dark_edges_are_by_hand():
    shared = by_hand([[0.25, 0.75], [0.01, 0.99]])
    assert darkness(shared) == ({(0, 2): 0.25, (0, 3): 0.75, (1, 3): 0.99}, 1.0)
    signed = by_hand([[4.0, -2.0], [0.0, -1.0]], shares=[False])
    assert darkness(signed) == ({(0, 2): 4 / 7, (0, 3): 2 / 7, (1, 3): 1 / 7}, 7.0)  # four times the mean of 1.75
    steep = by_hand([[10.0, -2.0], [0.0, 0.0], [0.0, 0.0]], shares=[False])
    assert darkness(steep) == ({(0, 3): 1.0, (0, 4): 0.2}, 10.0)
    alike = by_hand([[3.0, 3.0], [3.0, 3.0]], shares=[False])
    assert darkness(alike) == ({(k, j): 0.25 for k in (0, 1) for j in (2, 3)}, 12.0)
    mixed = by_hand([[0.5, 0.5]], [[0.5, 8.0], [0.0, 0.0]], shares=[True, False])
    assert darkness(mixed)[1] == 8.0
