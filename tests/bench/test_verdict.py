"""The rule on made-up results with known answers."""

import math

import numpy as np
import pytest
from scipy import stats

from tests.bench.made_up import merged, results, shares
from torchcaps.bench.claims import (
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
from torchcaps.bench.verdict import CUT, is_deterministic, judge


def word(claim, evidence):
    return judge(claim, evidence).word


def test_clear_win_and_clear_loss():
    found = results({"a": 0.9, "b": 0.7})
    assert word(greater("a", "b", "accuracy"), found) == "reproduced"
    assert word(greater("b", "a", "accuracy"), found) == "refuted"
    verdict = judge(greater("a", "b", "accuracy"), found)
    low, high = verdict.interval
    assert low < 0.2 < high
    assert (verdict.seeds, verdict.look) == (5, 5)


def test_interval_is_the_written_formula():
    rng = np.random.default_rng(3)
    a, b = shares(rng, [0.8] * 5, images=200), shares(rng, [0.7] * 5, images=200)
    verdict = judge(greater("a", "b", "accuracy"), results({"a": a, "b": b}))
    d = [x.images.mean() - y.images.mean() for x, y in zip(a, b, strict=True)]
    by_image = [np.mean([x.images[i] for x in a]) - np.mean([y.images[i] for y in b]) for i in range(200)]
    v = sum((x - sum(by_image) / 200) ** 2 for x in by_image) / 200
    var = sum((x - sum(d) / 5) ** 2 for x in d) / 4
    seeds_part, images_part = var / 5, max(v, 1 / 200) / 200
    freedom = (2 * seeds_part + images_part) ** 2 / ((2 * seeds_part) ** 2 / 4 + images_part**2 / 199)
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(seeds_part + images_part)
    assert verdict.interval == pytest.approx((sum(d) / 5 - reach, sum(d) / 5 + reach))


def test_equal_outcomes_still_leave_an_image_of_doubt():
    same = [Number.share(np.arange(100) < 80, 10) for _ in range(5)]
    low, high = judge(greater("a", "b", "accuracy"), results({"a": same, "b": same})).interval
    assert high == pytest.approx(stats.t.ppf(0.975, 99) / 100)
    assert low == -high


def test_too_few_seeds():
    for seeds in (1, 4):
        few = judge(greater("a", "b", "accuracy"), results({"a": 0.99, "b": 0.1}, seeds=seeds))
        assert (few.word, few.needs, few.seeds, few.look) == ("undecided", "5 seeds", seeds, 0)
        assert f"{seeds} of the first 5 seeds" in few.reason
    assert few.interval[0] > 0.5
    wide = [0.5, 0.53, 0.56, 0.59, 0.62]
    for factor, needs in ((0.9, "8 seeds"), (1.2, "12 seeds"), (1.7, "20 seeds"), (3.0, "more than 20 seeds")):
        values = [0.56 + factor * (v - 0.56) for v in wide]
        few = judge(above("a", 0.5, "x"), results({"a": values}, on="x"))
        assert (few.word, few.needs) == ("undecided", needs)


def test_ceiling_and_chance_bar_comparisons_only():
    top = results({"a": 0.999, "b": 0.9965}, spread=0.0002, images=10_000)
    assert word(greater("a", "b", "accuracy"), top) == "not comparable"
    assert word(alike("a", "b", "accuracy", margin=0.01), top) == "not comparable"
    assert word(above("a", 0.99, "accuracy"), top) == "reproduced"
    low = results({"a": 0.12, "b": 0.09}, spread=0.0001, images=10_000)
    assert judge(greater("a", "b", "accuracy"), low).reason == "all rows are at chance"
    assert word(greater("a", "b", "accuracy"), results({"a": 0.9, "b": 0.09})) == "reproduced"


def test_chance_of_a_constant_predictor():
    labels = np.random.default_rng(0).integers(0, 10, 1000)
    constant = [Number.share(labels == 1, 10)] * 5
    found = merged(results({"deep": constant}), results({"twin": [0.1] * 5, "shallow": [0.4] * 5}, on="onset"))
    claim = at_chance("deep", started=["twin", "shallow"])
    assert word(claim, found) == "reproduced"
    assert word(claim, merged(results({"deep": 0.6}), found, results({"deep": 0.6}))) == "refuted"


@pytest.mark.parametrize("control", ["twin", "shallow"])
def test_chance_claim_needs_controls_that_started(control):
    onset = {"twin": [0.1] * 5, "shallow": [0.4] * 5, control: [0.1, 0.1, 0.1, 0.1, 1.0]}
    found = merged(results({"deep": 0.1}), results(onset, on="onset"))
    verdict = judge(at_chance("deep", started=["twin", "shallow"]), found)
    assert verdict.word == "not comparable"
    assert control in verdict.reason


def test_a_control_that_the_scale_cuts_is_not_asked_unless_it_is_the_first():
    found = merged(results({"deep": 0.1}), results({"twin": [0.1] * 5}, on="onset"), cut=frozenset({"six"}))
    assert word(at_chance("deep", started=["twin", "six"]), found) == "reproduced"
    assert word(at_chance("deep", started=["six", "twin"]), found) == "not comparable"
    assert word(at_chance("deep", started=["twin", "six"]), merged(found)) == "not comparable"


def test_a_control_that_failed_makes_any_claim_not_comparable():
    found = merged(results({"a": 0.1}, on="attacked"), results({"a": 0.3}, on="noise"))
    claim = below("a", 0.2, "attacked", controls=[above("a", 0.5, "noise")])
    assert word(claim, found) == "not comparable"
    assert word(claim, merged(found, results({"a": 0.9}, on="noise"))) == "reproduced"


def test_rows_short_of_the_target_are_not_compared():
    found = results({"a": 0.9, "b": 0.7})
    short = Evidence(found.numbers, missed={"b": [1]})
    assert word(greater("a", "b", "accuracy"), short) == "not comparable"
    assert word(greater("a", "b", "accuracy"), found) == "reproduced"


def test_conjunction_with_one_refuted_member():
    found = results({"a": 0.9, "b": 0.5, "c": 0.8, "d": 0.3}, spread=0.003)
    verdict = judge(ordered(["a", "b", "c", "d"], "accuracy"), found)
    assert verdict.word == "refuted"
    assert [member.word for member in verdict.members] == ["reproduced", "refuted", "reproduced"]
    assert word(peak("a", ["b", "c", "d"], "accuracy"), found) == "reproduced"


def test_a_member_is_refuted_at_the_stricter_level_only():
    values = {"a": [0.0] * 5, "b": [0.10, 0.16, 0.11, 0.2, 0.14], "c": [-1.0, -1.01, -1.02, -1.03, -1.04]}
    found = results(values, on="x")
    parts = [greater("a", "b", "x"), *[greater("a", "c", "x")] * 19]
    assert word(parts[0], found) == "refuted"
    verdict = judge(every(*parts), found)
    assert verdict.word == "undecided"
    assert verdict.members[0].word == "undecided"


def test_one_of_several():
    found = results({"a": 0.9, "b": 0.8, "c": 0.7})
    good, bad = greater("a", "b", "accuracy"), greater("c", "b", "accuracy")
    assert word(some(bad, good), found) == "reproduced"
    assert word(some(bad, bad), found) == "refuted"
    assert word(every(some(bad, good), good), found) == "reproduced"


def test_equality_inside_and_outside_the_margin():
    found = results({"a": 0.9, "b": 0.895, "c": 0.7}, images=20_000, spread=0.001)
    assert word(alike("a", "b", "accuracy", margin=0.02), found) == "reproduced"
    assert word(alike("a", "c", "accuracy", margin=0.02), found) == "refuted"
    assert word(alike("a", "b", "accuracy", margin=0.005), found) == "undecided"
    assert word(at_least("b", "a", "accuracy", margin=0.02), found) == "reproduced"
    assert word(at_least("c", "a", "accuracy", margin=0.02), found) == "refuted"


def test_alike_is_proved_at_96_percent_and_refuted_at_98():
    values = np.array([-0.01, 0.01, 0.03, -0.02, 0.0])
    found = results({"a": values.tolist(), "b": [0.0] * 5}, on="x")
    error = values.std(ddof=1) / math.sqrt(5)
    reach96, reach98 = (stats.t.ppf(p, 4) * error for p in (0.98, 0.99))
    between = values.mean() + (reach96 + reach98) / 2
    assert word(alike("a", "b", "x", margin=float(between)), found) == "reproduced"
    assert word(alike("a", "b", "x", margin=float(values.mean() + reach96 * 0.99)), found) == "undecided"
    far = results({"a": (values + 1).tolist(), "b": [0.0] * 5}, on="x")
    assert word(alike("a", "b", "x", margin=float(1 + values.mean() - (reach96 + reach98) / 2)), far) == "undecided"
    assert word(alike("a", "b", "x", margin=float(1 + values.mean() - reach98 * 1.01)), far) == "refuted"


def test_trends():
    up = results({"k3": 0.6, "k5": 0.7, "k7": 0.72, "k9": 0.8})
    names = ["k3", "k5", "k7", "k9"]
    assert word(rises(names, "accuracy"), up) == "reproduced"
    assert word(falls(names, "accuracy"), up) == "refuted"
    assert word(not_rising(names, "accuracy", margin=0.005), up) == "refuted"
    assert word(flat(names, "accuracy", margin=0.1), up) == "reproduced"
    slope = judge(rises(names, "accuracy"), up).estimate
    means = [np.mean([n.value for n in up[At(row, "accuracy")].values()]) for row in names]
    assert slope == pytest.approx(np.polyfit(range(4), means, 1)[0])


def test_what_a_scale_cuts_is_left_out_and_said():
    found = results({"k3": 0.6, "k9": 0.8})
    cut = Evidence(found.numbers, cut=frozenset({"k5", "k7"}))
    assert word(rises(["k3", "k5", "k7", "k9"], "accuracy"), cut) == "reproduced"
    verdict = judge(every(greater("k9", "k3", "accuracy"), greater("k9", "k5", "accuracy")), cut)
    assert verdict.word == "reproduced"
    assert verdict.reason == f"of 1 part: 1 reproduced; 1 {CUT}"
    assert judge(greater("k9", "k5", "accuracy"), cut).reason == CUT
    assert word(rises(["k3", "k9", "k11"], "accuracy"), found) == "not run"


def test_of_a_mean_what_is_cut_drops_out():
    values = {"x1": [1.0, 1.1], "x2": [3.0, 3.1], "y1": [0.5, 0.6], "y2": [9.0, 9.1]}
    found = results(values, on="v")
    x, y = ([At(f"{name}{k}", "v") for k in (1, 2)] for name in "xy")
    assert judge(greater(x, y), found).estimate == pytest.approx(2.05 - 4.8)
    cut = Evidence(found.numbers, cut=frozenset({"x2", "y2"}))
    assert judge(greater(x, y), cut).estimate == pytest.approx(0.5)
    assert judge(greater(x, y), Evidence(found.numbers, cut=frozenset({"y1", "y2"}))).reason == CUT


def test_absent_rows_are_not_run_and_say_why():
    found = Evidence(results({"a": 0.9, "b": 0.7}).numbers, absent={"c": "data unavailable"})
    verdict = judge(greater("a", "c", "accuracy"), found)
    assert (verdict.word, verdict.reason) == ("not run", "c: data unavailable")
    assert word(every(greater("a", "c", "accuracy"), greater("b", "a", "accuracy")), found) == "refuted"
    assert word(every(greater("a", "c", "accuracy"), greater("a", "b", "accuracy")), found) == "not run"


def test_counted_numbers_need_no_seeds():
    found = results({"a": [100.0], "b": [400.0]}, on="parameters")
    at = At("a", "parameters")
    assert word(counted(at, "==", 100.0), found) == "reproduced"
    assert word(counted(at, "==", 101.0), found) == "refuted"
    assert word(counted(at, "==", 101.0, tolerance=0.01), found) == "reproduced"
    assert word(counted(At("b", "parameters"), "<=", at), found) == "refuted"
    assert is_deterministic(every(counted(at, ">=", 1.0), counted(at, "<=", 200.0)))
    assert not is_deterministic(every(counted(at, ">=", 1.0), trains("a")))


def test_numbers_that_are_not_defined():
    found = results({"a": [Number(0.1), Number(None), Number(0.2)], "b": [0.1, 0.2, 0.3]}, on="dys")
    assert word(below("a", 2.0, "dys"), found) == "undecided"
    assert word(counted(At("a", "dys"), "<=", 2.0), found) == "refuted"


def test_means_of_places_and_values():
    found = merged(*(results({"x": [float(v)] * 5, "y": [v + 1.0] * 5}, on=f"dyr/{v}") for v in (1, 2)))
    x, y = ([At(row, f"dyr/{v}") for v in (1, 2)] for row in "xy")
    assert judge(greater(y, x), found).estimate == pytest.approx(1)
    assert word(near(x, 1.5, margin=0.1), found) == "reproduced"


def test_steadier_over_seeds():
    found = results({"calm": [0.8, 0.801, 0.799, 0.8, 0.8], "wild": [0.9, 0.7, 0.9, 0.7, 0.8]}, on="x")
    calm, wild = [At("calm", "x")], [At("wild", "x")]
    assert word(steadier(calm, wild), found) == "reproduced"
    assert word(steadier(wild, calm), found) == "refuted"


def test_rows_judged_on_other_images_are_not_compared():
    found = merged(results({"a": 0.9}), results({"b": 0.5}, images=500))
    assert word(greater("a", "b", "accuracy"), found) == "not comparable"


def test_one_of_many_alternatives_must_be_true_beyond_their_number():
    values = {"a": [0.10, 0.16, 0.11, 0.2, 0.14], "b": [0.0] * 5, "c": [1.0, 1.01, 1.02, 1.03, 1.04]}
    found = results(values, on="x")
    true, false = greater("a", "b", "x"), greater("a", "c", "x")
    assert word(some(true, false), results({**values, "a": [0.1, 0.101, 0.1, 0.1, 0.1]}, on="x")) == "reproduced"
    assert word(true, found) == "reproduced"
    assert word(some(true, *[false] * 19), found) == "undecided"


def test_one_row_above_the_ceiling_is_compared():
    found = results({"a": 0.999, "b": 0.9}, images=10_000, spread=0.0002)
    assert word(greater("a", "b", "accuracy"), found) == "reproduced"


def test_a_row_that_may_be_above_chance_is_compared():
    at = np.arange(10_000) % 100
    rows = {
        name: [Number.share(at < share - less, 10) for share in (16, 18, 21, 24, 26)]
        for name, less in (("a", 0), ("b", 2))
    }
    found = results(rows)
    low, high = judge(above("a", 0.0, "accuracy"), found).interval
    assert low < 0.2 < high
    assert word(greater("a", "b", "accuracy"), found) == "reproduced"


def test_far_below_is_not_alike():
    found = results({"a": 0.3, "b": 0.9})
    assert word(alike("a", "b", "accuracy", margin=0.02), found) == "refuted"


def test_counted_numbers_must_agree_in_every_seed():
    found = results({"a": [100.0, 101.0]}, on="parameters")
    assert word(counted(At("a", "parameters"), "==", 100.0), found) == "refuted"
    assert word(counted(At("a", "parameters"), "<=", 101.0), found) == "reproduced"


def test_parts_that_are_not_run_outrank_those_that_are_undecided():
    found = results({"a": [0.1, 0.9, 0.4], "b": [0.2, 0.3, 0.8]}, on="x")
    verdict = judge(every(greater("a", "b", "x"), greater("a", "c", "x")), found)
    assert [member.word for member in verdict.members] == ["undecided", "not run"]
    assert verdict.word == "not run"


CLAIMS = {
    "difference": greater("a", "b", "accuracy"),
    "trend": rises(["a", "b", "c"], "accuracy"),
    "value": above("a", 0.8, "accuracy"),
}


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize(("kind", "seeds"), [("difference", 5), ("trend", 5), ("value", 8)])
def test_a_true_null_is_seldom_decided(kind, seeds):
    rng = np.random.default_rng(seeds)
    draws = ({row: shares(rng, [0.8] * seeds, images=100, spread=0.04) for row in "abc"} for _ in range(2000))
    decided = sum(word(CLAIMS[kind], results(rows)) != "undecided" for rows in draws)
    assert 0 < decided / 2000 <= 0.06


def test_images_of_the_same_source_count_as_one():
    rng = np.random.default_rng(8)
    right = np.repeat(rng.random(50) + rng.normal(0, 0.05, (5, 50)) < 0.7, 4, axis=1)
    alone, grouped = (
        judge(above("a", 0.0, "x"), results({"a": [Number.share(one, 10, k) for one in right]}, on="x")) for k in (1, 4)
    )
    by_unit = right.mean(0).reshape(50, 4).mean(1)
    seeds_part, images_part = right.mean(1).var(ddof=1) / 5, max(by_unit.var(), 1 / 50) / 50
    freedom = (2 * seeds_part + images_part) ** 2 / ((2 * seeds_part) ** 2 / 4 + images_part**2 / 49)
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(seeds_part + images_part)
    assert grouped.interval[1] - grouped.estimate == pytest.approx(reach)
    assert alone.interval[1] - alone.estimate < 0.8 * reach
    mixed = {"a": [Number.share(one, 10, 4) for one in right], "b": [Number.share(one, 10) for one in right]}
    assert word(greater("a", "b", "x"), results(mixed, on="x")) == "not comparable"
