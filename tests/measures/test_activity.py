"""Activity on activations written by hand, and against a loop over images and capsules."""

import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.measures.scripted import Numbered, Scripted
from torchcaps.functional import identity
from torchcaps.measures import Activity, Nothing, walk
from torchcaps.models import create_model
from torchcaps.routing import Dynamic, InvertedAttention


def measured(acts, measure=None, order=None, batch_size=256, **options):
    net = Scripted(acts, [torch.zeros(len(acts[0]), 1, 1, 1, 1)] * (len(acts) - 1), **options)
    order = range(len(acts[0])) if order is None else order
    return walk(net, Numbered(order), [Activity() if measure is None else measure], batch_size=batch_size)[0]


def layer(*images):
    """Activations of a fully connected layer, a row for each image."""
    return torch.tensor(images)[:, None, None].double()


def test_one_dead_capsule_of_four():
    acts = [layer([0.5, 0.5, 0.5, 0.0], [0.1, 0.7, 0.3, 0.0]), layer([1.0], [0.0])]
    primary, classes = measured(acts).layers
    assert (primary.capsules, primary.cds, primary.cdr) == (4, 1, 0.25)
    assert primary.cns == pytest.approx((1.5 + 1.1) / 2)
    assert primary.cnm == pytest.approx((1.5 + 1.1) / 8)
    assert (primary.cas, primary.car) == (3, 0.75)
    assert (classes.cas, classes.cds) == (0.5, 0)
    assert primary.means == pytest.approx((0.3, 0.6, 0.4, 0.0))
    assert primary.deviations == pytest.approx((0.2, 0.1, 0.1, 0.0))


def test_active_is_at_least_the_threshold():
    primary, _ = measured([layer([0.25, 0.2]), layer([1.0])], Activity(eps=0.25)).layers
    assert primary.cas == 1


def test_death_asks_for_both_mean_and_deviation():
    """A capsule that is low but moves lives, and so does one that is constant and high."""
    acts = [layer([0.0, 0.9, 0.01, 0.02], [0.02, 0.9, 0.01, 0.02]), layer([1.0], [1.0])]
    dead = [measured(acts, Activity(dead_mean=m, dead_std=s)).layers[0].cds for m, s in ((0.01, 0.005), (0.01, 0.01))]
    assert dead == [1, 2]
    assert measured(acts, Activity(dead_mean=0.02, dead_std=0.01)).layers[0].cds == 3
    assert measured(acts, Activity(dead_mean=1.0, dead_std=0.0)).layers[0].cds == 3


def test_the_sweep_is_what_each_threshold_alone_gives():
    acts = [torch.rand(30, 2, 2, 3) * 0.3, torch.rand(30, 1, 1, 2)]
    found = measured(acts)
    for k, eps in enumerate(found.sweep):
        alone = measured(acts, Activity(eps, eps, eps, sweep=()))
        for a, b in zip(found.layers, alone.layers, strict=True):
            assert (a.car_sweep[k], a.cdr_sweep[k]) == (b.car, b.cdr)


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(12)), st.integers(1, 12), st.integers(0, 5))
def test_order_and_batch_size_do_not_matter_and_a_loop_agrees(order, batch_size, seed):
    torch.manual_seed(seed)
    acts = [torch.rand(12, 2, 1, 3) ** 4, torch.rand(12, 1, 1, 2)]
    found = measured(acts, order=order, batch_size=batch_size)
    for act, said in zip(acts, found.layers, strict=True):
        rows = act.flatten(1).tolist()
        n = len(rows[0])
        columns = list(zip(*rows, strict=True))
        assert said.cns == pytest.approx(sum(map(sum, rows)) / 12)
        assert said.cas == pytest.approx(sum(v >= torch.tensor(0.1) for row in rows for v in row) / 12)
        assert said.deviations == pytest.approx([statistics.pstdev(c) for c in columns], abs=1e-12)
        assert said.cds == sum(statistics.mean(c) <= 0.01 and statistics.pstdev(c) <= 0.01 for c in columns)
        assert said.capsules == n


def test_it_says_what_has_no_activation():
    normed = measured([torch.rand(4, 1, 1, 2), torch.rand(4, 1, 1, 2)], routing=InvertedAttention)
    assert [a.why != "" for a in normed.layers] == [False, True]
    assert "InvertedAttention gives every capsule activation 1" in str(normed)
    assert normed.layers[1].cdr is None
    raw = measured([torch.rand(4, 1, 1, 2), torch.rand(4, 1, 1, 2)], routing=lambda s: Dynamic(s, squash=identity))
    assert "not squashed" in raw.layers[1].why
    acts = [torch.ones(4, 1, 1, 2), torch.tensor([0.0, 0.2, 0.4, 0.6]).reshape(4, 1, 1, 1).expand(4, 1, 1, 2)]
    above = Scripted(acts, [torch.zeros(4, 1, 1, 2, 2)])
    above.primary.activation = "one"  # nothing is seen of the first layer
    [found] = walk(above, Numbered(range(4)), [Activity()])
    assert (found.images, found.layers[0].why) == (4, "every primary capsule has activation 1")
    assert (found.layers[1].cas, found.layers[1].cnm) == (1.5, pytest.approx(0.3))
    inverted = create_model("tsai2020/inverted_simple", width=0.1)
    measure = Activity()
    measure.begin(inverted, Numbered([0]))
    assert measure.result() == Nothing("activity", "every primary capsule has activation 1")
    assert measure.record == "none"
