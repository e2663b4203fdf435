"""Any parse becomes a tree, the tree JSON, and the JSON the same tree."""

import json
import math
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.explain.networks import IMAGE, by_hand, convolutional
from torchcaps.explain import Layer, Link, Structure, Tree, grow, parse_trees
from torchcaps.types import Capsules, Parse
from torchcaps.windows import Windows

small = st.integers(1, 3)


def structures(draw):
    """Layers above one another, windows of any size, stride and padding, up to classes on a grid of 1×1."""
    grid, types = (draw(small), draw(small)), draw(small)
    measures = st.sampled_from(["activation", "length"])
    layers, links = [Layer("primary", grid, types, draw(measures))], []
    for depth in range(draw(st.integers(0, 2))):
        window = tuple(draw(st.integers(1, side)) for side in grid)
        padding = tuple(draw(st.integers(0, side - 1)) for side in window)
        link = Link(window, (draw(small), draw(small)), padding, draw(st.booleans()))
        over = Windows(grid, types, window=link.window, stride=link.stride, padding=link.padding)
        grid, types = over.grid_out, draw(small)
        layers.append(Layer(f"hidden {depth + 1}", grid, types, draw(measures)))
        links.append(link)
    classes = draw(small)
    names = draw(st.lists(st.text(max_size=4), min_size=classes, max_size=classes))
    layers.append(Layer("classes", (1, 1), classes, draw(measures)))
    links.append(Link(grid, shares=draw(st.booleans())))
    return Structure(tuple(layers), tuple(links), tuple(names))


def parses(draw):
    """A structure, and numbers of any size for it; at times one that is none."""
    structure = structures(draw)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    size = 10.0 ** draw(st.integers(-40, 30))

    def numbers(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.double).mul(size).to(dtype)

    b = draw(small)
    capsules = [
        Capsules(numbers(b, *layer.grid, layer.types, 2), numbers(b, *layer.grid, layer.types))
        for layer in structure.layers
    ]
    couplings = [
        numbers(b, *structure.places(k).shape[:3], structure.layers[k + 1].types) for k in range(len(structure.links))
    ]
    if draw(st.booleans()):
        couplings[0].view(-1)[0] = math.nan
    return structure, Parse(numbers(b, structure.layers[-1].types), capsules, couplings, [])


def test_trees_are_equal_to_the_last_bit():
    one, two = parse_trees(convolutional(), torch.rand(2, *IMAGE))
    assert one == Tree.from_json(one.to_json())
    assert one != two
    assert one != "a tree"
    bent = one.couplings[1].clone()
    bent[0, 0, 20, 1] = math.nextafter(float(bent[0, 0, 20, 1]), 1)
    assert one != replace(one, couplings=(one.couplings[0], bent))
    assert one != replace(one, structure=replace(one.structure, classes=("x", "y", "z")))


def same(one, two):
    assert one.structure == two.structure
    for name in ("strength", "dead", "couplings"):
        for a, b in zip(getattr(one, name), getattr(two, name), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_parse_survives_json(data):
    structure, parse = parses(data.draw)
    trees = grow(structure, parse)
    assert len(trees) == len(parse.scores)
    for b, tree in enumerate(trees):
        text = json.dumps(tree.to_json(), allow_nan=False)
        same(Tree.from_json(json.loads(text)), tree)
        for k, coupling in enumerate(parse.couplings):
            torch.testing.assert_close(tree.couplings[k], coupling[b].double(), rtol=0, atol=0, equal_nan=True)


def test_what_is_no_number_is_null():
    coupling = [[math.inf, 0.5], [-math.inf, math.nan]]
    tree = by_hand(coupling, strength=[[1.0, math.inf], [0.25, 0.5]])
    stored = json.loads(json.dumps(tree.to_json(), allow_nan=False))
    assert stored["couplings"] == [[None, 0.5, None, None]]
    assert stored["strength"] == [[1.0, None], [0.25, 0.5]]
    found = Tree.from_json(stored)
    assert found.couplings[0].isnan().tolist() == [[[[True, False], [True, True]]]]


def test_records_of_pydantic_may_hold_trees():
    @dataclass(frozen=True)
    class Held:
        name: str
        tree: Tree

    [tree] = parse_trees(convolutional(), torch.rand(1, *IMAGE))
    adapter = TypeAdapter(Held)
    found = adapter.validate_json(adapter.dump_json(Held("a", tree)))
    same(found.tree, tree)


def test_json_of_another_kind_is_refused():
    [tree] = parse_trees(convolutional(), torch.rand(1, *IMAGE))
    stored = tree.to_json()
    with pytest.raises(ValueError, match="format=7 is not a tree's"):
        Tree.from_json({**stored, "format": 7})
    with pytest.raises(ValueError, match=r"strength has \[24, 12, 2\] numbers a layer, but .* wants \[24, 12, 3\]"):
        Tree.from_json({**stored, "strength": [*stored["strength"][:2], [0.5, 0.5]]})
