"""A training that was stopped, in whatever way and wherever, ends as if it had not been, to the last bit."""

import pytest
import torch
from torch import nn

from benchmarks.kill import differences, experiment
from torchcaps.network import ConvNet
from torchcaps.train import checkpoint, fit
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS


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
    assert len(end.history) == 3
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
    fit("mitterreiter2023/capsnet", glyphs, out=tmp_path / "fire", resume=True, **settings)
    assert "passed over" in capsys.readouterr().err
    assert differences(tmp_path / "peace", tmp_path / "fire") == []


def test_killed_four_times(tmp_path):
    """`kill -9` of real processes; `python -m benchmarks.kill` does it twenty times."""
    result = experiment(tmp_path, 4, epochs=10)
    assert [moment["while"] for moment in result["kills"]] == ["training", "saving", "training", "starting"]
    assert result["differences"] == []
