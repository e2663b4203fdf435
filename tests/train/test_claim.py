"""A run's folder: one process at a time, no leftovers, and nothing behind a start that failed."""

import os
import subprocess
import sys
import time

import pytest

from tests.train.separable import Separable, linear
from torchcaps.train import checkpoint, fit
from torchcaps.train.claim import LOCK, InUseError, claimed
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS, MODEL, RUN

ALL = {"validation": 0.0, "batch_size": 8, "epochs": 1, "quiet": True}

HOLDER = """
import sys, time
from pathlib import Path
from torchcaps.train.claim import claimed
with claimed(Path(sys.argv[1]), resume=True):
    print("mine", flush=True)
    time.sleep(60)
"""


WRITER = """
import sys
import numpy as np
from safetensors.numpy import save_file
while True:
    save_file({"a": np.zeros(3_000_000)}, sys.argv[1])
"""


def test_one_process_at_a_time(tmp_path):
    """Another process is told so, with --resume and without; a kill sets the folder free."""
    out = tmp_path / "run"
    fit(linear(), Separable(), out=out, **ALL)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with subprocess.Popen([sys.executable, "-c", HOLDER, out], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "mine\n"
            for resume in (True, False):
                with pytest.raises(InUseError, match=f"{out} is in use: another process trains there"):
                    fit(linear(), Separable(), out=out, resume=resume, **ALL)
        finally:
            holder.kill()
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="is not empty: go on with --resume"):
        fit(linear(), Separable(), out=out, **ALL)
    assert len(fit(linear(), Separable(), out=out, resume=True, **{**ALL, "epochs": 2}).history) == 2


def test_a_folder_that_is_being_started_is_not_taken_away(tmp_path):
    with claimed(tmp_path / "run", resume=False):
        with pytest.raises(InUseError, match="in use"):
            fit(linear(), Separable(), out=tmp_path / "run", **ALL)
        assert (tmp_path / "run" / LOCK).exists()


def test_leftovers_of_a_kill_are_removed(tmp_path):
    """Ours and those of safetensors, wherever they lie; other people's files are not."""
    out = tmp_path / "run"
    fit(linear(), Separable(), out=out, **ALL)
    left = [
        f"{CHECKPOINTS}/step-000000009.part",
        f"{CHECKPOINTS}/.tmpAb3dEf",
        f"{MODEL}/.tmpXyZ",
        f"{RUN}.part",
        "log.part",
    ]
    mine = ["notes.txt", "my.tmp", f"{MODEL}/tmp.csv"]
    for name in [*left, *mine]:
        (out / name).write_bytes(b"half")
    fit(linear(), Separable(), out=out, resume=True, **ALL)
    assert [name for name in [*left, *mine] if (out / name).exists()] == mine


def test_safetensors_writes_under_the_name_we_look_for(tmp_path):
    """A process that is killed while it writes leaves a file beside; it begins with .tmp, or is not there."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "a.safetensors"])
    until = time.monotonic() + 10
    while not list(tmp_path.glob(".tmp*")) and time.monotonic() < until:
        assert writer.poll() is None
        time.sleep(0.0005)
    writer.kill()
    writer.wait()
    assert {path.name for path in tmp_path.iterdir() if not path.name.startswith(".tmp")} <= {"a.safetensors"}


WRONG = {
    "data": ({"data": "glyphsss"}, "did you mean 'glyphs'"),
    "model": ({"model": "peer2021/sgn"}, "there is no model"),
    "option": ({"model": "peer2021/sign", "options": {"width": -1}}, "width=-1 is not allowed"),
    "classes": (
        {"model": "peer2021/sign", "options": {"num_classes": 3}},
        "the model tells 3 classes, but the data has 2",
    ),
    "classes of a named set": (
        {"model": "chen2019/lenet", "data": "glyphs", "images": 40, "options": {"num_classes": 11}},
        "the model tells 11 classes, but the data has 10",
    ),
    "images": ({"model": "chen2019/lenet"}, "cannot take images of"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_start_that_failed_leaves_nothing(case, tmp_path):
    values, message = WRONG[case]
    values = {"model": "peer2021/sign", "data": Separable(), **ALL, **values}
    with pytest.raises(ValueError, match=message):
        fit(**values, out=tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with pytest.raises(ValueError, match=message):
        fit(**values, out=tmp_path / "mine", resume=True)
    assert list((tmp_path / "mine").iterdir()) == []


WRITTEN = [
    "run.json", "data.json", "log.jsonl", "checkpoints/step.part", "model/config.json", "tensorboard/events"
]  # fmt: skip


def test_all_that_a_failed_start_wrote_is_removed_and_nothing_that_was_there(tmp_path):
    """What another start wrote stays, also if it never came to its first step."""

    def fail(folder):
        for name in WRITTEN:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).touch()
        raise KeyError

    with pytest.raises(KeyError), claimed(tmp_path / "a" / "b", resume=False):
        fail(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(KeyError), claimed(tmp_path, resume=True):
        fail(tmp_path)
    assert {name for name in WRITTEN if (tmp_path / name).exists()} == set(WRITTEN)


def test_a_folder_with_other_files_is_not_trained_in(tmp_path):
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(ValueError, match="is not empty"), claimed(tmp_path, resume=False):
        pytest.fail("it was claimed")


def test_of_several_processes_the_first_claims_it_for_all(tmp_path, monkeypatch):
    with claimed(tmp_path / "run", resume=False):
        monkeypatch.setenv("RANK", "1")
        with claimed(tmp_path / "run", resume=False), claimed(tmp_path / "other", resume=False):
            pass
    assert not (tmp_path / "other").exists()


def test_what_was_there_stays_and_what_has_begun_is_kept(tmp_path, monkeypatch):
    out = tmp_path / "run"

    class StopError(Exception):
        pass

    real = Training.train_on

    def stop(self, batch):
        if self.step == 2:
            (out / "notes.txt").write_text("mine")
            raise StopError
        real(self, batch)

    monkeypatch.setattr(Training, "train_on", stop)
    with pytest.raises(StopError):
        fit(linear(), Separable(), out=out, **ALL)
    assert (out / RUN).exists(), "two steps are in the log"
    assert (out / "log.jsonl").read_text().count("\n") == 2
    monkeypatch.undo()

    def stop_now():
        raise StopError

    other = tmp_path / "other"
    monkeypatch.setattr(Training, "run", lambda self, log: (other / "notes.txt").write_text("mine") and stop_now())
    with pytest.raises(StopError):
        fit(linear(), Separable(), out=other, **ALL)
    assert [path.name for path in other.iterdir()] == ["notes.txt"], "what is not ours is not removed"


def test_a_run_keeps_its_model_and_the_last_checkpoint(tmp_path):
    for name, keep in (("usual", {}), ("asked", {"keep": 3})):
        fit(linear(), Separable(), out=tmp_path / name, save_every=1, **{**ALL, "epochs": 2}, **keep)
        steps = [checkpoint.step_of(path) for path in checkpoint.listed(tmp_path / name / CHECKPOINTS)]
        assert steps == ([8] if name == "usual" else [6, 7, 8])
        files = {str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob("*") if path.is_file()}
        own = {LOCK, RUN, "log.jsonl", f"{MODEL}/config.json", f"{MODEL}/model.safetensors"}
        assert files == own | {f"{CHECKPOINTS}/step-{step:09d}.safetensors" for step in steps}


def test_a_folder_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match="file"):
        fit(linear(), Separable(), out=tmp_path / "file" / "run", **ALL)
    assert os.listdir(tmp_path) == ["file"]
