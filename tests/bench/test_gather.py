"""From lines written by hand to evidence."""

from dataclasses import replace

import pytest

from tests.bench.made_up import line_of, share, training_line
from tests.bench.toy import toy
from torchcaps.bench.artefact import Row
from torchcaps.bench.evidence import At
from torchcaps.bench.gather import gather

HELPED = Row("helped", "Helped", {"options": {"bias": True, "dim": 2}}, others=({"options": {"bias": True}},))
ARTEFACT = replace(toy(), rows=(*toy().rows, HELPED))
JOBS = {(job.row, job.seed): job for job in ARTEFACT.judgings("cpu", 4)}


def gathered(*lines, artefact=ARTEFACT):
    return gather(artefact, "cpu", {line["name"]: line for line in lines})


def test_numbers_come_back_by_row_name_and_seed():
    found = gathered(
        line_of(JOBS["rba", 0], {"accuracy": share(60), "loss": 0.5}),
        line_of(JOBS["rba", 1], {"accuracy": share(70), "loss": None}),
        line_of(JOBS["rba_bias", 1], {"accuracy": share(99)}),
    )
    values = {at: {s: n.value for s, n in numbers.items()} for at, numbers in found.evidence.numbers.items()}
    assert values == {
        At("rba", "accuracy"): {0: 0.6, 1: 0.7},
        At("rba", "loss"): {0: 0.5, 1: None},
        At("rba_bias", "accuracy"): {1: 0.99},
    }
    assert found.evidence[At("rba", "accuracy")][0].answers == 10
    assert found.seeds("rba") == [0, 1]
    assert found.expected == 6
    assert found.failed == ()


def test_only_rows_that_fell_short_of_a_target_missed_it():
    reached = {("rba", 0): True, ("rba", 1): False, ("rba_bias", 0): None, ("rba_bias", 1): True}
    found = gathered(*(line_of(JOBS[at], {"x": 1.0}, reached=one) for at, one in reached.items()))
    assert found.evidence.missed == {"rba": [1]}
    assert gathered(line_of(JOBS["rba", 0], {"x": 1.0})).evidence.missed == {}


def test_seeds_beyond_the_scales_count_too():
    found = gathered(*(line_of(JOBS["rba", seed], {"x": float(seed)}) for seed in (0, 1, 3)))
    assert found.seeds("rba") == [0, 1, 3]
    assert set(found.evidence[At("rba", "x")]) == {0, 1, 3}
    assert found.expected == 6
    moved = replace(ARTEFACT, first_seed=5)
    last = [job for job in moved.judgings("cpu", 4) if job.row == "rba"][-1]
    assert gathered(line_of(last, {"x": 1.0}), artefact=moved).seeds("rba") == [8]


def test_what_is_not_there_says_why():
    lines = [
        line_of(JOBS["rba", 0], state="unavailable"),
        line_of(JOBS["rba_bias", 0], state="failed"),
        line_of(JOBS["helped", 0], {"x": 1.0}),
        line_of(JOBS["helped", 1], state="failed"),
    ]
    found = gathered(*lines)
    assert found.evidence.absent == {"rba": "data unavailable", "rba_bias": "failed: no"}
    assert [(line["row"], line["state"]) for line in found.failed] == [
        ("rba", "unavailable"),
        ("rba_bias", "failed"),
        ("helped", "failed"),
    ]
    assert set(found.lines) == {("helped", 0)}


def test_a_shared_training_costs_once_and_a_history_is_the_rows_own():
    own, helper = JOBS["helped", 0].trainings
    assert helper == JOBS["rba_bias", 0].training
    lines = [line_of(JOBS[row, 0], {"x": 1.0}, seconds=cost) for row, cost in (("helped", 1.5), ("rba_bias", 2.0))]
    trainings = [
        training_line(own, seconds=10.0, history=[{"loss": 0.1}]),
        training_line(helper, seconds=100.0, history=[{"loss": 0.2}]),
        training_line(JOBS["rba", 0].training, seconds=1000.0),
    ]
    found = gathered(*lines, *trainings)
    assert found.seconds == pytest.approx(1.5 + 2 + 10 + 100)
    assert found.histories("helped") == [[{"loss": 0.1}]]
    assert found.histories("rba_bias") == [[{"loss": 0.2}]]


def test_details_are_those_of_a_name_seed_by_seed():
    lines = [line_of(JOBS["rba", seed], {"x": 1.0}, details={"tree": seed, "other": 9}) for seed in (1, 0)]
    found = gathered(*lines, line_of(JOBS["rba_bias", 0], {"x": 1.0}))
    assert found.details("rba", "tree") == [0, 1]
    assert found.details("rba_bias", "tree") == []


def test_a_row_with_seeds_of_its_own_is_judged_at_these_alone():
    pilot = Row("pilot", "Pilot", {"options": {"dim": 3}}, seeds=(1000, 1001))
    artefact = replace(ARTEFACT, rows=(*ARTEFACT.rows, pilot), first_seed=5)
    jobs = {(job.row, job.seed): job for job in artefact.judgings("cpu", 3)}
    assert [seed for row, seed in jobs if row == "pilot"] == [1000, 1001]
    assert [seed for row, seed in jobs if row == "rba"] == [5, 6, 7]
    lines = [line_of(jobs[at], {"x": 1.0}) for at in [("pilot", 1000), ("pilot", 1001), ("rba", 5)]]
    found = gathered(*lines, artefact=artefact)
    assert found.seeds("pilot") == [1000, 1001]
    assert (found.evidence.own, found.evidence.first_seed) == ({"pilot": (1000, 1001)}, 5)
    assert len(found.lines) == 3
    assert found.expected == 2 * 3 + 2
    early = found.evidence.only(range(5))
    assert set(early[At("pilot", "x")]) == {1000, 1001}
    assert not early[At("rba", "x")]
