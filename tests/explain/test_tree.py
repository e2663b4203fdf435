"""The tree of an image: its nodes and edges are those of the network's own parse, places included."""

from collections import Counter

import pytest
import torch

from tests.explain.networks import IMAGE, convolutional
from torchcaps.explain import Structure, grow, parse_trees
from torchcaps.functional import identity, length
from torchcaps.infer import infer
from torchcaps.layers import ActivationHead, CapsuleLayer, PrimaryCapsules
from torchcaps.models import create_model
from torchcaps.network import CapsNet
from torchcaps.routing import Dynamic, InvertedAttention, SelfRouting, Trainable


def naive_places(below, link, grid_out):
    """Row, column and type of each child, position by position."""
    h, w = below.grid
    for row in range(grid_out[0]):
        for column in range(grid_out[1]):
            i = 0
            for down in range(link.window[0]):
                for across in range(link.window[1]):
                    r = row * link.stride[0] - link.padding[0] + down
                    c = column * link.stride[1] - link.padding[1] + across
                    inside = 0 <= r < h and 0 <= c < w
                    for kind in range(below.types):
                        yield (row, column, i), ((r, c, kind) if inside else (-1, -1, -1))
                        i += 1


def test_places_are_those_of_the_windows():
    structure = Structure.of(convolutional())
    for k, link in enumerate(structure.links):
        places = structure.places(k)
        naive = dict(naive_places(structure.layers[k], link, structure.layers[k + 1].grid))
        assert len(naive) == places[..., 0].numel()
        for at, place in naive.items():
            assert tuple(places[at].tolist()) == place
        numbers = torch.arange(12 if k == 0 else 4).repeat_interleave(structure.layers[k].types)
        _, width = structure.layers[k].grid
        for at, (r, c, kind) in naive.items():
            flat = (r * width + c) * structure.layers[k].types + kind
            assert structure.children(k)[at] == (-1 if r < 0 else flat)
        assert structure.children(k).max() == len(numbers) - 1


def test_an_edge_belongs_to_the_child_it_names():
    """Under self-routing a child's couplings depend on that child alone: move it, and see which of them move."""
    net = convolutional(SelfRouting)
    [layer, _] = net.layers
    structure = Structure.of(net)
    below = net.primary(torch.rand(1, *IMAGE))
    still = layer.routing.couplings(layer.votes(below), None)
    for child, place in enumerate(torch.cartesian_prod(*map(torch.arange, below.act.shape[1:])).tolist()):
        pose = below.pose.clone()
        pose[0][tuple(place)] += 1.0
        moved = layer.routing.couplings(layer.votes(below._replace(pose=pose)), None)
        changed = (moved != still).any(-1)[0]
        assert torch.equal(changed, structure.children(0) == child)
        assert changed.any()


@pytest.mark.parametrize("competition", ["window", "grid"])
def test_nodes_and_edges_of_a_padded_network(competition):
    net = convolutional(competition=competition)
    images = torch.rand(2, *IMAGE)
    parse = infer(net, images, record="last")
    trees = parse_trees(net, images, ["a", "b", "c"])
    for b, tree in enumerate(trees):
        nodes = list(tree.nodes())
        assert Counter(node.layer for node in nodes) == {0: 24, 1: 12, 2: 3}
        for node in nodes:
            act = parse.capsules[node.layer].act[b, node.row, node.column, node.type].item()
            assert node.strength == pytest.approx(act)
            assert node.dead == (act <= 0.01)
        edges = list(tree.edges())
        links = Counter(edge.child.layer for edge in edges)
        assert links == {0: sum(2 * rows * columns * 3 for rows in (2, 3) for columns in (2, 2)), 1: 12 * 3}
        assert all(edge.parent.layer == edge.child.layer + 1 for edge in edges)
        assert set(nodes) >= {edge.child for edge in edges} | {edge.parent for edge in edges}
        shared = Counter()
        for edge in edges:  # a child shares itself out once for each window it lies in, or once over the grid
            window = (edge.parent.row, edge.parent.column) if competition == "window" else None
            shared[edge.child, window] += edge.coupling
        assert all(total == pytest.approx(1, abs=1e-5) for total in shared.values())


def test_a_capsule_of_small_activation_is_dead():
    net = convolutional()
    structure = Structure.of(net)
    parse = infer(net, torch.rand(2, *IMAGE), record="last")
    parse.capsules[1].act[0, 1, 0, 2] = 0.25
    parse.capsules[1].act[0, 0, 1, 1] = 0.26
    [first, _] = grow(structure, parse, eps=0.25)
    assert first.dead[1][1, 0, 2]
    assert not first.dead[1][0, 1, 1]
    assert first.node(1, (1, 0, 2)).dead


def test_how_small_can_be_said_for_images_too():
    net, images = convolutional(), torch.rand(2, *IMAGE)
    trees = parse_trees(net, images, eps=0.3)
    assert trees == grow(Structure.of(net), infer(net, images, record="last"), eps=0.3)
    dead = torch.cat([layer.flatten() for tree in trees for layer in tree.dead])
    assert 0 < dead.sum() < len(dead)


def test_without_activations_the_length_tells_and_nothing_is_dead():
    net = create_model("tsai2020/inverted_simple", width=0.06, image_size=28, in_chans=1)
    images = torch.rand(1, 1, 28, 28)
    [tree] = parse_trees(net, images, eps=1e9)
    assert {layer.measure for layer in tree.structure.layers} == {"length"}
    assert not any(dead.any() for dead in tree.dead)
    poses = infer(net, images, record="last").capsules[1].pose[0]
    torch.testing.assert_close(tree.strength[1].float(), length(poses))


def test_what_a_structure_says_of_a_routing():
    assert all(link.shares for link in Structure.of(convolutional(Dynamic)).links)
    assert not any(link.shares for link in Structure.of(convolutional(Trainable)).links)
    layers = Structure.of(convolutional(InvertedAttention)).layers
    assert [layer.measure for layer in layers] == ["activation", "length", "length"]


@pytest.mark.parametrize(
    ("activation", "squash", "measure"),
    [
        ("length", None, "activation"),
        ("length", identity, "length"),
        ("learned", identity, "activation"),
        ("one", None, "length"),
    ],
)
def test_lengths_of_poses_that_are_not_squashed_are_no_activations(activation, squash, measure):
    given = {} if squash is None else {"squash": squash}
    primary = PrimaryCapsules(IMAGE, n=2, d=4, activation=activation, **given)
    top = CapsuleLayer(primary.shape_out, n=3)
    net = CapsNet(torch.nn.Identity(), primary, [top], ActivationHead(top.shape_out))
    assert [layer.measure for layer in Structure.of(net).layers] == [measure, "activation"]
    images = torch.rand(1, *IMAGE)
    [tree] = parse_trees(net, images)
    below, above = infer(net, images, record="last").capsules
    told = below.act if measure == "activation" else length(below.pose)
    torch.testing.assert_close(tree.strength[0].float(), told[0])
    torch.testing.assert_close(tree.strength[1].float(), above.act[0])


def test_couplings_of_mixed_up_positions_are_no_shares():
    """tsai2020's released code mixes positions up where a layer has more than one."""
    primary = PrimaryCapsules(IMAGE, n=2, d=4)
    first = CapsuleLayer(primary.shape_out, n=3, window=2, compat="apple")
    top = CapsuleLayer(first.shape_out, n=3, compat="apple")
    net = CapsNet(torch.nn.Identity(), primary, [first, top], ActivationHead(top.shape_out))
    assert [link.shares for link in Structure.of(net).links] == [False, True]


def test_names_must_fit_and_couplings_be_recorded():
    net = convolutional()
    with pytest.raises(ValueError, match="tells 3 classes, but 2 names"):
        Structure.of(net, ["a", "b"])
    with pytest.raises(ValueError, match="record='last'"):
        grow(Structure.of(net), infer(net, torch.rand(1, *IMAGE)))


def test_a_network_without_capsules_has_an_empty_tree():
    net = create_model("gu2021/convnet_avg", width=0.02, image_size=20)
    [tree] = parse_trees(net, torch.rand(1, 1, 20, 20))
    assert not list(tree.nodes())
    assert not list(tree.edges())
