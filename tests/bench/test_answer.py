"""The answer of a comparison, on made-up results with known answers."""

import numpy as np
import pytest

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
