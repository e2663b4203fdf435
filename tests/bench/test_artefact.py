"""From an artefact to jobs: who overrides whom."""

import pytest

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.jobs import MeasureSpec

BUDGET = Budget(
    minutes=1,
    seeds=2,
    settings={"epochs": 3, "batch_size": 8, "options": {"iters": 3}},
    rows={"rich": {"batch_size": 16, "options": {"dim": 4}}},
    measures={"accuracy": {"count": 10}},
    cut=frozenset({"large"}),
)
ARTEFACT = Artefact(
    id="peer2021/table1",
    title="Everything at odds",
    kind="table",
    rows=(
        Row(
            "rich",
            "Rich",
            {"lr": 0.02, "epochs": 5, "batch_size": 7, "options": {"routing": "em", "iters": 2}},
            others=({"lr": 0.03, "epochs": 6, "options": {"bias": False}, "data_options": {"count": 90}},),
        ),
        Row("own", "With measures of its own", measures=(MeasureSpec("parameters", {"share": True}),)),
        Row("untrained", "Nothing is trained", None),
        Row("large", "Cut"),
    ),
    settings={
        "model": "peer2021/sign",
        "data": "sign",
        "lr": 0.01,
        "epochs": 9,
        "validation": 0.0,
        "options": {"bias": True, "iters": 1},
        "data_options": {"seed": 4},
    },
    measures=(MeasureSpec("accuracy", {"on": "x", "count": 100}), MeasureSpec("onset")),
    budgets={"cpu": BUDGET},
    claims={},
    version=3,
    first_seed=5,
)


@pytest.fixture(scope="module")
def jobs():
    return {(job.row, job.seed): job for job in ARTEFACT.judgings("cpu")}


def chosen(settings):
    return {name: getattr(settings, name) for name in ("lr", "epochs", "batch_size", "options", "data_options", "seed")}


def test_the_scale_decides_rows_and_seeds(jobs):
    assert list(jobs) == [(row, seed) for row in ("rich", "own", "untrained") for seed in (5, 6)]
    more = ARTEFACT.judgings("cpu", seeds=3)
    assert [job.seed for job in more] == [5, 6, 7] * 3
    assert {(job.artefact, job.version) for job in more} == {("peer2021/table1", 3)}


def test_a_row_overrides_its_artefact_and_a_scale_both(jobs):
    assert chosen(jobs["rich", 6].training.settings) == {
        "lr": 0.02,
        "epochs": 3,
        "batch_size": 16,
        "options": {"bias": True, "iters": 3, "routing": "em", "dim": 4},
        "data_options": {"seed": 4},
        "seed": 6,
    }
    assert chosen(jobs["own", 5].training.settings) == {
        "lr": 0.01,
        "epochs": 3,
        "batch_size": 8,
        "options": {"bias": True, "iters": 3},
        "data_options": {"seed": 4},
        "seed": 5,
    }


def test_other_trainings_are_of_the_scale_too(jobs):
    [other] = jobs["rich", 6].others
    assert chosen(other.settings) == {
        "lr": 0.03,
        "epochs": 3,
        "batch_size": 8,
        "options": {"bias": False, "iters": 3},
        "data_options": {"seed": 4, "count": 90},
        "seed": 6,
    }
    assert jobs["rich", 6].trainings == (jobs["rich", 6].training, other)
    assert jobs["own", 5].others == ()


def test_measures_are_the_rows_or_the_artefacts_with_options_of_the_scale(jobs):
    assert jobs["rich", 5].measures == (("accuracy", {"on": "x", "count": 10}), ("onset", {}))
    assert jobs["own", 5].measures == (("parameters", {"share": True}),)


def test_where_nothing_is_trained_there_is_no_training(jobs):
    assert jobs["untrained", 5].trainings == ()
    assert jobs["untrained", 5].measures == jobs["rich", 5].measures
