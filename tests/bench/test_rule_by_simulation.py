"""How often the rule decides wrongly, over all its looks together: 5 % at most by its levels, 6 % in simulations.

Simulated is what the rule sees of made-up networks: the mean over so many seeds, the variance over seeds and that over
images. Each grid goes from seeds alone to images alone, and every claim is tried where it is just not true.
"""

import numpy as np
import pytest

from tests.bench.made_up import results, shares
from torchcaps.bench import proof
from torchcaps.bench.claims import above, alike, below, greater
from torchcaps.bench.sample import estimate
from torchcaps.bench.verdict import LOOKS, judge

MOST = 0.06
IMAGES = 1000
RATIOS = (0.0, 0.1, 1.0, 3.0, 10.0, 30.0, 1000.0)
"""The variance that five seeds leave in the mean, over that which the images leave."""
MARGIN, SMALLEST = 20.0, 20.0  # in standard errors of the images: far enough to tell one edge from the other

pytestmark = pytest.mark.usefixtures("no_shape_checks")


def normal(rng, shape, ratio):
    """Numbers of twenty seeds around 0, the error that the choice of images adds to their mean, and its variance."""
    values = np.sqrt(5 * ratio) * rng.standard_normal((*shape, LOOKS[-1].seeds))
    return values, rng.standard_normal(shape), rng.chisquare(IMAGES - 1, shape) / (IMAGES - 1)


def looks(draws, true):
    """What each look sees of a number that is truly so large."""
    values, shift, images_part = draws
    for look in LOOKS:
        seen = values[..., : look.seeds]
        found = estimate(
            seen.mean(-1) + shift + true,
            seen.var(-1, ddof=1) / look.seeds,
            images_part,
            seeds=look.seeds,
            units=IMAGES,
        )
        yield look, found


def decided(claim, draws, true):
    """In which repetitions the first look that decides calls the claim reproduced, and in which refuted."""
    words = np.zeros(draws[1].shape, dtype=int)
    for look, found in looks(draws, true):
        now = np.where(proof.shown(claim, found) < look.level, 1, 0) - (proof.refuted(claim, found) < look.level)
        words = np.where(words == 0, now, words)
    return (words == 1).mean(), (words == -1).mean()


EDGES = {
    "greater, in truth equal": (greater("a", "b", "x"), 0.0, 0),
    "greater by δ, in truth equal": (greater("a", "b", "x", smallest=SMALLEST), 0.0, 0),
    "greater by δ, in truth by δ": (greater("a", "b", "x", smallest=SMALLEST), SMALLEST, 1),
    "above a value, in truth at it": (above("a", 7.0, "x"), 7.0, 0),
    "below a value by δ, in truth by δ": (below("a", 7.0, "x", smallest=SMALLEST), 7.0 - SMALLEST, 1),
    "alike, in truth a margin apart": (alike("a", "b", "x", margin=MARGIN), MARGIN, 0),
    "alike, in truth a margin below": (alike("a", "b", "x", margin=MARGIN), -MARGIN, 0),
    "refuted alike, in truth at the margin": (alike("a", "b", "x", margin=MARGIN), MARGIN, 1),
}


@pytest.mark.parametrize("edge", EDGES)
def test_at_every_edge_it_decides_wrongly_in_six_of_a_hundred_at_most(edge):
    claim, true, wrong = EDGES[edge]
    rng = np.random.default_rng(len(edge))
    rates = [decided(claim, normal(rng, (8000,), ratio), true)[wrong] for ratio in RATIOS]
    assert max(rates) <= MOST, rates
    assert max(rates) > 0.005 or "δ, in truth equal" in edge  # it is an edge: some are wrong


def test_far_from_an_edge_it_decides_and_rightly():
    rng = np.random.default_rng(0)
    for ratio in (0.0, 1.0):
        assert decided(greater("a", "b", "x"), normal(rng, (2000,), ratio), 12.0)[0] > 0.99
        assert decided(greater("a", "b", "x", smallest=SMALLEST), normal(rng, (2000,), ratio), 0.0)[1] > 0.99


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("ratio", RATIOS)
def test_of_24_true_parts_none_is_refuted(ratio, shared):
    """All parts lie at the edge of refutation; the share of a row that all have in common makes them alike."""
    rng, parts, wrong = np.random.default_rng(24), 24, np.zeros(1500, dtype=bool)
    own, common = normal(rng, (1500, parts), ratio), normal(rng, (1500, 1), ratio)
    draws = tuple(np.sqrt(1 - shared) * x + np.sqrt(shared) * y for x, y in zip(own[:2], common[:2], strict=True))
    for look, found in looks((*draws, own[2]), 0.0):
        p = proof.refuted(greater("a", "b", "x"), found)
        wrong |= (np.sort(p, axis=-1)[:, 0] * parts) < look.level
    assert wrong.mean() <= MOST


def test_holm_refutes_as_soon_as_the_smallest_is_below_its_share():
    rng = np.random.default_rng(3)
    for p in rng.random((200, 24)) ** 4:
        assert (min(p) < proof.holm(list(p), 0.02)) == (min(p) * 24 < 0.02)


def two_ways(rng, shape, often):
    """Accuracies of twenty seeds that start to learn so often, and otherwise stay at chance."""
    start = rng.random((*shape, LOOKS[-1].seeds)) < often
    return np.where(start, 0.9, 0.1) + 0.01 * rng.standard_normal(start.shape)


@pytest.mark.parametrize("often", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_rows_whose_seeds_start_to_learn_equally_often_are_not_told_apart(often):
    rng = np.random.default_rng(int(10 * often))
    values = two_ways(rng, (8000,), often) - two_ways(rng, (8000,), often)
    images = np.full(8000, 4e-4)
    draws = values, np.sqrt(images) * rng.standard_normal(8000), images
    assert max(decided(greater("a", "b", "x"), draws, 0.0)) <= MOST
    assert decided(alike("a", "b", "x", margin=0.02), draws, 0.02)[0] <= MOST


@pytest.mark.parametrize("often", [0.3, 0.5])
def test_rows_that_start_in_half_of_the_seeds_are_seldom_called_more_than_their_mean(often):
    rng, images = np.random.default_rng(5), np.full(8000, 1e-4)
    draws = two_ways(rng, (8000,), often), np.sqrt(images) * rng.standard_normal(8000), images
    assert decided(above("a", 0.1 + 0.8 * often, "x"), draws, 0.0)[0] <= MOST


def test_a_failure_that_is_rarer_than_the_seeds_is_not_seen():
    """The limit that the rule's head names: of rows that fail in a tenth of the seeds most first looks see none."""
    rng, images = np.random.default_rng(9), np.full(8000, 1e-4)
    draws = two_ways(rng, (8000,), 0.9), np.zeros(8000), images
    wrong = decided(above("a", 0.1 + 0.8 * 0.9, "x"), draws, 0.0)[0]
    assert wrong == pytest.approx(0.9**5, abs=0.03)


@pytest.mark.parametrize("spread", [0.0, 0.01, 0.04])
def test_judged_on_outcomes_image_by_image_a_true_null_is_seldom_decided(spread):
    rng, repetitions = np.random.default_rng(20), 250
    claim, wrong = greater("a", "b", "accuracy"), 0
    for _ in range(repetitions):
        rows = {row: shares(rng, [0.8] * 12, images=200, spread=spread) for row in "ab"}
        wrong += judge(claim, results(rows)).word == "reproduced"
    assert wrong <= MOST * repetitions
