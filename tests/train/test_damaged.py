"""A damaged checkpoint is named, never counted as kept, and never makes an older network of a finished training."""

import json
import re
import shutil
import warnings

import pytest
import torch

from tests.train.separable import Separable, linear
from torchcaps import fit, load_run
from torchcaps._seal import SEAL, sealed
from torchcaps.models import read_weights
from torchcaps.train import checkpoint, unfinished
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS, MODEL
from torchcaps.train.stamps import unchanged

ALL = {"batch_size": 8, "validation": 0.0, "save_every": 1, "quiet": True, "seed": 3, "deterministic": True}


def shorter(path):
    path.write_bytes(path.read_bytes()[:-2])  # behind JSON one byte is a line feed


def flipped(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def folder(path):
    path.unlink()
    path.mkdir()


def dangling(path):
    path.unlink()
    path.symlink_to(path.parent / "nowhere")


DAMAGES = [shorter, flipped, lambda path: path.write_bytes(b""), folder, dangling]
NAMES = ["shorter", "flipped", "empty", "folder", "dangling"]
damaging = pytest.mark.parametrize("damage", DAMAGES, ids=NAMES)


class StopError(Exception):
    """Somebody pulled the plug."""


def train(out, **options):
    return fit(linear(), Separable(), out=out, **{**ALL, "epochs": 2, "keep": 2, **options})


def killed(monkeypatch, out, step=6, **options):
    """A training of eight steps that was stopped with one checkpoint a step."""
    real = Training.train_on

    def stop(self, batch):
        if self.step == step:
            raise StopError
        real(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "train_on", stop)
        with pytest.raises(StopError):
            train(out, **options)


def kept(out):
    return checkpoint.listed(out / CHECKPOINTS)


def steps(out):
    return [checkpoint.step_of(path) for path in kept(out)]


def same(run, other):
    pairs = zip(run.model.state_dict().values(), other.model.state_dict().values(), strict=True)
    return all(torch.equal(one, two) for one, two in pairs)


# A training that has ended


@damaging
@pytest.mark.parametrize("keep", [1, 2, 3])
def test_a_finished_training_is_its_final_network(damage, keep, tmp_path):
    run = train(tmp_path, keep=keep)
    assert steps(tmp_path) == [8, 7, 6][:keep][::-1]
    damage(kept(tmp_path)[-1])
    found = load_run(tmp_path, model=linear())
    assert same(found, run)
    assert found.history == run.history
    assert unfinished(found) == ""


def test_so_it_is_without_any_checkpoint(tmp_path):
    run = train(tmp_path)
    shutil.rmtree(tmp_path / CHECKPOINTS)
    found = load_run(tmp_path, model=linear())
    assert same(found, run)
    assert found.history == run.history


@damaging
def test_an_end_that_is_resumed_is_not_trained_again(damage, tmp_path, monkeypatch):
    run = train(tmp_path)
    damage(kept(tmp_path)[-1])
    monkeypatch.setattr(Training, "train_on", lambda self, batch: pytest.fail("there is nothing to train"))
    with pytest.warns(UserWarning, match=r"step-000000008\.safetensors.*nothing is trained again"):
        again = train(tmp_path, resume=True)
    assert same(again, run)
    assert again.history == run.history
    assert same(load_run(tmp_path, model=linear()), run)
    assert steps(tmp_path) == [7]


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_a_damaged_final_network_is_read_from_the_last_checkpoint(file, tmp_path):
    run = train(tmp_path)
    shorter(tmp_path / MODEL / file)
    with pytest.warns(UserWarning, match=rf"{re.escape(file)}.*the last checkpoint holds the same network"):
        found = load_run(tmp_path, model=linear())
    assert same(found, run)
    train(tmp_path, resume=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(load_run(tmp_path, model=linear()), run)


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_an_older_checkpoint_is_never_taken_for_it(file, tmp_path):
    run = train(tmp_path)
    shorter(tmp_path / MODEL / file)
    shorter(kept(tmp_path)[-1])
    message = rf"{re.escape(file)}.*step-000000008.*last whole checkpoint is of step 7.*--resume"
    with pytest.raises(ValueError, match=message):
        load_run(tmp_path, model=linear())
    with pytest.warns(UserWarning, match=rf"step-000000008.*{re.escape(file)}.*goes on from step 7"):
        again = train(tmp_path, resume=True)
    assert same(again, run)


def test_weights_that_are_missing_are_read_from_the_last_checkpoint(tmp_path):
    run = train(tmp_path)
    (tmp_path / MODEL / "model.safetensors").unlink()
    with pytest.warns(UserWarning, match=r"there is no model\.safetensors"):
        assert same(load_run(tmp_path, model=linear()), run)


def as_an_older_version_wrote_it(out):
    """Its config.json says nothing of the training."""
    config = json.loads((out / MODEL / "config.json").read_text())
    plain = {name: value for name, value in config.items() if name not in (SEAL, "training")}
    (out / MODEL / "config.json").write_text(json.dumps(sealed(plain)))


@pytest.mark.parametrize("aim", [{"epochs": 2}, {"epochs": 50, "steps": 8}])
def test_of_an_older_version_the_log_says_that_it_ended(aim, tmp_path):
    run = train(tmp_path, **aim)
    as_an_older_version_wrote_it(tmp_path)
    shorter(kept(tmp_path)[-1])
    found = load_run(tmp_path, model=linear())
    assert same(found, run)
    assert found.history == run.history
    assert unfinished(found) == ""


# One that has not


@damaging
def test_an_unfinished_one_names_what_it_passes_over(damage, tmp_path, monkeypatch):
    killed(monkeypatch, tmp_path)
    assert steps(tmp_path) == [5, 6]
    damage(kept(tmp_path)[-1])
    with pytest.warns(UserWarning, match=r"step-000000006\.safetensors.*that of step 5 is read instead.*--resume"):
        found = load_run(tmp_path, model=linear())
    assert "has not ended" in unfinished(found)


@damaging
def test_a_resume_goes_on_from_the_last_whole_one_and_says_so(damage, tmp_path, monkeypatch):
    alone = train(tmp_path / "alone")
    out = tmp_path / "run"
    killed(monkeypatch, out)
    damage(kept(out)[-1])
    with pytest.warns(
        UserWarning, match=r"passed over: .*step-000000006.*set aside as .*goes on from step 5, the last"
    ):
        run = train(out, resume=True)
    assert same(run, alone)
    assert steps(out) == [7, 8]
    aside = ["step-000000006.damaged"] if damage is folder else []  # a folder is not ours to delete
    assert [path.name for path in (out / CHECKPOINTS).glob("*.damaged")] == aside


def test_one_that_cannot_be_read_is_passed_over_too(tmp_path, monkeypatch):
    """Without permission, say."""
    killed(monkeypatch, tmp_path)
    real, last = checkpoint.safe_open, kept(tmp_path)[-1]

    def locked(path, **options):
        if path == last:
            raise PermissionError(13, "Permission denied")
        return real(path, **options)

    monkeypatch.setattr(checkpoint, "safe_open", locked)
    with pytest.warns(UserWarning, match=r"step-000000006.*Permission denied"):
        load_run(tmp_path, model=linear())


def test_more_epochs_go_on_from_the_last_whole_one(tmp_path):
    once = train(tmp_path / "once", epochs=3)
    train(tmp_path / "twice")
    shorter(kept(tmp_path / "twice")[-1])
    with pytest.warns(UserWarning, match="goes on from step 7"):
        again = train(tmp_path / "twice", epochs=3, resume=True)
    assert same(once, again)
    assert same(load_run(tmp_path / "twice", model=linear()), once)


def test_a_network_of_less_is_not_the_end_of_more(tmp_path, monkeypatch):
    """While the training goes on for more epochs, even in the last of them, `model/` holds that of fewer."""
    options = {"validation_data": Separable(), "judge_every": 1}
    train(tmp_path, **options)
    killed(monkeypatch, tmp_path, step=11, epochs=3, resume=True, **options)
    found = load_run(tmp_path, model=linear())
    assert [found.history[-1][name] for name in ("epoch", "step")] == [2, 11]
    assert "has not ended" in unfinished(found)


def test_a_network_is_not_replaced_by_one_from_the_beginning(tmp_path):
    train(tmp_path)
    before = (tmp_path / MODEL / "model.safetensors").read_bytes()
    for path in kept(tmp_path):
        shorter(path)
    with pytest.raises(ValueError, match=r"cannot be resumed without a whole checkpoint: .*begin in another folder"):
        train(tmp_path, epochs=3, resume=True)
    assert (tmp_path / MODEL / "model.safetensors").read_bytes() == before
    assert steps(tmp_path) == [7, 8]


# What is kept


def test_a_damaged_one_is_not_counted_at_the_end(tmp_path):
    one = {"model.w": torch.zeros(3)}
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, step, checkpoint.Checkpoint({"step": step}, one), keep=3)
    shorter(checkpoint.listed(tmp_path)[-1])
    [line] = checkpoint.prune(tmp_path, 1)
    assert "step-000000003" in line
    assert [checkpoint.step_of(path) for path in checkpoint.listed(tmp_path)] == [2, 3]
    shorter(checkpoint.listed(tmp_path)[0])
    assert len(checkpoint.prune(tmp_path, 1)) == 2
    assert len(checkpoint.listed(tmp_path)) == 2


@damaging
def test_a_save_counts_only_whole_ones(damage, tmp_path):
    one = {"model.w": torch.zeros(3)}

    def save(step):
        return checkpoint.save(tmp_path, step, checkpoint.Checkpoint({"step": step}, one))

    save(1)
    damage(save(2))
    save(3)
    assert [checkpoint.step_of(path) for path in checkpoint.listed(tmp_path)] == [1, 2, 3]
    save(4)
    left = [2, 3, 4] if damage is folder else [3, 4]
    assert [checkpoint.step_of(path) for path in checkpoint.listed(tmp_path)] == left


def test_a_later_one_never_drives_out_what_was_just_written(tmp_path):
    for step in (40, 50, 10, 20):
        path = checkpoint.save(tmp_path, step, checkpoint.Checkpoint({"step": step}, {"model.w": torch.zeros(3)}))
        assert path.is_file()
    assert [checkpoint.step_of(path) for path in checkpoint.listed(tmp_path)] == [10, 20, 40, 50]


def test_a_save_reads_nothing_that_was_not_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "load", lambda path: pytest.fail(f"{path} was read"))
    for step in (1, 2, 3, 4):
        path = checkpoint.save(tmp_path, step, checkpoint.Checkpoint({"step": step}, {"model.w": torch.zeros(3)}))
        assert unchanged(path)
    assert len(checkpoint.listed(tmp_path)) == 2
    flipped(path)
    assert not unchanged(path)


def test_the_weights_of_the_folder_are_those_of_the_run(tmp_path):
    run = train(tmp_path)
    _, weights = read_weights(tmp_path / MODEL)
    assert all(torch.equal(weights[name], t) for name, t in run.model.state_dict().items())
