"""Accuracy against a loop in plain Python, several labels, intervals, and a network left as it was."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.measures.scripted import Numbered
from torchcaps.data import Overlapping, Sign, Stored
from torchcaps.data.glyphs import load_glyphs
from torchcaps.infer import evaluating
from torchcaps.losses import make_loss
from torchcaps.measures import (
    Accuracy,
    Predictions,
    Score,
    accuracy,
    correct,
    measure,
    named,
    usual_threshold,
    walk,
    wilson,
)
from torchcaps.network import ConvNet
from torchcaps.types import Parse


@pytest.fixture(scope="module")
def digits():
    return load_glyphs("test", 150)


def tiny(size=28, classes=10):
    """A linear network with what evaluation mode changes, and parts in different modes."""
    net = ConvNet(nn.Sequential(nn.BatchNorm2d(1), nn.Dropout(0.5), nn.Flatten(), nn.Linear(size * size, classes)))
    net.body[0].eval()
    return net


def one_by_one(net, data, epoch=0):
    """The naive twin: an image at a time, sets of classes in Python."""
    net.eval()
    hits = 0
    for k in range(len(data)):
        images, labels, _ = data.batch(torch.tensor([k]), epoch)
        scores = net(images).scores[0].tolist()
        shown = set(labels[0].tolist())
        named = sorted(range(len(scores)), key=lambda n: -scores[n])[: len(shown)]
        hits += set(named) == shown
    return hits / len(data)


@pytest.mark.parametrize("single", [None, 0.0, 0.5])
def test_it_equals_a_loop(digits, single):
    data = digits if single is None else Overlapping(digits, single=single, seed=2)
    net = tiny(data.image_shape[1])
    score = accuracy(net, data, batch_size=64, epoch=3)
    assert score.value == pytest.approx(one_by_one(net, data, 3))
    assert 0 < score.value < 1
    assert score.count == 150
    assert score.interval == wilson(round(score.value * 150), 150)


def test_the_batch_size_changes_nothing_and_progress_is_told(digits):
    net, told = tiny(), []
    assert accuracy(net, digits, batch_size=7) == accuracy(
        net, digits, batch_size=64, progress=lambda *done: told.append(done)
    )
    assert told == [(64, 150), (128, 150), (150, 150)]


def test_which_answers_are_right():
    scores = torch.tensor([[0.9, 0.8, 0.1, 0.0]]).expand(6, 4)
    pairs = torch.tensor([[0, 1], [1, 0], [0, 2], [0, 0], [1, 1], [2, 3]])
    assert correct(scores, pairs).tolist() == [True, True, False, True, False, False]
    assert correct(scores, pairs[:, :1]).tolist() == [True, False, True, True, False, False]
    triples = torch.tensor([[2, 1, 0], [0, 1, 3], [1, 0, 1], [0, 0, 0], [3, 2, 1], [1, 1, 2]])
    assert correct(scores, triples).tolist() == [True, False, True, True, False, False]


def test_a_threshold_asks_how_many_there_are():
    scores = torch.tensor([[0.9, 0.8, 0.1], [0.9, 0.3, 0.1], [0.4, 0.3, 0.1]])
    pairs, same = torch.tensor([[1, 0]] * 3), torch.tensor([[0, 0]] * 3)
    assert correct(scores, pairs, 0.5).tolist() == [True, False, False]
    assert correct(scores, same, 0.5).tolist() == [False, True, False]
    assert correct(scores, same).tolist() == [True, True, True]
    at = named(torch.tensor([[0.5, 0.5001, 0.0]]), torch.tensor([1]), 0.5)
    assert at.tolist() == [[False, True, False]]  # above, not at


def test_no_numbers_are_never_right_and_equal_scores_name_the_first():
    scores = torch.tensor([[math.nan] * 3, [0.1, math.nan, 0.9], [0.5] * 3, [math.inf, 0, 0]])
    labels = torch.tensor([[0], [2], [0], [0]])
    assert correct(scores, labels).tolist() == [False, False, True, True]
    assert correct(scores[:2], labels[:2], 0.5).tolist() == [False, False]
    assert correct(torch.zeros(3, 3), torch.tensor([[0], [1], [2]])).tolist() == [True, False, False]


def test_the_interval_is_scipys():
    from scipy.stats import binomtest

    for hits, count in ((0, 10), (10, 10), (1, 1), (7, 10), (9876, 10_000)):
        theirs = binomtest(hits, count).proportion_ci(method="wilson")
        assert wilson(hits, count) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
        low, high = wilson(hits, count)
        assert 0 <= low <= hits / count <= high <= 1
    with pytest.raises(ValueError, match="3 of 2 is not a share"):
        wilson(3, 2)


def test_the_network_is_left_as_it_was(digits):
    net = tiny()
    modes = [module.training for module in net.modules()]
    before = {name: value.clone() for name, value in net.state_dict().items()}
    accuracy(net, digits)
    assert [module.training for module in net.modules()] == modes
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert torch.is_grad_enabled()
    with evaluating(net):
        assert not any(module.training for module in net.modules())
        assert not torch.is_grad_enabled()
    with pytest.raises(KeyboardInterrupt), evaluating(net):
        raise KeyboardInterrupt
    assert [module.training for module in net.modules()] == modes
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_images_come_in_the_networks_precision(digits, dtype):
    assert accuracy(tiny().to(dtype), digits).count == 150


def test_mistakes_are_named(digits):
    with pytest.raises(ValueError, match="the model tells 7 classes, but the data has 10"):
        accuracy(tiny(classes=7), digits)
    with pytest.raises(ValueError, match="there are no images"):
        accuracy(tiny(), digits.select(torch.arange(0)))


def test_a_perfect_and_a_hopeless_network():
    """Images that show their label as a bright pixel, read by the identity."""
    labels = torch.arange(4).repeat(5)
    images = (nn.functional.one_hot(labels, 4) * 255).to(torch.uint8).reshape(20, 1, 2, 2)
    data = Stored(images, labels, ("a", "b", "c", "d"))
    net = ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(4, 4, bias=False)))
    with torch.no_grad():
        net.body[1].weight.copy_(torch.eye(4))
    assert accuracy(net, data).value == 1
    assert accuracy(net, data).interval[0] < 1
    with torch.no_grad():
        net.body[1].weight.copy_(-torch.eye(4))
    assert accuracy(net, data).value == 0
    assert accuracy(ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(1, 2))), Sign(count=30)).count == 30


def told(scores, labels, threshold=None, classes="abcd", **options):
    net = ConvNet(nn.Identity())
    net.forward = lambda x, record="none": Parse(scores[x[:, 0, 0, 0].long()], [], [], [])
    data = Numbered(range(len(scores)), labels, tuple(classes))
    return walk(net, data, [Accuracy(threshold), Predictions(threshold)], **options)


def test_outcomes_classes_and_confusions():
    scores = torch.eye(4)[[0, 0, 1, 2, 2, 2, 0]]
    labels = torch.tensor([0, 0, 1, 1, 2, 2, 2])[:, None]
    found, said = told(scores, labels, batch_size=3)
    assert found.right.tolist() == [True, True, True, False, True, True, False]
    assert len(found.outcomes) == 4  # a byte, in base64
    assert (found.hits, found.count, found.score) == (5, 7, Score.of(5, 7))
    assert {name: (s.value, s.count) for name, s in found.by_class.items()} == {
        "a": (1, 2),
        "b": (0.5, 2),
        "c": (pytest.approx(2 / 3), 3),
    }
    assert found.confusion == ((2, 0, 0, 0), (0, 1, 1, 0), (1, 0, 2, 0), (0, 0, 0, 0))
    assert (said.named, said.shown) == ((3, 1, 3, 0), (2, 2, 3, 0))
    assert said.largest == pytest.approx(3 / 7)


def test_confusions_of_sets():
    """A pair of which one is missed, a set that is too large, one that is empty, and scores that are no numbers."""
    scores = torch.tensor([[0.9, 0.0, 0.8, 0.0], [0.9, 0.8, 0.7, 0.0], [0.1, 0.1, 0.1, 0.1], [math.nan, 0.9, 0.0, 0.0]])
    labels = torch.tensor([[0, 1], [0, 1], [3, 3], [1, 1]])
    found, said = told(scores, labels, 0.5)
    assert found.confusion == ((2, 0, 0, 0), (0, 1, 1, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    assert (found.hits, found.shown) == (0, (2, 3, 0, 1))
    assert {name: (s.value, s.count) for name, s in found.by_class.items()} == {
        "a": (1, 2),
        "b": (pytest.approx(1 / 3), 3),
        "d": (0, 1),
    }
    assert said.largest == 2 / 4  # of images, whatever is named besides
    assert (said.named, said.shown) == ((2, 1, 2, 0), (2, 3, 0, 1))
    best, _ = told(scores, labels)
    assert best.confusion[0] == (2, 0, 0, 0)
    assert best.confusion[3] == (1, 0, 0, 0)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(9)), st.integers(1, 9))
def test_order_and_batch_size_change_nothing_but_the_order_of_outcomes(order, batch_size):
    scores, labels = torch.rand(9, 4, generator=torch.Generator().manual_seed(1)), (torch.arange(9) % 4)[:, None]
    plain, _ = told(scores, labels)
    turned, _ = told(scores[list(order)], labels[list(order)], batch_size=batch_size)
    assert (turned.hits, turned.confusion, turned.shown) == (plain.hits, plain.confusion, plain.shown)
    assert torch.equal(turned.right, plain.right[list(order)])


def test_diverse_data_asks_for_sets(digits):
    """One object or two: the network must know how many, by a threshold that its loss gives."""
    pairs, diverse = Overlapping(digits), Overlapping(digits, single=0.5)
    thresholds = {
        name: usual_threshold(ConvNet(nn.Identity(), loss=make_loss(name)), diverse)
        for name in ("margin", "spread", "bce", "bce_lengths", "ce")
    }
    assert thresholds == {"margin": 0.5, "spread": 0.5, "bce": 0.0, "bce_lengths": 0.5, "ce": 0.0}
    net = tiny(36)
    assert usual_threshold(net, pairs) is None
    assert measure(net, "clean", pairs)["clean"] == accuracy(net, pairs)
    assert measure(net, "clean", diverse)["clean"] == accuracy(net, diverse, threshold=0.0)
    assert measure(net, "clean", diverse)["clean"] != accuracy(net, diverse)
    assert measure(net, "clean", diverse, threshold=9.0)["clean"].value == 0
