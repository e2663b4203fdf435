"""A training that was stopped, in whatever way and wherever, ends as if it had not been, to the last bit."""

import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from benchmarks.kill import differences, experiment, log_of
from torchcaps.network import ConvNet
from torchcaps.train import checkpoint, fit
from torchcaps.train.checkpoint import Checkpoint
from torchcaps.train.log import LOG
from torchcaps.train.loop import Training
from torchcaps.train.resume import begin_or_resume, otherwise, with_rule_of
from torchcaps.train.run import CHECKPOINTS, MODEL, Facts, write_run
from torchcaps.train.settings import Settings


class StopError(Exception):
    """Somebody pulled the plug."""


def capsules():
    return "mitterreiter2023/capsnet"


def with_dropout():
    torch.manual_seed(7)
    body = [nn.Conv2d(1, 4, 5, 2), nn.ReLU(), nn.BatchNorm2d(4), nn.Flatten(), nn.Dropout(), nn.Linear(576, 10)]
    return ConvNet(nn.Sequential(*body))


SMALL = {"width": 0.1, "layers": 3, "reconstruction": "none"}
TRAININGS = {
    "adam": (capsules, {"options": SMALL}),
    "sgd": (capsules, {"options": SMALL, "optimiser": "sgd", "weight_decay": 0.01, "lr_schedule": "cosine"}),
    "spread": (capsules, {"options": {**SMALL, "loss": "spread"}, "lr_schedule": "one_cycle", "lr": 0.01}),
    "dropout": (with_dropout, {"lr_schedule": "exponential"}),
    "average": (with_dropout, {"average": 0.9, "judge_every": 4, "lr": 0.01}),
}
# Steps 0–4 are the first epoch, with a checkpoint after step 3; where the plug is pulled: before the first checkpoint,
# between it and the epoch's end, before and after the epoch is judged, before and after it is saved, and so on.
PLUGS = [("train_on", 0), ("train_on", 2), ("train_on", 4), ("_end_epoch", 5), ("save", 5), ("train_on", 5),
         ("save", 9), ("train_on", 9), ("train_on", 13)]  # fmt: skip


@pytest.mark.parametrize("name", TRAININGS)
def test_stopped_again_and_again(name, tmp_path, monkeypatch, glyphs):
    model, settings = TRAININGS[name]
    settings = {
        "epochs": 3,
        "batch_size": 16,
        "save_every": 3,
        "seed": 5,
        "deterministic": True,
        "quiet": True,
        **settings,
    }
    peace, fire = tmp_path / "peace", tmp_path / "fire"
    alone = fit(model(), glyphs, out=peace, **settings)
    resumed_at = []
    for method, step in PLUGS:
        with monkeypatch.context() as patch:
            _pull(patch, method, step)
            with pytest.raises(StopError):
                fit(model(), glyphs, out=fire, resume=fire.exists(), **settings)
        found, problems = checkpoint.newest(fire / CHECKPOINTS)
        resumed_at.append(found.record["step"] if found else 0)
        assert not problems
    assert resumed_at == [0, 0, 3, 3, 3, 5, 6, 9, 12]
    end = fit(model(), glyphs, out=fire, resume=True, **settings)
    assert differences(peace, fire) == []
    assert [entry["step"] for entry in end.history if entry["step"] % 5 == 0] == [5, 10, 15]
    for (key, weight), other in zip(alone.model.state_dict().items(), end.model.state_dict().values(), strict=True):
        assert torch.equal(weight, other), key


def _pull(patch, method, step):
    real = getattr(Training, method)

    def stop(self, *args):
        if self.step == step:
            raise StopError
        return real(self, *args)

    patch.setattr(Training, method, stop)


def test_a_finished_training_goes_on_with_more_epochs(tmp_path, glyphs):
    settings = {"options": SMALL, "batch_size": 16, "deterministic": True, "quiet": True}
    fit("mitterreiter2023/capsnet", glyphs, out=tmp_path / "once", epochs=2, **settings)
    fit("mitterreiter2023/capsnet", glyphs, out=tmp_path / "twice", epochs=1, **settings)
    fit("mitterreiter2023/capsnet", glyphs, out=tmp_path / "twice", epochs=2, resume=True, **settings)
    assert differences(tmp_path / "once", tmp_path / "twice") == []
    again = fit("mitterreiter2023/capsnet", glyphs, out=tmp_path / "twice", epochs=2, resume=True, **settings)
    assert len(again.history) == 2
    assert differences(tmp_path / "once", tmp_path / "twice") == []


def test_a_damaged_last_checkpoint_costs_only_time(tmp_path, glyphs, capsys):
    settings = {"options": SMALL, "batch_size": 16, "save_every": 2, "epochs": 1, "deterministic": True}
    for name in ("peace", "fire"):
        fit("mitterreiter2023/capsnet", glyphs, out=tmp_path / name, quiet=True, **settings)
    last = checkpoint.listed(tmp_path / "fire" / CHECKPOINTS)[-1]
    last.write_bytes(last.read_bytes()[:-1])
    shutil.rmtree(tmp_path / "fire" / MODEL)  # it was killed before its end
    fit("mitterreiter2023/capsnet", glyphs, out=tmp_path / "fire", resume=True, **settings)
    assert "passed over" in capsys.readouterr().err
    assert differences(tmp_path / "peace", tmp_path / "fire") == []


def test_killed_four_times(tmp_path):
    """`kill -9` of real processes; `python -m benchmarks.kill` does it twenty times."""
    result = experiment(tmp_path, 4, epochs=10)
    assert [moment["while"] for moment in result["kills"]] == ["training", "saving", "training", "starting"]
    assert result["differences"] == []


SETTINGS = Settings("custom", "custom", steps=9, lr=0.001)


def standing(step, settings=SETTINGS):
    """A training that stands somewhere, without its network."""
    training = object.__new__(Training)
    training.settings, training.step = settings, step
    training.fabric = SimpleNamespace(barrier=lambda: None, is_global_zero=True)
    training.restore = lambda found: setattr(training, "step", found.record["step"])
    return training


def kept_at(folder, step):
    """A checkpoint of it."""
    needed = {"history": [], "sums": {"loss": 0.0}, "optimiser": [], "images": 4}
    record = {"settings": SETTINGS.to_json(), "step": step, **needed}
    checkpoint.save(folder / CHECKPOINTS, step, Checkpoint(record, {"model.w": torch.zeros(1)}))


def test_settings_of_the_checkpoint_count_where_there_is_no_run(tmp_path):
    kept_at(tmp_path, 3)
    message = r"cannot be resumed with other settings: lr was 0\.001, now 0\.5"
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            begin_or_resume(standing(0, replace(SETTINGS, lr=0.5)), tmp_path, None, resume=True)
        write_run(tmp_path, Facts(SETTINGS, ("a", "b"), (1, 1, 1)))


def test_the_log_goes_back_to_the_checkpoint(tmp_path):
    kept_at(tmp_path, 3)
    (tmp_path / LOG).write_text("".join(f'{{"step": {step}}}\n' for step in range(1, 7)))
    training = standing(0)
    assert begin_or_resume(training, tmp_path, None, resume=True) == []
    assert training.step == 3
    assert [line["step"] for line in log_of(tmp_path)] == [1, 2, 3]


def test_other_threads_are_told_to_who_asked_for_the_same_bits(tmp_path):
    write_run(tmp_path, Facts(SETTINGS, ("a", "b"), (1, 1, 1), None, {"threads": 7, "torch": "2"}))
    now = {"threads": 1, "torch": "2", "passes": "native"}
    assert otherwise(tmp_path, SETTINGS, now) == []
    [line] = otherwise(tmp_path, replace(SETTINGS, deterministic=True), now)
    assert line.endswith(": threads was 7, now 1")
    assert otherwise(tmp_path / "nowhere", replace(SETTINGS, deterministic=True), now) == []


@pytest.mark.parametrize("old", [("data",), ("validation",), ("data", "validation"), ()])
def test_either_set_goes_on_by_the_rule_it_began_with(old, tmp_path):
    """As the settings were typed, which know of no rule."""
    rules = {f"{part}_options": {"rule": "names"} for part in old}
    names = {"model": "custom", "data": "photos", "validation_data": "others"}
    write_run(tmp_path, Facts(Settings(**names, **rules), ("a", "b"), (1, 1, 1)))
    told = Settings(**names, data_options={"background": "black"}, validation_options={"in_chans": 1})
    found = with_rule_of(told, tmp_path)
    assert found.data_options == {"background": "black", **rules.get("data_options", {})}
    assert found.validation_options == {"in_chans": 1, **rules.get("validation_options", {})}
    assert with_rule_of(told, tmp_path / "nowhere") == told
