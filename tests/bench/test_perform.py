"""Training and judging with a stub for `fit` and measures made up: what is stored, skipped, tried again."""

import json
import threading
from datetime import datetime
from types import SimpleNamespace

import pytest
import torch
from filelock import Timeout

from tests.bench.toy import place, toy
from tests.full_disk import room_for
from torchcaps._atomic import NotWrittenError
from torchcaps.bench import perform as performing
from torchcaps.bench import store
from torchcaps.bench import trained as training_module
from torchcaps.bench.evidence import Number
from torchcaps.bench.jobs import Judging, MeasureSpec, Training
from torchcaps.bench.perform import perform
from torchcaps.bench.subject import Found
from torchcaps.bench.trained import TrainingFailedError, trained
from torchcaps.data import DataUnavailableError
from torchcaps.train import Settings
from torchcaps.train.checkpoint import Checkpoint, save

pytestmark = pytest.mark.usefixtures("no_shape_checks")
SIGN = Training(Settings("peer2021/sign", "sign", epochs=2), "sign")
HISTORY = [{"step": 5, "seconds": 1.25, "loss": 2.0}, {"step": 10, "seconds": 2.5, "loss": 1.0}]


class Fit:
    """Stands for `fit`: leaves a checkpoint behind, or raises; and knows how it was called."""

    def __init__(self):
        self.calls, self.error, self.history = [], None, HISTORY

    def __call__(self, *, out, **values):
        self.calls.append(values)
        if self.error is not None:
            raise self.error
        save(out / "checkpoints", 10, Checkpoint({"callbacks": {"starvation": {"dead": 3}}}, {"x": torch.zeros(1)}))
        return SimpleNamespace(history=self.history)


@pytest.fixture
def fit(monkeypatch):
    made = Fit()
    monkeypatch.setattr(training_module, "fit", made)
    monkeypatch.setattr(training_module, "from_pretrained", lambda folder: torch.nn.Linear(1, 1))
    return made


def lines(where, job):
    return [line for path in where.results.glob("*.jsonl") for line in store.read(path)[0] if line["job"] == job]


def test_a_training_is_kept_with_all_that_is_known_of_it(fit, tmp_path):
    where = place(tmp_path)
    own = trained(SIGN, where)
    assert (own.steps, own.seconds, own.reached) == (10, 3.75, None)
    assert own.history == HISTORY
    assert own.seen == {"starvation": {"dead": 3}}
    assert own.folder == tmp_path / "work" / "trainings" / SIGN.name
    assert not (own.folder / "checkpoints").exists()
    [line] = lines(where, "training")
    assert (line["name"], line["state"], line["seconds"], line["steps"]) == (SIGN.name, "done", 3.75, 10)
    assert trained(SIGN, where).seconds == 3.75
    [call] = fit.calls
    assert call["resume"] is True
    assert (call["model"], call["epochs"], call["seed"]) == ("peer2021/sign", 2, 0)


@pytest.mark.parametrize(("last", "reached"), [(0.79, False), (0.8, True), (0.9, True), (None, False)])
def test_reached_is_at_the_target_or_above_it_in_the_end(fit, tmp_path, last, reached):
    end = {} if last is None else {"validation_accuracy": last}
    fit.history = [{**HISTORY[0], "validation_accuracy": 0.85}, {**HISTORY[1], **end}]
    aimed = Training(Settings("peer2021/sign", "sign", until_accuracy=0.8), "sign")
    assert trained(aimed, place(tmp_path)).reached is reached


def test_checkpoints_go_only_when_the_summary_is_whole(fit, tmp_path, monkeypatch):
    def removed(folder):
        assert json.loads((folder.parent / "summary.json").read_text())["steps"] == 10
        raise KilledError

    monkeypatch.setattr(training_module.shutil, "rmtree", removed)
    with pytest.raises(KilledError):
        trained(SIGN, place(tmp_path))
    assert trained(SIGN, place(tmp_path)).steps == 10
    assert len(fit.calls) == 1


class KilledError(BaseException):
    """Ends everything where it is raised, as a kill does."""


def killed(*_):
    raise KilledError


def test_a_training_killed_before_it_was_stored_is_stored_later(fit, tmp_path, monkeypatch):
    """With what was known when it ended; once, however often it is asked for."""
    where = place(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(store, "append", killed)
        with pytest.raises(KilledError):
            trained(SIGN, where)
    ended = json.loads((where.weights(SIGN) / "summary.json").read_text())["origin"]
    assert lines(where, "training") == []
    for _ in range(2):
        assert trained(SIGN, where).history == HISTORY
    [line] = lines(where, "training")
    assert (line["name"], line["state"], line["history"], line["seconds"]) == (SIGN.name, "done", HISTORY, 3.75)
    assert (line["finished"], line["scale"]) == (ended["finished"], "cpu")
    assert not {"seen", "origin"} & line.keys()
    assert len(fit.calls) == 1


def test_a_full_disk_is_named_and_the_line_comes_when_there_is_room(fit, tmp_path):
    where = place(tmp_path)
    trained(SIGN, where)
    where.file(SIGN).unlink()
    with room_for(10), pytest.raises(NotWrittenError, match=r"trainings\.jsonl could not be written"):
        trained(SIGN, where)
    assert trained(SIGN, where).steps == 10
    assert [line["name"] for line in lines(where, "training")] == [SIGN.name]


def test_a_training_is_looked_for_in_every_file_of_its_scale(fit, tmp_path):
    """Results that were put together may have other names; those of another scale are judged apart."""
    where, smoke = place(tmp_path), place(tmp_path, scale="smoke")
    trained(SIGN, where)
    where.file(SIGN).rename(where.results / "all.jsonl")
    trained(SIGN, where)
    assert [path.name for path in where.results.glob("*.jsonl")] == ["all.jsonl"]
    trained(SIGN, smoke)
    trained(SIGN, smoke)
    [line] = lines(smoke, "training")
    assert (line["scale"], len(lines(where, "training")), len(fit.calls)) == ("smoke", 1, 1)


def test_a_summary_of_an_older_version_is_stored_too(fit, tmp_path):
    where = place(tmp_path)
    trained(SIGN, where)
    path = where.weights(SIGN) / "summary.json"
    summary = json.loads(path.read_text())
    del summary["origin"]
    path.write_text(json.dumps(summary))
    where.file(SIGN).unlink()
    assert trained(SIGN, where).seen == {"starvation": {"dead": 3}}
    [line] = lines(where, "training")
    assert (line["seconds"], line["scale"], "finished" in line) == (3.75, "cpu", True)


def test_a_line_that_is_there_twice_counts_once(fit, tmp_path):
    where = place(tmp_path)
    trained(SIGN, where)
    text = where.file(SIGN).read_text()
    where.file(SIGN).write_text(text + text)
    found, problems = store.results(where.results)
    assert (list(found), problems) == ([SIGN.name], [])


def test_a_failed_training_is_tried_once_a_run(fit, tmp_path):
    fit.error = ValueError("no such option")
    for run, calls in (("one", 1), ("one", 1), ("two", 2), ("two", 2)):
        with pytest.raises(TrainingFailedError, match="its training failed: ValueError: no such option"):
            trained(SIGN, place(tmp_path, run=run))
        assert len(fit.calls) == calls
    assert [line["state"] for line in lines(place(tmp_path), "training")] == ["failed"] * 2
    fit.error = None
    assert trained(SIGN, place(tmp_path, run="three")).steps == 10


def test_data_that_cannot_be_had_is_asked_for_once_a_run(fit, tmp_path):
    fit.error = DataUnavailableError("no network")
    other = Training(Settings("peer2021/sign", "sign", seed=1), "sign")
    for run, training, calls in (("one", SIGN, 1), ("one", other, 1), ("two", SIGN, 2)):
        with pytest.raises(DataUnavailableError, match="no network"):
            trained(training, place(tmp_path, run=run))
        assert len(fit.calls) == calls
    with pytest.raises(DataUnavailableError):
        trained(Training(Settings("peer2021/sign", "sign"), "other images"), place(tmp_path, run="two"))
    assert len(fit.calls) == 3
    assert lines(place(tmp_path), "training") == []


def test_results_and_weights_lie_apart(tmp_path):
    where, job = place(tmp_path), toy().judgings("cpu")[0]
    assert where.file(job) == tmp_path / "results" / "cpu" / "peer2021-table1.jsonl"
    assert where.file(SIGN) == tmp_path / "results" / "cpu" / "trainings.jsonl"
    seeds = [Training(Settings("peer2021/sign", "sign", seed=seed), "sign") for seed in (0, 1)]
    assert len({where.weights(training) for training in seeds}) == 2
    assert all(where.work in where.weights(training).parents for training in seeds)


def test_times_are_those_of_greenwich(tmp_path):
    origin = place(tmp_path).origin()
    assert origin["scale"] == "cpu"
    assert datetime.fromisoformat(origin["finished"]).utcoffset().total_seconds() == 0


def test_a_lock_is_waited_for_or_not(tmp_path):
    where, held, release = place(tmp_path), threading.Event(), threading.Event()

    def hold():
        with where.lock("job", wait=True):
            held.set()
            release.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(20)
    threading.Timer(0.3, release.set).start()
    with where.lock("job", wait=True):  # it comes when the other one goes
        assert release.is_set()
    holder.join(20)
    with where.lock("job", wait=True), pytest.raises(Timeout), where.lock("job", wait=False):
        pass


class Measures:
    """Two measures made up: each draws a number, and keeps details."""

    def __init__(self):
        self.asked, self.error, self.subjects = [], None, []

    def draw(self, subject, *, on, kept):
        self.asked.append(on)
        self.subjects.append(subject)
        if self.error is not None:
            raise self.error
        return Found({on: Number(float(torch.rand(())))}, {kept: on})


@pytest.fixture
def measures(monkeypatch):
    made = Measures()
    monkeypatch.setitem(performing.JUDGES, "draw", made.draw)
    own = SimpleNamespace(reached=False, steps=70, seconds=8.5)
    monkeypatch.setattr(performing, "trained", lambda training, place: own)
    return made


def judging(seed=0, training=SIGN):
    specs = tuple(MeasureSpec("draw", {"on": on, "kept": kept}) for on, kept in (("x", "k"), ("y", "l")))
    return Judging("peer2021/table1", 1, "rba", seed, specs, training)


def test_all_measures_are_stored_with_what_is_known_of_the_training(measures, tmp_path):
    where = place(tmp_path)
    assert [state for _, state in perform([judging(0), judging(1)], where)] == ["done", "done"]
    one, other = lines(where, "judging")
    drawn = {}
    for seed in (0, 1):
        torch.manual_seed(seed)
        drawn[seed] = float(torch.rand(()))
    assert one["numbers"] == {"x": drawn[0], "y": drawn[0]}
    assert other["numbers"] == {"x": drawn[1], "y": drawn[1]}
    assert one["details"] == {"k": "x", "l": "y"}
    assert (one["reached"], one["steps"], one["training_seconds"]) == (False, 70, 8.5)
    assert (one["trainings"], one["settings"]["model"]) == ([SIGN.name], "peer2021/sign")
    assert [subject.seed for subject in measures.subjects] == [0, 0, 1, 1]


def test_where_nothing_is_trained_nothing_is_told_of_it(measures, tmp_path):
    assert [state for _, state in perform([judging(training=None)], place(tmp_path))] == ["done"]
    [line] = lines(place(tmp_path), "judging")
    assert (line["settings"], line["trainings"], "reached" in line) == (None, [], False)


def test_what_is_done_is_not_done_again(measures, tmp_path):
    for _ in range(2):
        assert [state for _, state in perform([judging()], place(tmp_path))] == ["done"]
    assert measures.asked == ["x", "y"]
    assert len(lines(place(tmp_path), "judging")) == 1


@pytest.mark.parametrize(
    ("error", "state", "said"),
    [
        (DataUnavailableError("no network"), "unavailable", "no network"),
        (ZeroDivisionError("by 0"), "failed", "ZeroDivisionError: by 0"),
    ],
)
def test_what_did_not_work_says_why_and_is_done_again(measures, tmp_path, error, state, said):
    measures.error = error
    assert [found for _, found in perform([judging()], place(tmp_path))] == [state]
    [line] = lines(place(tmp_path), "judging")
    assert (line["state"], line["error"]) == (state, said)
    measures.error = None
    assert [found for _, found in perform([judging()], place(tmp_path))] == ["done"]
    assert [line["state"] for line in lines(place(tmp_path), "judging")] == [state, "done"]


def test_a_job_that_another_process_is_at_comes_last(measures, tmp_path, monkeypatch):
    where, release = place(tmp_path), threading.Event()
    monkeypatch.setattr(performing, "RETRY_SECONDS", 0.01)
    held = threading.Event()

    def hold():
        with where.lock(judging(0).name, wait=True):
            held.set()
            release.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(20)
    ended = []
    for job, _ in perform([judging(0), judging(1)], where):
        ended.append(job.seed)
        release.set()
    holder.join(20)
    assert ended == [1, 0]
