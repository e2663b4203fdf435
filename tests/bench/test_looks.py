"""When a claim is looked at, at which level, and which look stands."""

import numpy as np
import pytest
from scipy import stats

from tests.bench.made_up import merged, results
from torchcaps.bench.claims import above, alike, at_chance, below, counted, every, greater, rises, some
from torchcaps.bench.evidence import At, Evidence
from torchcaps.bench.verdict import LOOKS, judge

CLAIM = above("a", 0.0, "x")


def numbers(values, first=0, row="a", **more):
    made = results({row: list(map(float, values))}, on="x")
    return Evidence({at: {s + first: n for s, n in found.items()} for at, found in made.numbers.items()}, **more)


def around(mean, reaches, seeds, level):
    """Numbers whose interval at a level reaches so often the way from their mean to 0."""
    values = np.linspace(-1, 1, seeds)
    reach = stats.t.ppf(1 - level / 2, seeds - 1) * values.std(ddof=1) / np.sqrt(seeds)
    return mean + values * (reaches * abs(mean) / reach)


def test_levels_sum_to_one_in_twenty():
    assert [look.seeds for look in LOOKS] == [5, 8, 12, 20]
    assert sum(look.level for look in LOOKS) == pytest.approx(0.05)


@pytest.mark.parametrize(("seeds", "level"), [(5, 0.02), (8, 0.01), (12, 0.01), (20, 0.01)])
def test_each_look_has_its_level(seeds, level):
    for sign, word in ((1, "reproduced"), (-1, "refuted")):
        for reaches, expected in ((0.99, (word, seeds)), (1.01, ("undecided", 0))):
            values = around(sign * 0.1, reaches, seeds, level)
            # so that no look before decides: seeds in an order in which the first vary as much and are centred on 0
            order = [*range(seeds // 2), *range(seeds - 1, seeds // 2 - 1, -1)] if seeds > 5 else range(seeds)
            mixed = [v for pair in zip(order[: seeds // 2], order[seeds // 2 :], strict=False) for v in pair]
            mixed += [k for k in order if k not in mixed]
            verdict = judge(CLAIM, numbers(values[mixed]))
            assert (verdict.word, verdict.look) == expected


def test_the_first_decision_stands_and_later_seeds_only_change_what_is_shown():
    early = [0.1, 0.11, 0.12, 0.11, 0.1]
    verdict = judge(CLAIM, numbers([*early, -5.0, -6.0, -5.5, -7.0]))
    assert (verdict.word, verdict.look, verdict.seeds) == ("reproduced", 5, 9)
    assert verdict.estimate == pytest.approx(np.mean([*early, -5.0, -6.0, -5.5, -7.0]))
    assert verdict.interval[1] < 0.1
    assert "reproduced at 5 seeds: 98 % interval" in verdict.reason


def test_seeds_between_two_looks_decide_nothing():
    unsure = [0.1, -0.1, 0.3, -0.05, 0.2]
    sure = [0.1, 0.1]
    assert judge(CLAIM, numbers(unsure + sure)).word == "undecided"
    assert judge(CLAIM, numbers([-1.0, 1.0, *[0.1, 0.11] * 8])).look == 0  # seventeen, undecided at twelve


def test_a_look_needs_the_first_seeds_of_every_row():
    values = [0.1, 0.11, 0.12, 0.11, 0.1]
    assert judge(CLAIM, numbers(values, first=3, first_seed=3)).look == 5
    assert judge(CLAIM, numbers(values, first=3)).word == "undecided"
    assert judge(CLAIM, numbers(values, first=1)).reason.endswith("4 of the first 5 seeds")
    two = every(CLAIM, above("b", 0.0, "x"))
    assert judge(two, merged(numbers(values), numbers(values, row="b"))).word == "reproduced"
    waiting = judge(two, merged(numbers(values), numbers(values[:4], row="b")))
    assert (waiting.word, waiting.needs) == ("undecided", "5 seeds")
    assert [member.word for member in waiting.members] == ["undecided", "undecided"]


def test_a_control_must_have_the_seeds_of_the_look_too():
    low = results({"a": [0.1] * 8}, on="accuracy")
    claim = at_chance("a", started=["twin"])
    assert judge(claim, merged(low, results({"twin": [0.1] * 4}, on="onset"))).word == "undecided"
    late = judge(claim, merged(low, results({"twin": [0.1] * 5 + [1.0] * 3}, on="onset")))
    assert (late.word, late.look) == ("reproduced", 5)


def test_what_is_counted_needs_no_look_even_among_others():
    found = merged(numbers([1.0, 1.1]), results({"n": [3.0]}, on="count"))
    wrong, right = counted(At("n", "count"), "==", 4), counted(At("n", "count"), "==", 3)
    assert judge(wrong, found).word == "refuted"
    assert judge(every(CLAIM, wrong), found).word == "refuted"
    assert judge(some(CLAIM, right), found).word == "reproduced"
    assert judge(every(CLAIM, right), found).word == "undecided"


def test_a_smallest_effect_moves_the_line_of_refutation_and_binds_the_estimate():
    values = np.array([-0.002, 0.001, 0.0, 0.002, -0.001])
    for smallest, mean, word in (
        (0.0, 0.01, "reproduced"),
        (0.01, 0.0101, "reproduced"),  # its interval holds 0.01: the estimate need only be there
        (0.0103, 0.01, "undecided"),
        (0.02, 0.01, "refuted"),
        (0.02, 0.001, "refuted"),
    ):
        found = merged(numbers(values + mean), numbers([0.0] * 5, row="b"))
        assert judge(greater("a", "b", "x", smallest=smallest), found).word == word
        moved = numbers(values + mean + 0.5)
        assert judge(above("a", 0.5, "x", smallest=smallest), moved).word == word
        assert judge(below("a", 0.5, "x", smallest=smallest), numbers(0.5 - values - mean)).word == word
    assert judge(rises(["b", "a"], "x", smallest=0.02), found).word == "refuted"


def test_holm_steps_down_through_the_parts():
    def p_of(p):
        return stats.t.ppf(1 - p / 2, 4) * 0.01 / np.sqrt(5)

    spread = np.array([-1, -0.5, 0, 0.5, 1]) * 0.01 / np.std([-1, -0.5, 0, 0.5, 1], ddof=1)
    p = {"a": 0.006, "b": 0.009, "c": 0.015, "d": 0.5}  # held to 0.005, 0.0067, 0.01, 0.02
    rows = lambda p: merged(*(numbers(spread - p_of(of), row=row) for row, of in p.items()))  # noqa: E731
    claim = every(*(above(row, 0.0, "x") for row in p))
    assert judge(claim, rows(p)).word == "undecided"
    stepping = judge(claim, rows({**p, "a": 0.004, "b": 0.006}))
    assert [member.word for member in stepping.members] == ["refuted", "refuted", "undecided", "undecided"]
    all_but_one = judge(claim, rows({"a": 0.004, "b": 0.006, "c": 0.009, "d": 0.019}))
    assert {member.word for member in all_but_one.members} == {"refuted"}
    mirrored = some(*(below(row, 0.0, "x") for row in p))
    assert judge(mirrored, rows(p)).word == "undecided"
    assert judge(mirrored, rows({**p, "a": 0.004})).word == "reproduced"


def test_an_undecided_conjunction_needs_what_its_slowest_part_needs():
    sure, slow, never = ([0.1 + f * v for v in (-1, -0.5, 0, 0.5, 1)] for f in (0.01, 0.09, 0.9))
    found = merged(*(numbers(of, row=row) for row, of in (("a", sure), ("b", slow), ("c", never))))
    parts = [above(row, 0.0, "x") for row in "abc"]
    assert judge(parts[1], found).needs == "8 seeds"
    assert judge(every(*parts[:2]), found).needs == "8 seeds"
    assert judge(every(*parts), found).needs == "more than 20 seeds"


def test_where_images_stand_in_the_way_more_of_them_are_asked_for():
    found = results({"a": 0.8, "b": 0.799}, images=500, spread=0.0)
    assert judge(alike("a", "b", "accuracy", margin=0.02), found).needs == "more than 20 seeds, and more test images"
