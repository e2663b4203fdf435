"""What leads from the capsules of each layer to a class, against a naive walk over all edges."""

import pytest
import torch

from tests.explain.networks import IMAGE, convolutional
from torchcaps.explain import figure_of_couplings, into_class, parse_trees
from torchcaps.models import create_model

NETWORKS = {
    "a grid": ("sabour2017/capsnet", {"width": 0.1, "image_size": 28}, 28),
    "layers without positions": ("mitterreiter2023/capsnet", {"width": 0.25}, 40),
    "windows": ("tsai2020/em_simple", {"width": 0.1, "in_chans": 1}, 32),
    "nothing shared out": ("chen2019/fc_gcaps", {"width": 0.05}, 28),
}


def naive(tree, label, value):
    """For each capsule the sum over all ways to the class of the product of what `value` says of each edge."""
    top = len(tree.structure.layers) - 1
    weight = {(top, 0, 0, label): 1.0}
    for edge in sorted(tree.edges(), key=lambda edge: -edge.parent.layer):
        up = (edge.parent.layer, edge.parent.row, edge.parent.column, edge.parent.type)
        down = (edge.child.layer, edge.child.row, edge.child.column, edge.child.type)
        weight[down] = weight.get(down, 0.0) + value(edge) * weight.get(up, 0.0)
    return weight


@pytest.mark.parametrize("case", NETWORKS)
def test_all_ways_to_a_class(case):
    name, options, size = NETWORKS[case]
    torch.manual_seed(1)
    image = torch.rand(1, 1, size, size)
    [tree] = parse_trees(create_model(name, **options), image)
    layers, links = tree.structure.layers, tree.structure.links
    found = list(reversed(into_class(tree, 3)))
    wanted = naive(tree, 3, lambda edge: edge.coupling)
    alike = naive(tree, 3, lambda edge: 1 / layers[edge.parent.layer].types)
    for depth, into in enumerate(found):
        assert into.layer == layers[depth].name
        shares = all(link.shares for link in links[depth:])
        assert (into.uniform is not None) == shares
        for node in tree.level(depth):
            at = (node.row, node.column, node.type)
            assert into.weight[at].item() == pytest.approx(wanted.get((depth, *at), 0.0), rel=1e-9, abs=1e-12)
            if shares:
                assert into.uniform[at].item() == pytest.approx(alike.get((depth, *at), 0.0), rel=1e-9, abs=1e-12)
    page = figure_of_couplings(tree, image[0], 3)
    drawn = [axes for axes in page.axes if axes.get_title()]
    assert len(drawn) == 1 + len(found)
    for axes, layer in zip(drawn[1:], layers, strict=False):
        assert bool(axes.patches) == (layer.grid == (1, 1)), "bars where there are no positions"
        assert bool(axes.images) == (layer.grid != (1, 1))


def test_the_layer_below_the_classes_has_the_couplings_themselves():
    [tree] = parse_trees(create_model("sabour2017/capsnet", width=0.1), torch.rand(1, 1, 28, 28))
    [into] = into_class(tree, 7)
    assert torch.equal(into.weight.flatten(), tree.couplings[0][0, 0, :, 7])


def test_a_network_without_capsules_has_none():
    [tree] = parse_trees(create_model("chen2019/lenet"), torch.rand(1, 1, 28, 28))
    assert into_class(tree, 0) == []
    assert len(figure_of_couplings(tree, torch.rand(1, 28, 28), 0).axes) == 1


def test_padding_leads_nowhere_and_the_figure_shows_what_was_found():
    """Windows that reach beyond the grid; images that are no squares."""
    net, image = convolutional(), torch.rand(1, *IMAGE)
    net.layers[1].weight.data.mul_(20)
    [tree] = parse_trees(net, image, ["ant", "bee", "cat"])
    real, alike = naive(tree, 1, lambda edge: edge.coupling), naive(tree, 1, lambda edge: 1 / 3)
    primary, hidden = grids = [
        (torch.zeros(layer.grid), torch.zeros(layer.grid)) for layer in tree.structure.layers[:2]
    ]
    for node in (node for node in tree.nodes() if node.layer < 2):
        for grid, found in zip(grids[node.layer], (real, alike), strict=True):
            grid[node.row, node.column] += found.get(node[:4], 0.0)
    for into, (weight, uniform) in zip(into_class(tree, 1), (hidden, primary), strict=True):
        torch.testing.assert_close(into.weight.sum(-1).float(), weight)
        torch.testing.assert_close(into.uniform.sum(-1).float(), uniform)
    page = figure_of_couplings(tree, image[0], 1)
    shown = [axes for axes in page.axes if axes.get_title()]
    assert [axes.get_title() for axes in shown] == ["bee", "from primary to bee", "from hidden 1 to bee"]
    for axes, (weight, uniform) in zip(shown[1:], grids, strict=True):
        photograph, over = axes.images
        assert tuple(over.get_extent()) == tuple(photograph.get_extent())
        wanted = (weight / uniform.clamp_min(1e-12)).clamp(0.25, 4)
        torch.testing.assert_close(torch.as_tensor(over.get_array()).float(), wanted)
        assert wanted.max() > 1.1 > 0.9 > wanted.min()
