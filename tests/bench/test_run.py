"""A run: what is done, what is skipped, what fails."""

import io
import json
import shutil

import pytest

from tests.bench.toy import inline, numbers, place, toy
from torchcaps._console import Console
from torchcaps.bench import store
from torchcaps.bench.executors import make_executor
from torchcaps.bench.plan import plan
from torchcaps.bench.progress import Progress
from torchcaps.bench.runner import describe, run


def go(artefacts, where, executor=inline, **options):
    said = []
    states = run(artefacts, "cpu", where, executor, say=said.append, **options)
    return dict(states), said


def lines_of(where, job):
    return [line for path in where.results.glob("*.jsonl") for line in store.read(path)[0] if line["job"] == job]


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("once")
    assert go([toy()], place(folder))[0] == {"done": 4}
    return folder


@pytest.fixture
def finished(once, tmp_path):
    shutil.copytree(once, tmp_path / "copy")
    return place(tmp_path / "copy")


def test_every_line_says_where_it_comes_from(finished):
    judged, trained = (lines_of(finished, job)[0] for job in ("judging", "training"))
    for line in (judged, trained):
        assert line["settings"]["model"] == "peer2021/sign"
        assert {"commit", "environment", "data", "seed", "scale", "finished", "seconds", "megabytes"} <= set(line)
    assert judged["numbers"]["accuracy"]["count"] == 200
    assert judged["trainings"][0] in {line["name"] for line in lines_of(finished, "training")}
    assert trained["history"][-1]["step"] == trained["steps"] == 10


def test_finished_work_is_skipped(finished):
    before = lines_of(finished, "judging")
    assert go([toy()], finished)[0] == {}
    assert lines_of(finished, "judging") == before
    assert go([toy(seeds=3)], finished)[0] == {"done": 2}


def test_a_changed_artefact_runs_its_own_jobs_again_and_trains_nothing(finished):
    other = toy(name="peer2021/table2")
    assert go([toy(version=2), other], finished)[0] == {"done": 8}
    assert len(lines_of(finished, "training")) == 4
    assert go([toy(version=2), other], finished)[0] == {}


def test_a_damaged_line_is_named_and_its_job_run_again(finished):
    path = finished.results / "peer2021-table1.jsonl"
    before, texts = numbers(store.results(finished.results)[0]), path.read_text().splitlines()
    path.write_text("\n".join([texts[0], texts[1][:-30], *texts[2:]]) + "\n")
    states, said = go([toy()], finished)
    assert states == {"done": 1}
    assert len(said) == 1
    assert f"{path}, line 2" in said[0]
    assert numbers(store.results(finished.results)[0]) == before
    assert len(lines_of(finished, "training")) == 4


def test_weights_that_are_gone_are_trained_again_when_needed(finished):
    shutil.rmtree(finished.work)
    assert go([toy()], finished)[0] == {}
    before = numbers(store.results(finished.results)[0])
    assert go([toy(version=2)], finished)[0] == {"done": 4}
    assert numbers(store.results(finished.results)[0]) == before


def test_what_fails_is_kept_as_failed_and_the_rest_goes_on(tmp_path):
    where = place(tmp_path)
    others = {"broken": {"options": {"depth": 3}}, "absent": {"data": "cifar100", "images": 0}}
    artefact = toy(others=others, seeds=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHCAPS_DATA", str(tmp_path / "empty"))
        patch.setenv("PATH", "")
        states, _ = go([artefact], where)
    assert states == {"done": 2, "failed": 1, "unavailable": 1}
    found = {line["row"]: line for line in lines_of(where, "judging")}
    assert "has no option 'depth'" in found["broken"]["error"]
    assert "cifar100" in found["absent"]["error"]
    failed = [line for line in lines_of(where, "training") if line["state"] == "failed"]
    assert len(failed) == 1


def test_a_training_that_failed_is_tried_once_a_run(tmp_path):
    where = place(tmp_path)
    broken = {"broken": {"options": {"depth": 3}}}
    artefacts = [toy(others=broken, seeds=1), toy(name="peer2021/table2", others=broken, seeds=1)]
    assert go(artefacts, where)[0] == {"done": 4, "failed": 2}
    assert go(artefacts, place(tmp_path, run="two"))[0] == {"failed": 2}
    assert len([line for line in lines_of(where, "training") if line["state"] == "failed"]) == 2


def test_processes_give_what_one_process_gives(tmp_path, finished):
    where = place(tmp_path / "processes")
    assert go([toy()], where, make_executor("local", 2))[0] == {"done": 4}
    assert numbers(store.results(where.results)[0]) == numbers(store.results(finished.results)[0])


def test_plan_groups_by_training_and_by_artefact_at_smoke(tmp_path):
    artefacts = [toy(), toy(name="peer2021/table2")]
    at_cpu = plan(artefacts, "cpu", place(tmp_path))
    assert [len(unit.jobs) for unit in at_cpu.units] == [2] * 4
    at_smoke = plan(artefacts, "smoke", place(tmp_path, "smoke"))
    assert [unit.title for unit in at_smoke.units] == ["peer2021/table1", "peer2021/table2"]
    assert describe(at_cpu, 2).splitlines() == [
        "8 judgings to do, 0 finished; 4 trainings between them",
        "about 3 s with 2 processes, 1,600 MB of memory",
    ]


def test_progress_where_nobody_watches_is_a_line_now_and_then(tmp_path):
    todo = plan([toy()], "cpu", place(tmp_path))
    console = Console(file=io.StringIO(), force_terminal=False)
    with Progress(todo, title="bench cpu", console=console, every=0.0) as progress:
        progress.hear((todo.jobs[0], "done"))
        progress.hear(None)
        for job in todo.jobs[1:]:
            progress.hear((job, "failed"))
    told = console.file.getvalue().splitlines()
    assert told[0].startswith("bench cpu: 1 of 4 jobs, 0 s left; last peer2021/table1 rba, seed 0")
    assert told[-1].startswith("bench cpu: 4 of 4 jobs, 3 failed;")


def test_results_are_strict_json(finished):
    for path in finished.results.glob("*.jsonl"):
        for text in path.read_text().splitlines():
            json.loads(text, parse_constant=lambda word: pytest.fail(word))
