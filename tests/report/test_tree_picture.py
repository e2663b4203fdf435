"""A tree as SVG, from a layout drawn by hand; and which trees of a network stand on a page."""

from dataclasses import replace

import pytest
import torch

from tests.explain.networks import IMAGE, convolutional
from tests.report.reading import told
from torchcaps.data import Batch
from torchcaps.explain import arrange, difference, parse_trees
from torchcaps.explain.layout import Dot, Layout, Line
from torchcaps.measures import ParseTreeResult
from torchcaps.report._gather_trees import network_trees
from torchcaps.report._png import png
from torchcaps.report._tree_svg import picture
from torchcaps.report.trees import Trees

LAYOUT = Layout(
    ("primary, 4 positions", "classes"),
    (
        Dot(0, 0.0, 0.25, "0", 0.5, dead=False),
        Dot(0, 0.0, 0.75, "1", 1.0, dead=True),
        Dot(1, 1.0, 0.3, "cat", 2.0, dead=False),
        Dot(1, 1.0, 0.8, "owl", 0.0, dead=False),
    ),
    (Line(0, 2, 0.25), Line(1, 3, 0.25), Line(1, 2, 1.0)),
    1.0,
    2.0,
)


def test_everything_of_a_layout_has_its_place():
    made = picture(LAYOUT)
    # 150 high from 8 down; bars of at most 90, so that 49 are left of the first layer, 77 right of the last.
    assert [(spot.x, spot.y) for spot in made.spots] == [(49, 45.5), (49, 120.5), (343, 53), (343, 128)]
    assert [spot.bar for spot in made.spots] == [22.5, 45, 90, 0]
    assert [spot.dead for spot in made.spots] == [False, True, False, False]
    assert made.shades == [(0.25, "M49,45.5L343,53M49,120.5L343,128"), (1.0, "M49,120.5L343,53")]
    assert made.names == [(49, ["primary", "4 positions"]), (343, ["classes"])]
    assert [spot.label for spot in made.classes] == ["cat", "owl"]
    assert (made.room, made.height, made.full, made.bar) == (90, 8 + 150 + 34, 1.0, 2.0)


def test_the_longest_bar_may_be_asked_for():
    made = picture(LAYOUT, longest=4.0)
    assert [spot.bar for spot in made.spots] == [11.2, 22.5, 45, 0]
    assert [spot.bar for spot in picture(LAYOUT, longest=1.0).spots] == [45, 90, 90, 0]
    assert made.bar == 4.0


@pytest.fixture(scope="module")
def shown():
    """Three trees of a network, one for the mean and one of deviations, on images of which the last is of its own."""
    torch.manual_seed(0)
    net, images = convolutional(), torch.rand(4, *IMAGE)
    for layer in net.layers:
        layer.weight.data.mul_(9)  # so that children take sides
    classes = ["ant", "bee", "cat"]
    mean, spread = parse_trees(net, torch.rand(2, *IMAGE), classes)
    spread = replace(spread, strength=tuple(0.3 * s for s in spread.strength))
    found = ParseTreeResult(5000, 0.01, 0.01, (), mean, spread)
    batch = Batch(images, torch.tensor([[1], [0], [2], [1]]))
    return net, found, batch, classes, network_trees("net", net, found, batch, classes)


def test_trees_of_a_page_are_mean_deviation_and_three_images(shown):
    net, found, batch, classes, made = shown
    spread = max(float(s.max()) for s in found.deviation.strength)
    over = "over 5,000 images"
    assert [row.what for row in made.rows] == [f"Mean {over}", f"Deviation {over}", "bee", "bee", "ant"]
    assert made.rows[0].tree == picture(arrange(found.mean))
    assert made.rows[1].tree == picture(arrange(found.deviation), longest=spread)
    assert made.rows[1].tree.bar == spread
    assert max(spot.bar for spot in made.rows[1].tree.spots) == made.rows[1].tree.room
    trees = parse_trees(net, batch.images, classes)
    for row, b in zip(made.rows[2:], (0, 3, 1), strict=True):
        own = arrange(trees[b])
        assert [spot.bar for spot in row.tree.spots] == [spot.bar for spot in picture(own).spots]
        assert row.image == png(batch.images[b])
    assert len({row.image for row in made.rows}) == 4
    far, other = (difference(trees[0], trees[b]).value for b in (3, 1))
    assert made.differences == (
        f"The tree of the first bee differs from that of the second by {far:.2f}, from that of the ant by {other:.2f}."
    )
    assert 0 < round(far, 2) != round(other, 2) > 0


def test_the_section_of_trees_says_what_it_shows(shown):
    *_, made = shown
    page = told(Trees(networks=[made]))
    assert page.texts["h3"] == ["net"]
    labels = page.attributes("svg", "aria-label")
    assert labels[:2] == ["net, couplings: Mean over 5,000 images", "net, activations: Mean over 5,000 images"]
    assert len(labels) == 2 * 5
    assert page.attributes("img", "alt") == ["An image of bee", "An image of bee", "An image of ant"]
    assert {"Mean over 5,000 images", "Deviation over 5,000 images", made.differences} <= set(page.texts["p"])
