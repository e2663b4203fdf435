"""The answer of a comparison, on made-up results with known answers."""

import numpy as np
import pytest
from scipy import stats

from torchcaps.bench.compare.answer import answer, differences
from torchcaps.bench.compare.contest import Contest, Entrant
from torchcaps.bench.evidence import At, Evidence, Number

A, B = (Entrant(name, "sabour2017/capsnet", {"routing": name}) for name in ("dynamic", "em"))
PLAIN = Entrant("ConvNet", "gu2021/convnet_fc", {}, capsules=False)


def contest(seeds=3, entrants=(A, B, PLAIN)):
    return Contest("made up", entrants, {}, {"clean": ""}, seeds)


def evidence(shares, seeds=3, images=2000, spread=0.002):
    rng = np.random.default_rng(0)
    numbers = {}
    for entrant, share in zip((A, B, PLAIN), shares, strict=True):
        draws = {seed: rng.random(images) < share + spread * (seed - 1) for seed in range(seeds)}
        numbers[At(entrant.id, "clean")] = {seed: Number.share(right, 10) for seed, right in draws.items()}
    return Evidence(numbers)


def test_a_clear_order_is_told_as_sure():
    said = " ".join(answer(contest(), evidence((0.9, 0.5, 0.7))))
    assert "Dynamic names " in said
    assert "It is ahead of every other routing, surely (of em by" in said
    assert "It is better than ConvNet, surely" in said


def test_a_better_convnet_is_recommended():
    said = " ".join(answer(contest(), evidence((0.5, 0.7, 0.9))))
    assert said.startswith("Em names ")
    assert "It is worse than ConvNet, surely" in said
    assert "take ConvNet" in said


def test_networks_alike_are_not_told_apart():
    found = evidence((0.8, 0.8, 0.8), spread=0.01)
    said = " ".join(answer(contest(), found))
    assert "is not sure" in said
    assert "surely" not in said
    assert "it would take" in said
    assert not any(one.sure for one in differences(contest(), found))


def test_chance_and_one_seed_make_nothing_sure():
    at_chance = answer(contest(), evidence((0.12, 0.1, 0.05), images=20_000, spread=0.0))
    assert "all rows are at chance" in " ".join(at_chance)
    one = " ".join(answer(contest(seeds=1), evidence((0.9, 0.5, 0.2), seeds=1)))
    assert "With one seed nothing is sure" in one
    assert "surely" not in one


@pytest.mark.parametrize("entrants", [(A, B), (A, PLAIN)])
def test_fewer_kinds_of_networks(entrants):
    assert len(answer(contest(entrants=entrants), evidence((0.9, 0.5, 0.3)))) == 2


def exact(values, tests=("clean",), entrants=(A, B, PLAIN)):
    """Shares by test, entrant and seed, of four thousand images."""
    at = np.arange(4000) / 4000
    return Evidence(
        {
            At(entrant.id, test): {seed: Number.share(at < share, 10) for seed, share in enumerate(shares)}
            for test, rows in zip(tests, values, strict=True)
            for entrant, shares in zip(entrants, rows, strict=True)
        }
    )


def test_the_first_test_decides_though_another_disagrees():
    clean = [(0.90, 0.901, 0.902), (0.80, 0.801, 0.802), (0.60, 0.601, 0.602)]
    affine = [(0.30, 0.301, 0.302), (0.60, 0.601, 0.602), (0.70, 0.701, 0.702)]
    two = Contest("made up", (A, B, PLAIN), {}, {"clean": "", "affine": ""}, 3)
    said = answer(two, exact([clean, affine], ("clean", "affine")))
    assert said == [
        "Dynamic names 90.1 % of the clean test images right, the most of the capsule networks.",
        said[1],
        said[2],
    ]
    assert said[1].startswith("It is ahead of every other routing, surely (of em by 10.0 points, ")
    assert said[2].startswith("It is better than ConvNet, surely (by 30.0 points, ")
    turned = Contest("made up", (A, B, PLAIN), {}, {"affine": "", "clean": ""}, 3)
    said = answer(turned, exact([clean, affine], ("clean", "affine")))
    assert said[0].startswith("Em names 60.1 % of the affine")
    assert said[2].startswith("It is worse than ConvNet, surely (by 10.0 points, ")
    assert said[2].endswith(": take ConvNet.")


def test_every_other_routing_is_asked_about():
    third = Entrant("uniform", "sabour2017/capsnet", {})
    values = [(0.9, 0.901, 0.902), (0.8, 0.801, 0.802), (0.2, 0.9, 0.7)]
    said = answer(contest(entrants=(A, B, third)), exact([values], entrants=(A, B, third)))
    assert said[1].startswith("That it is ahead of uniform is not sure (by 30.1 points, ")


def test_differences_are_in_points_with_an_interval_for_all_pairs_at_once():
    values = [(0.9, 0.91, 0.92), (0.8, 0.82, 0.81), (0.7, 0.69, 0.71)]
    first, second, third = differences(contest(), exact([values]))
    assert [(d.better, d.worse) for d in (first, second, third)] == [
        ("dynamic", "em"),
        ("dynamic", "ConvNet"),
        ("em", "ConvNet"),
    ]
    d = np.array([0.10, 0.09, 0.11])
    by_image = sum(
        (np.arange(4000) / 4000 < a) * 1.0 - (np.arange(4000) / 4000 < b) for a, b in zip(*values[:2], strict=True)
    )
    error = np.sqrt(d.var(ddof=1) / 3 + (by_image / 3).var() / 4000)
    reach = stats.t.ppf(1 - 0.05 / 3 / 2, 2) * error
    assert first.points == pytest.approx(10)
    assert first.interval == pytest.approx((100 * (0.1 - reach), 100 * (0.1 + reach)))
    assert first.told == f"10.0 points, {100 * (0.1 - reach):.1f} to {100 * (0.1 + reach):.1f}"


def test_of_four_networks_each_of_six_pairs_is_held_to_a_sixth_of_the_level():
    four = (A, B, PLAIN, Entrant("uniform", "sabour2017/capsnet", {}))
    values = [(0.9, 0.91, 0.92), (0.8, 0.82, 0.81), (0.7, 0.69, 0.71), (0.6, 0.61, 0.6)]
    [alone] = differences(contest(entrants=four[:2]), exact([values[:2]], entrants=four[:2]))
    found = differences(contest(entrants=four), exact([values], entrants=four))
    assert len(found) == 6
    narrow, wide = (high - low for low, high in (alone.interval, found[0].interval))
    assert (found[0].better, found[0].worse) == (alone.better, alone.worse)
    assert wide / narrow == pytest.approx(stats.t.ppf(1 - 0.05 / 6 / 2, 2) / stats.t.ppf(1 - 0.05 / 2, 2))


def test_an_interval_of_points_ends_at_a_hundred():
    [one] = differences(contest(entrants=(A, B)), exact([[(0.99, 0.2, 0.9), (0.0, 0.01, 0.0)]], entrants=(A, B)))
    assert one.interval[1] == 100.0
    assert not one.sure
    assert one.why.startswith("it could be chance; it would take about ")


@pytest.mark.usefixtures("no_shape_checks")
def test_equal_networks_are_rarely_told_apart():
    """Of equal networks, three pairs at once: one contest in twenty calls any better; pair by pair one in eight."""
    rng, wrong, draws = np.random.default_rng(1), 0, 600
    for _ in range(draws):
        numbers = {}
        for entrant in (A, B, PLAIN):
            shares = 0.7 + 0.05 * rng.standard_normal(3)
            right = {seed: rng.random(4000) < share for seed, share in enumerate(shares)}
            numbers[At(entrant.id, "clean")] = {seed: Number.share(one, 10) for seed, one in right.items()}
        wrong += any(one.sure for one in differences(contest(), Evidence(numbers)))
    assert wrong / draws <= 0.06
