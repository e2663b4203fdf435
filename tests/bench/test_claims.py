"""Every kind of claim, on numbers that settle it."""

import numpy as np
import pytest

from tests.bench.made_up import merged, results
from torchcaps.bench.claims import (
    Shown,
    above,
    alike,
    at_chance,
    at_least,
    below,
    counted,
    every,
    falls,
    flat,
    greater,
    near,
    not_rising,
    ordered,
    peak,
    rises,
    some,
    steadier,
    trains,
)
from torchcaps.bench.evidence import At, Evidence, Number
from torchcaps.bench.verdict import judge

YES, NO, BARRED = "reproduced", "refuted", "not comparable"
ROWS = ["a", "b", "c"]


def found(*values):
    """Rows a, b, c … with these numbers, give or take a ten-thousandth from seed to seed."""
    return results(
        {row: [v - 1e-4, v - 5e-5, v, v + 5e-5, v + 1e-4] for row, v in zip("abcd", values, strict=False)}, on="x"
    )


@pytest.mark.parametrize(
    ("claim", "values", "word"),
    [
        (greater("a", "b", "x"), (0.6, 0.5), YES),
        (greater("a", "b", "x"), (0.5, 0.6), NO),
        (at_least("a", "b", "x", margin=0.01), (0.495, 0.5), YES),
        (at_least("a", "b", "x", margin=0.01), (0.6, 0.5), YES),
        (at_least("a", "b", "x", margin=0.01), (0.48, 0.5), NO),
        (alike("a", "b", "x", margin=0.01), (0.495, 0.5), YES),
        (alike("a", "b", "x", margin=0.01), (0.52, 0.5), NO),
        (alike("a", "b", "x", margin=0.01), (0.48, 0.5), NO),
        (above("a", 0.5, "x"), (0.51,), YES),
        (above("a", 0.5, "x"), (0.49,), NO),
        (below("a", 0.5, "x"), (0.49,), YES),
        (below("a", 0.5, "x"), (0.51,), NO),
        (near("a", 0.5, "x", margin=0.02), (0.51,), YES),
        (near("a", 0.5, "x", margin=0.02), (0.47,), NO),
        (near("a", 0.5, "x", margin=0.02), (0.53,), NO),
        (rises(ROWS, "x"), (0.1, 0.2, 0.3), YES),
        (rises(ROWS, "x"), (0.3, 0.2, 0.1), NO),
        (falls(ROWS, "x"), (0.3, 0.2, 0.1), YES),
        (falls(ROWS, "x"), (0.1, 0.2, 0.3), NO),
        (flat(ROWS, "x", margin=0.01), (0.1, 0.105, 0.11), YES),
        (flat(ROWS, "x", margin=0.01), (0.1, 0.12, 0.14), NO),
        (flat(ROWS, "x", margin=0.01), (0.14, 0.12, 0.1), NO),
        (not_rising(ROWS, "x", margin=0.005), (0.1, 0.103, 0.106), YES),
        (not_rising(ROWS, "x", margin=0.005), (0.3, 0.2, 0.1), YES),
        (not_rising(ROWS, "x", margin=0.005), (0.1, 0.11, 0.12), NO),
        (peak("b", ["a", "c"], "x"), (0.1, 0.3, 0.2), YES),
        (peak("b", ["a", "c"], "x"), (0.1, 0.2, 0.3), NO),
        (ordered(ROWS, "x"), (0.3, 0.2, 0.1), YES),
        (ordered(ROWS, "x"), (0.3, 0.1, 0.2), NO),
        (every(above("a", 0.5, "x"), above("b", 0.5, "x")), (0.6, 0.4), NO),
        (some(above("a", 0.5, "x"), above("b", 0.5, "x")), (0.6, 0.4), YES),
        (trains("a", "x"), (0.6,), YES),
        (trains("a", "x"), (0.3,), NO),
        (at_chance("a", "x"), (0.15,), YES),
        (at_chance("a", "x"), (0.25,), NO),
        (at_chance("a", "x", answers=2), (0.54,), YES),
        (at_chance("a", "x", answers=2), (0.56,), NO),
        (greater([At("a", "x"), At("b", "x")], [At("c", "x"), At("d", "x")]), (0.1, 0.5, 0.2, 0.3), YES),
        (near([At("a", "x"), At("b", "x")], 0.3, margin=0.01), (0.2, 0.4), YES),
        (counted(At("a", "x"), ">=", At("b", "x")), (0.2, 0.1), YES),
        (counted(At("a", "x"), "<=", At("b", "x")), (0.2, 0.1), NO),
    ],
)
def test_each_kind(claim, values, word):
    assert judge(claim, found(*values)).word == word


@pytest.mark.parametrize(("began", "word"), [(0.5, YES), (0.7, BARRED), (1.0, BARRED)])
def test_controls_must_have_begun_to_learn_by_half_of_the_steps(began, word):
    at = merged(found(0.15), results({"twin": [0.2] * 5, "other": [0.1, 0.3, 0.2, 0.1, began]}, on="onset"))
    assert judge(at_chance("a", "x", started=["twin", "other"]), at).word == word


def test_a_claim_below_a_value_keeps_its_controls():
    claim = below("a", 0.5, "x", controls=[above("b", 0.9, "x")])
    assert judge(claim, found(0.2, 0.95)).word == YES
    assert judge(claim, found(0.2, 0.85)).word == BARRED


def test_steadier_is_about_the_first():
    at = results({"calm": [0.80, 0.81, 0.79], "wild": [0.9, 0.5, 0.7]}, on="x")
    calm, wild = [At("calm", "x")], [At("wild", "x")]
    assert judge(steadier(calm, wild), at).estimate == pytest.approx((0.4 - 0.02) / 3)
    assert judge(steadier(wild, calm), at).estimate == pytest.approx((0.02 - 0.4) / 3)


def test_a_picture_is_shown_if_all_its_rows_are_there():
    assert judge(Shown(("a", "b")), found(0.1, 0.2)).word == "shown"
    assert judge(Shown(("a", "c")), found(0.1, 0.2)).word == "not run"
    assert judge(Shown(("a",)), found(0.1)).word == "shown"
    assert judge(Shown(("a",)), Evidence({})).word == "not run"


def test_a_share_knows_its_images_and_among_how_many_answers_it_was():
    one = Number.share(np.array([True, False, True, True]), 45)
    assert (one.value, one.images.tolist(), one.answers) == (0.75, [True, False, True, True], 45)


def test_places_are_told_by_row_and_number():
    assert str(At("capsnet", "affine")) == "capsnet (affine)"
    assert counted(At("a", "parameters"), "<=", 1000).told == "a (parameters) <= 1,000"
    assert greater([At("a", "x"), At("b", "x")], "c", "y").told == "mean of a (x), b (x) > c (y)"


def test_rows_are_compared_over_the_seeds_that_both_have():
    one, other = results({"a": [0.9, 0.7, 0.8], "b": [0.4, 0.5]}, on="x").numbers.values()
    shifted = {seed + 1: number for seed, number in other.items()} | {3: next(iter(one.values()))}
    at = Evidence({At("a", "x"): one, At("b", "x"): shifted})
    verdict = judge(greater("a", "b", "x"), at)
    assert at.seeds([At("a", "x"), At("b", "x")]) == [1, 2]
    assert (verdict.seeds, verdict.estimate) == (2, pytest.approx(0.75 - 0.45))
    assert at.seeds([At("a", "x"), At("c", "x")]) == []
