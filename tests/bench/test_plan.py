"""The plan of a run, what is said of it, and in which order units are handed out; nothing is trained."""

import io
from dataclasses import replace

import pytest

from tests.bench.made_up import keep, line_of, training_line
from tests.bench.toy import place, toy
from torchcaps._console import Console
from torchcaps.bench import progress as progressing
from torchcaps.bench.artefact import Budget, Row
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.plan import Plan, Unit, plan
from torchcaps.bench.progress import Progress
from torchcaps.bench.runner import describe, run
from torchcaps.bench.spans import span

JOBS = toy().judgings("cpu")
ROWS = toy().rows
LONG = Unit("long", (JOBS[0], JOBS[1]), 80.0, 500)
SHORT = Unit("short", (JOBS[2],), 20.0, 300)
QUIET = Unit("quiet", (JOBS[3],), 30.0, 900, alone=True)


def of(*rows, minutes=2, megabytes=800, name="peer2021/table1", seeds=2):
    budget = Budget(minutes=minutes, seeds=seeds, settings={"images": 300, "epochs": 1}, megabytes=megabytes)
    return replace(toy(name=name), rows=rows, budgets={"smoke": budget, "cpu": budget})


def alone(row):
    return replace(row, alone=True)


def test_expected_time_is_bounded_by_the_longest_unit():
    todo = Plan((LONG, SHORT, QUIET), 0)
    assert todo.seconds(1) == pytest.approx(100 + 30)
    assert todo.seconds(2) == pytest.approx(80 + 30)
    assert Plan((SHORT, SHORT, SHORT), 0).seconds(2) == pytest.approx(30)
    assert Plan((), 0).seconds(2) == 0


def test_expected_memory_is_that_of_the_largest_side_by_side():
    todo = Plan((LONG, SHORT, QUIET), 0)
    assert [todo.megabytes(workers) for workers in (1, 2, 9)] == [900, 1400, 1700]


def test_a_plan_is_described():
    assert describe(Plan((LONG, SHORT, QUIET), 7), 2).splitlines() == [
        "4 judgings to do, 7 finished; 4 trainings between them",
        "about 2 min with 2 processes, 1,400 MB of memory",
        "1 of them run alone: they measure time",
    ]


def test_minutes_of_a_scale_are_shared_by_all_its_jobs(tmp_path):
    units = plan([of(*ROWS)], "cpu", place(tmp_path)).units
    assert [unit.seconds for unit in units] == [pytest.approx(30)] * 4


def test_what_failed_is_not_finished(tmp_path):
    states = ("done", "failed", "unavailable")
    where = place(tmp_path)
    jobs = of(*ROWS).judgings("cpu")
    keep(where.results, [line_of(job, state=state) for job, state in zip(jobs, states, strict=False)])
    todo = plan([of(*ROWS)], "cpu", where)
    assert todo.finished == 1
    assert todo.jobs == jobs[1:]


def test_times_of_other_seeds_serve_for_a_forecast(tmp_path):
    where = place(tmp_path)
    first, second, *_ = of(*ROWS).judgings("cpu")
    lines = [training_line(first.training, seconds=7.0), training_line(second.training, state="failed")]
    keep(where.results, [*lines, line_of(first)])
    by_title = {unit.title: unit.seconds for unit in plan([of(*ROWS)], "cpu", where).units}
    assert by_title["peer2021/table1 rba, seed 1"] == pytest.approx(7)
    assert by_title["peer2021/table1 rba_bias, seed 0"] == pytest.approx(30)


def test_rows_that_must_be_alone_are_units_of_their_own_at_the_end(tmp_path):
    artefact = of(alone(ROWS[0]), ROWS[1])
    for scale, quiet in (("smoke", 1), ("cpu", 2)):
        units = plan([artefact], scale, place(tmp_path, scale)).units
        assert [unit.alone for unit in units] == [False] * quiet + [True] * quiet
        assert {job.row for unit in units if unit.alone for job in unit.jobs} == {"rba"}
        assert {job.row for unit in units if not unit.alone for job in unit.jobs} == {"rba_bias"}


def test_a_row_that_must_be_alone_stays_so_though_another_has_the_same_training(tmp_path):
    timed = replace(ROWS[0], id="timed", alone=True, measures=(MeasureSpec("iterations"),))
    units = plan([of(*ROWS, timed, seeds=1)], "cpu", place(tmp_path)).units
    assert [(unit.alone, [job.row for job in unit.jobs]) for unit in units] == [
        (False, ["rba"]),
        (False, ["rba_bias"]),
        (True, ["timed"]),
    ]


def test_artefacts_that_share_a_training_share_a_unit_that_is_large_enough_for_all(tmp_path):
    one, other = (of(*ROWS, megabytes=size, name=f"peer2021/table{k}", seeds=1) for k, size in ((1, 900), (2, 400)))
    for order in ([one, other], [other, one]):
        units = plan(order, "cpu", place(tmp_path)).units
        assert [(len(unit.jobs), unit.megabytes) for unit in units] == [(2, 900)] * 2


def test_rows_that_need_other_trainings_come_after_those_without(tmp_path):
    helped = Row("helped", "", {"options": {"bias": True, "dim": 2}}, others=({"options": {"bias": True}},))
    units = plan([of(helped, *ROWS, seeds=1)], "cpu", place(tmp_path)).units
    assert [unit.jobs[0].row for unit in units] == ["rba", "rba_bias", "helped"]
    untrained = Row("untrained", "", None)
    assert len(plan([of(untrained, seeds=3)], "cpu", place(tmp_path)).units) == 3


class Spy:
    """An executor that does nothing, and knows what it was given at once."""

    def __init__(self):
        self.given = []

    def __call__(self, units, where):
        self.given.append([unit.jobs[0].row for unit in units])
        yield None
        for unit in units:
            yield from ((job, "done") for job in unit.jobs)


def test_units_that_must_be_alone_are_handed_out_one_by_one(tmp_path):
    spy = Spy()
    third = Row("third", "", {"options": {"bias": True, "dim": 3}})
    states = run([of(alone(ROWS[0]), ROWS[1], third)], "cpu", place(tmp_path), spy, say=print)
    assert spy.given == [["rba_bias", "rba_bias", "third", "third"], ["rba"], ["rba"]]
    assert states == {"done": 6}


def test_as_many_seeds_are_run_as_asked_for(tmp_path):
    spy = Spy()
    assert run([of(*ROWS)], "cpu", place(tmp_path), spy, seeds=3, say=print) == {"done": 6}
    assert run([of(*ROWS)], "cpu", place(tmp_path), spy, seeds=1, say=print) == {"done": 2}


def test_damage_is_told_once(tmp_path):
    where, said = place(tmp_path), []
    job = of(*ROWS).judgings("cpu")[0]
    path = keep(where.results, [line_of(job)]) / "judgings.jsonl"
    path.write_text("noise\n" + path.read_text())
    for told in (1, 1):
        assert run([of(*ROWS)], "cpu", where, Spy(), say=said.append) == {"done": 3}
        assert len(said) == told
    assert f"{path}, line 1" in said[0]


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""

    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(progressing, "time", made)
    return made


def test_time_left_follows_the_work_that_is_left(clock):
    console = Console(file=io.StringIO(), force_terminal=False)
    progress = Progress(Plan((LONG, SHORT), 3), title="bench", console=console)
    assert str(progress) == "bench: 0 of 3 jobs, 3 were finished before, about 2 min of work"
    clock.now += 20
    progress.hear((JOBS[0], "done"))  # 40 of 100 seconds of work, in 20
    assert progress.left() == pytest.approx(20 * 60 / 40)
    assert str(progress) == f"bench: 1 of 3 jobs, 3 were finished before, 30 s left; last {JOBS[0].title}"
    clock.now += 40
    progress.hear((JOBS[2], "failed"))
    assert progress.left() == pytest.approx(60 * 40 / 60)
    progress.hear((JOBS[1], "unavailable"))
    assert str(progress).startswith("bench: 3 of 3 jobs, 1 failed, 1 unavailable, 3 were finished before; last")


def test_a_line_every_few_seconds_and_none_in_between(clock):
    console = Console(file=io.StringIO(), force_terminal=False)
    progress = Progress(Plan((LONG, SHORT), 0), title="bench", console=console, every=5.0)
    lines = []
    for after in (1, 3, 1, 4, 1):
        clock.now += after
        progress.hear(None)
        lines.append(len(console.file.getvalue().splitlines()))
    assert lines == [0, 0, 1, 1, 2]


def test_progress_leaves_the_standard_output_alone(capsys):
    with Progress(Plan((LONG,), 0), title="bench", every=0.0) as progress:
        progress.hear((JOBS[0], "done"))
    told = capsys.readouterr()
    assert told.out == ""
    assert "bench: 1 of 2 jobs" in told.err


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.4, "0 s"),
        (99.4, "99 s"),
        (100.0, "2 min"),
        (5900.0, "98 min"),
        (6000.0, "1 h 40 min"),
        (9600.0, "2 h 40 min"),
    ],
)
def test_spans(seconds, told):
    assert span(seconds) == told


def test_artefacts_that_lack_a_scale_are_left_out(tmp_path):
    todo = plan([toy(), replace(toy(), budgets={**toy().budgets, "trained": Budget(1)})], "trained", place(tmp_path))
    assert len(todo.jobs) == 6, "two rows, three seeds, of the second"
