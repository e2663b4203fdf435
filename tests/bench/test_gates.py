"""What rows must have learned before they are compared."""

import pytest

from tests.bench.made_up import merged, results
from torchcaps.bench.claims import At, counted, every, gated, greater, some
from torchcaps.bench.evidence import Evidence
from torchcaps.bench.gates import is_flat, is_trained, reached
from torchcaps.bench.verdict import judge

WON = results({"a": [0.9, 0.91, 0.9, 0.92, 0.9], "b": [0.5] * 5, "c": [0.95] * 5}, on="x")
A_WINS, C_LOSES = greater("a", "b", "x"), greater("b", "c", "x")


def learned(**rows):
    return merged(WON, results(rows, on="validation"))


def word(claim, evidence):
    return judge(claim, evidence).word


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.98] * 5, "reproduced"),
        ([0.98, 0.9785] * 2 + [0.9785], "reproduced"),  # its mean counts, and the tolerance
        ([0.98] * 4 + [0.97], "not comparable"),
    ],
)
def test_each_row_must_have_reached_the_accuracy_in_the_mean(values, expected):
    claim = gated(A_WINS, *reached(["a", "b"], 0.98))
    verdict = judge(claim, learned(a=[0.99] * 5, b=values))
    assert verdict.word == expected
    assert (f"b reached 0.98 (validation): found {sum(values) / 5:.4g}" in verdict.reason) == (
        expected == "not comparable"
    )


def test_what_was_not_measured_is_not_passed():
    verdict = judge(gated(A_WINS, *reached(["a", "b"], 0.98)), learned(a=[0.99] * 5))
    assert (verdict.word, verdict.look) == ("not comparable", 0)
    assert "b (validation) not measured" in verdict.reason
    assert word(gated(A_WINS, is_trained("b", 0.5)), WON) == "not comparable"


def test_a_row_has_learned_so_much():
    assert word(gated(A_WINS, is_trained("a", 0.5)), learned(a=[0.5] * 5)) == "reproduced"
    assert word(gated(A_WINS, is_trained("a", 0.5)), learned(a=[0.49] * 5)) == "not comparable"


@pytest.mark.parametrize(
    ("doubled", "expected"), [(0.982, "reproduced"), (0.97, "reproduced"), (0.984, "not comparable")]
)
def test_a_row_is_flat_by_all_seeds_of_its_pilots(doubled, expected):
    rows = results({"a_once": [0.97, 0.99], "a_doubled": [doubled - 0.02, doubled + 0.02]}, on="validation")
    pilots = {at: dict(zip((1000, 1001), found.values(), strict=True)) for at, found in rows.numbers.items()}
    own = {"a_once": (1000, 1001), "a_doubled": (1000, 1001)}
    claim = gated(A_WINS, is_flat("a_once", "a_doubled"))
    assert word(claim, Evidence({**WON.numbers, **pilots}, own=own)) == expected
    half = {at: {1000: found[1000]} for at, found in pilots.items()}
    assert word(claim, Evidence({**WON.numbers, **half}, own=own)) == "not comparable"


def test_a_gate_is_asked_at_the_seeds_of_the_look():
    more = results({"a": [0.9] * 8, "b": [0.89, 0.91] * 4}, on="x")  # undecided at five and at eight
    gate = results({"a": [0.6] * 5 + [0.0] * 3}, on="validation")
    claim = gated(A_WINS, is_trained("a", 0.5))
    assert word(claim, merged(more, gate)) == "not comparable"
    assert word(claim, merged(more, results({"a": [0.6] * 8}, on="validation"))) == "undecided"
    late = results({"a": [0.4] * 5 + [0.9] * 3}, on="validation")
    wins = results({"a": [0.9, 0.91] * 4, "b": [0.5] * 8}, on="x")
    verdict = judge(claim, merged(wins, late))
    assert (verdict.word, verdict.look) == ("reproduced", 8)
    assert judge(claim, merged(wins, gate)).look == 5


def test_before_the_first_look_it_is_told_how_the_gates_stand():
    few = merged(results({"a": [0.9] * 3, "b": [0.5] * 3}, on="x"), results({"a": [0.2] * 3}, on="validation"))
    verdict = judge(gated(A_WINS, is_trained("a", 0.5)), few)
    assert (verdict.word, verdict.needs) == ("undecided", "5 seeds")
    assert "so far not comparable: a gate is not passed: a has at least 0.5 (validation): found 0.2" in verdict.reason


def test_a_gated_row_without_any_result_is_not_run():
    assert word(gated(greater("a", "gone", "x"), is_trained("gone", 0.5)), WON) == "not run"


def test_of_all_refuted_wins_of_one_reproduced_does():
    barred = gated(A_WINS, is_trained("a", 0.5))
    unsure = greater("a", "a2", "x")
    found = merged(WON, results({"a2": [0.7, 1.1, 0.8, 1.0, 0.9]}, on="x"))
    assert word(unsure, found) == "undecided"
    for part, of_all, of_one in (
        (greater("b", "a", "x"), "refuted", "not comparable"),
        (A_WINS, "not comparable", "reproduced"),
        (unsure, "not comparable", "not comparable"),
        (greater("a", "gone", "x"), "not run", "not run"),
    ):
        assert (word(every(barred, part), found), word(some(barred, part), found)) == (of_all, of_one)


def test_gates_stand_before_every_statement_and_nothing_that_is_counted():
    count = counted(At("a", "x"), ">=", 0.1)
    made = gated(every(A_WINS, some(C_LOSES, count)), is_trained("a", 0.5))
    assert [len(made.members[0].gates), len(made.members[1].members[0].gates)] == [1, 1]
    assert made.members[1].members[1] == count
    twice = gated(made, is_trained("b", 0.5))
    assert [gate.told[0] for gate in twice.members[0].gates] == ["a", "b"]
