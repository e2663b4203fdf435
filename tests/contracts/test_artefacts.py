"""What every artefact of the bench must satisfy."""

import inspect
from pathlib import Path

import pytest

from torchcaps.bench import papers
from torchcaps.bench.artefact import SCALES
from torchcaps.bench.claims import Counted, Shown, Statement, Together
from torchcaps.bench.evidence import At
from torchcaps.bench.frozen import frozen
from torchcaps.bench.judges import JUDGES
from torchcaps.bench.papers import artefacts
from torchcaps.bench.papers._routings import ROUTINGS
from torchcaps.bench.sample import all_places
from torchcaps.routing import ROUTINGS as LIVE

ARTEFACTS = artefacts()
every_artefact = pytest.mark.parametrize("name", list(ARTEFACTS))
every_scale = pytest.mark.parametrize(
    ("name", "scale"), [(name, scale) for name, one in ARTEFACTS.items() for scale in SCALES if scale in one.budgets]
)


def rows_of(claim):
    match claim:
        case Together():
            return {row for member in claim.members for row in rows_of(member)}
        case Shown():
            return set(claim.rows)
        case Counted():
            return {place.row for place in (claim.a, claim.value) if isinstance(place, At)}
        case Statement():
            controls = {row for control in claim.controls for row in rows_of(control)}
            return {place.row for place in all_places(claim)} | controls


@every_artefact
def test_claims_are_those_of_the_frozen_list(name):
    assert set(ARTEFACTS[name].claims) == set(frozen()[name])


@every_artefact
def test_claims_tables_and_budgets_speak_of_rows_that_are_there(name):
    artefact = ARTEFACTS[name]
    rows = {row.id for row in artefact.rows}
    assert len(rows) == len(artefact.rows)
    for claim in artefact.claims.values():
        assert rows_of(claim) <= rows
    for budget in artefact.budgets.values():
        assert budget.cut <= rows
        assert set(budget.rows) <= rows
    cells = [cell for table in artefact.tables for _, line in table.lines for cell in line if cell is not None]
    assert all(cell.at.row in rows or cell.printed is not None for cell in cells)
    assert all(len(line) == len(table.columns) for table in artefact.tables for _, line in table.lines)
    assert artefact.tables or artefact.pictures


@every_scale
def test_jobs_can_be_made_and_measured_at_every_scale(name, scale):
    judgings = ARTEFACTS[name].judgings(scale)
    assert len({job.name for job in judgings}) == len(judgings)
    for job in judgings:
        assert job.measures
        for measure in job.measures:
            inspect.signature(JUDGES[measure.name]).bind(None, **measure.options)


@every_artefact
def test_budgets_say_what_they_cut(name):
    budgets = ARTEFACTS[name].budgets
    assert "smoke" in budgets
    assert list(budgets) == [scale for scale in SCALES if scale in budgets]
    assert budgets["smoke"].cuts or budgets["smoke"].minutes < 0.2
    if "cpu" not in budgets:
        return
    most = 120 if name == "cross/table" else 90
    assert budgets["cpu"].minutes <= most, "45 minutes on two cores; 60 for the cross table"
    cpu = [job.training for job in ARTEFACTS[name].judgings("cpu") if job.training is not None]
    assert not any(training.settings.data == "glyphs" for training in cpu), "cpu is on real data"
    assert not cpu or budgets["cpu"].seeds >= 3
    assert all("width" not in training.settings.options for training in cpu), "width narrows hidden capsules too"


@every_artefact
def test_files_are_short_and_say_how_to_run_them(name):
    artefact = ARTEFACTS[name]
    path = Path(papers.__file__).parent / f"{name}.py"
    assert 30 <= len(path.read_text().splitlines()) <= 170
    usual = next(scale for scale in ("cpu", "trained", "paper") if scale in artefact.budgets)
    assert f"torchcaps bench run {name} --scale {usual}" in artefact.about
    assert "Cost" in artefact.about
    assert "Expected" in artefact.about


@every_scale
def test_no_two_rows_are_the_same_work(name, scale):
    jobs = ARTEFACTS[name].judgings(scale, seeds=1)
    work = [(job.training and job.training.name, [t.name for t in job.others], repr(job.measures)) for job in jobs]
    assert len({repr(each) for each in work}) == len(work)


@every_artefact
def test_times_are_taken_alone(name):
    timed = {"step_time", "growth", "cost", "iterations"}
    for row in ARTEFACTS[name].rows:
        own = ARTEFACTS[name].measures if row.measures is None else row.measures
        assert row.alone == bool(timed & {measure.name for measure in own}), row.id


@every_artefact
def test_a_scale_sets_options_of_measures_that_are_taken(name):
    artefact = ARTEFACTS[name]
    taken = {m.name for row in artefact.rows for m in (artefact.measures if row.measures is None else row.measures)}
    for budget in artefact.budgets.values():
        asked = set(budget.measures) - {"accuracy"}  # which some networks share besides
        assert asked <= taken


def test_every_routing_of_the_library_is_asked():
    own = [name for name, factory in LIVE.items() if getattr(factory, "__module__", "").startswith("torchcaps.routing")]
    assert list(ROUTINGS) == own
    assert {f"{name}_bias" for name in ROUTINGS} <= {row.id for row in ARTEFACTS["peer2021/theorems"].rows}
    assert {f"{name}_cost" for name in ROUTINGS} <= {row.id for row in ARTEFACTS["cross/table"].rows}


def test_artefacts_come_in_the_order_of_the_frozen_list():
    assert list(ARTEFACTS) == list(frozen())
    assert {name.split("/")[0] for name in ARTEFACTS} == {
        "gu2021", "chen2019", "mitterreiter2023", "peer2021", "tsai2020", "cross"
    }  # fmt: skip
