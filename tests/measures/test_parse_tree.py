"""The tree of a data set, on strengths and couplings written by hand and against a loop over images."""

import json
import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.explain.networks import convolutional
from tests.measures.scripted import Numbered, Scripted
from torchcaps.explain import parse_trees, summarise
from torchcaps.measures import Nothing, ParseTree, ParseTreeResult, Result, figure, walk
from torchcaps.models import create_model
from torchcaps.routing import InvertedAttention


def measured(acts, couplings, order=None, batch_size=256, **options):
    net = Scripted(acts, couplings, **options)
    data = Numbered(range(len(acts[0])) if order is None else order)
    return walk(net, data, [ParseTree()], batch_size=batch_size)[0]


@settings(max_examples=12, deadline=None)
@given(st.permutations(range(9)), st.integers(1, 9), st.integers(0, 99))
def test_order_and_batch_size_do_not_matter_and_a_loop_agrees(order, batch_size, seed):
    torch.manual_seed(seed)
    acts = [1e3 + torch.rand(9, 2, 1, 3).double(), torch.rand(9, 1, 1, 4).double() ** 8]
    couplings = [torch.rand(9, 1, 1, 6, 4).double().softmax(-1)]
    found = measured(acts, couplings, order, batch_size)
    assert found.images == 9
    parts = [(found.mean.strength[k], found.deviation.strength[k], act) for k, act in enumerate(acts)]
    parts.append((found.mean.couplings[0], found.deviation.couplings[0], couplings[0]))
    for mean, deviation, values in parts:
        columns = list(zip(*values.flatten(1).tolist(), strict=True))
        assert mean.flatten().tolist() == pytest.approx([statistics.fmean(c) for c in columns], rel=1e-12)
        assert deviation.flatten().tolist() == pytest.approx([statistics.pstdev(c) for c in columns], abs=1e-9)
    low = acts[1][:, 0, 0]
    expected = (low.mean(0) <= 0.01) & (low.std(0, unbiased=False) <= 0.01)
    assert torch.equal(found.mean.dead[1][0, 0], expected)
    assert found.layers[1].dead == int(expected.sum())


def test_one_dead_capsule_and_one_that_changes_its_mind():
    acts = [torch.tensor([[0.5, 0.0], [0.5, 0.0]])[:, None, None], torch.ones(2, 1, 1, 2)]
    couplings = [torch.tensor([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]])[:, None, None]]
    found = measured(acts, couplings)
    assert found.mean.couplings[0][0, 0].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert found.deviation.couplings[0][0, 0].tolist() == [[0.5, 0.5], [0.0, 0.0]]
    primary, classes = found.layers
    assert (primary.dead, primary.strength, primary.wavering, primary.rerouting) == (1, 0.25, 0.0, 0.25)
    assert classes.rerouting is None
    assert [link.shares for link in found.mean.structure.links] == [True]
    assert [link.shares for link in found.deviation.structure.links] == [False]  # of a child deviations are no shares
    mean, deviation, *_ = figure(found).axes
    shades = [axes.collections[0].get_colors()[:, 3].tolist() for axes in (mean, deviation)]
    assert shades == [[0.5] * 4, [0.5] * 2]  # the second child never changes its mind: no line of it is left
    assert "primary" in str(found)


def test_a_capsule_that_is_seldom_needed_is_not_dead():
    acts = [torch.zeros(9, 1, 1, 2), torch.ones(9, 1, 1, 4)]
    acts[0][3, ..., 0] = 0.08  # mean 0.009, deviation 0.025
    found = measured(acts, [torch.rand(9, 1, 1, 2, 4)])
    assert found.mean.dead[0][0, 0].tolist() == found.deviation.dead[0][0, 0].tolist() == [False, True]


def test_padding_is_no_edge():
    acts = [torch.rand(3, 2, 2, 1), torch.rand(3, 2, 2, 2), torch.rand(3, 1, 1, 4)]
    options = [{"window": 3, "padding": 1}, {}]
    first = torch.zeros(3, 2, 2, 9, 2)
    there = Scripted(acts, [first], options=options).layers[0].windows.places[..., 0] >= 0
    first[1:, there] = 1.0
    found = measured(acts, [first, torch.rand(3, 1, 1, 8, 4)], options=options)
    assert found.layers[0].rerouting == pytest.approx(statistics.pstdev([0, 1, 1]), rel=1e-6)


def test_a_large_tree_is_kept_by_type_and_place(monkeypatch):
    net, data = convolutional(), Numbered(range(5), classes=("x", "y", "z"))
    data.image_shape = (1, 4, 3)
    images = torch.rand(5, 1, 4, 3)
    data.batch = lambda index, epoch=0: Numbered.batch(data, index)._replace(images=images[index])
    [whole] = walk(net, data, [ParseTree()])
    monkeypatch.setattr("torchcaps.explain.summary.MOST", 20)
    [small] = walk(net, data, [ParseTree()])
    assert whole.by_place is None
    assert [len(s.flatten()) for s in small.mean.strength] == [2, 3, 3]
    assert small.layers == whole.layers
    trees = parse_trees(net, images)
    for kept, by in ((small.mean, "type"), (small.by_place, "position")):
        singles = [summarise(tree, by) for tree in trees]
        for k in range(2):
            mean = torch.stack([tree.couplings[k] for tree in singles]).mean(0)
            torch.testing.assert_close(kept.couplings[k], mean)


def test_to_json_and_back():
    acts = [torch.rand(4, 1, 1, 3), torch.rand(4, 1, 1, 4)]
    found = measured(acts, [torch.rand(4, 1, 1, 3, 4)])
    again = Result.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False)))
    assert isinstance(again, ParseTreeResult)
    assert again.layers == found.layers
    assert again.to_json() == found.to_json()


def test_it_says_what_is_not_there():
    acts = [torch.rand(4, 1, 1, 3), torch.zeros(4, 1, 1, 4)]
    found = measured(acts, [torch.rand(4, 1, 1, 3, 4)], routing=InvertedAttention)
    assert [layer.dead for layer in found.layers] == [0, None]
    assert not found.mean.dead[1].any()  # nobody knows
    measure = ParseTree()
    measure.begin(create_model("chen2019/lenet"), Numbered([0]))
    assert measure.record == "none"
    assert measure.result() == Nothing("parse tree", "ConvNet has no capsule layers")


@pytest.mark.parametrize("dark", [False, True])
def test_the_five_panels_of_figure_3(dark):
    acts = [torch.tensor([[0.5, 0.0], [0.7, 0.0]])[:, None, None], torch.ones(2, 1, 1, 4)]
    page = figure(measured(acts, [torch.rand(2, 1, 1, 2, 4).softmax(-1)]), dark=dark)
    titles = [axes.get_title() for axes in page.axes]
    assert [title[:3] for title in titles] == ["(a)", "(b)", "(c)", "(d)", "(e)"]
    assert titles[4] == "(e) dead capsules: 1 of 6"
    page.draw_without_rendering()
