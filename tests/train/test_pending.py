"""A step that does not wait for its device, shown on the CPU, which is told that it is one."""

from contextlib import nullcontext

import pytest
import torch
from torch import nn

from tests.train.separable import Separable, linear
from tests.train.test_not_finite import Spoil
from tests.waiting import NobodyWaits
from torchcaps import fit
from torchcaps.data import Batch
from torchcaps.models import create_model
from torchcaps.train import checkpoint, pending
from torchcaps.train.callbacks import Callback
from torchcaps.train.loop import Training
from torchcaps.train.not_finite import NotFiniteError
from torchcaps.train.run import CHECKPOINTS


@pytest.fixture
def _device(monkeypatch):
    """The host runs ahead of the CPU by four steps, and reads nothing from it in a step."""
    monkeypatch.setitem(pending.LATE, "cpu", 4)
    monkeypatch.setattr("torchcaps.losses.targets._check", lambda rows, classes: None)  # labels on a card are not read
    real, told = Training.train_on, Training.catch_up

    def train_on(self, batch):
        with NobodyWaits() if self.pending.late else nullcontext():
            real(self, batch)

    def catch_up(self, **options):
        # What is told lies with the host.
        with torch.utils._python_dispatch._disable_current_modes(), torch._C.DisableTorchFunction():
            told(self, **options)

    monkeypatch.setattr(Training, "train_on", train_on)
    monkeypatch.setattr(Training, "catch_up", catch_up)


@pytest.mark.parametrize("optimiser", ["adam", "adamw", "sgd"])
def test_the_training_is_the_same(optimiser, glyphs, request):
    chosen = {"batch_size": 16, "epochs": 2, "quiet": True, "optimiser": optimiser, "clip": 1.0, "judge_every": 3}

    def trained():
        torch.manual_seed(0)
        return fit(create_model("sabour2017/capsnet", width=0.04), glyphs, **chosen)

    at_once = trained()
    request.getfixturevalue("_device")
    later = trained()
    assert [entry["step"] for entry in later.history] == [entry["step"] for entry in at_once.history]
    for one, other in zip(later.history, at_once.history, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-4)
        assert one["accuracy"] == other["accuracy"]
    for one, other in zip(later.model.parameters(), at_once.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


class Weights(Callback):
    """Remembers the weights after every step."""

    def __init__(self):
        self.after = []

    def after_step(self, training):
        self.after.append([p.detach().clone() for p in training.model.parameters()])


class Once(nn.Module):
    """Divides by zero in the third step, and not before or after."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return x / 0 if self.calls == 3 else x


@pytest.mark.usefixtures("_device")
@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_nan_skips_the_update_and_is_told_of_later(optimiser):
    """The weights stay those that gave it, also where later losses are numbers again."""
    seen = Weights()
    chosen = {"batch_size": 4, "optimiser": optimiser, "weight_decay": 0.1, "callbacks": [seen]}
    with pytest.raises(NotFiniteError, match="step 2: the loss is nan"):
        fit(linear(Once()), Separable(), validation=0.0, quiet=True, **chosen)
    assert len(seen.after) == 2 + 1 + 4
    same = [[torch.equal(a, b) for a, b in zip(one, seen.after[1], strict=True)] for one in seen.after]
    assert [all(parts) for parts in same] == [False] + [True] * 6


@pytest.mark.usefixtures("_device")
def test_a_checkpoint_waits_for_what_came_before_it(tmp_path):
    with pytest.raises(NotFiniteError, match=r"step 2: the loss is nan. NaN or Inf first came out of the layer body.2"):
        fit(linear(Spoil()), Separable(), validation=0.0, batch_size=8, out=tmp_path / "run", save_every=1, quiet=True)
    assert checkpoint.newest(tmp_path / "run" / CHECKPOINTS)[0].record["step"] == 2


def test_a_training_goes_on_on_another_kind_of_device(tmp_path, request):
    """Saved at home, taken up by a device that skips updates, and the other way round."""
    chosen = {"validation": 0.0, "batch_size": 8, "quiet": True, "out": tmp_path / "run"}
    fit(linear(), Separable(), epochs=1, **chosen)
    request.getfixturevalue("_device")
    fit(linear(), Separable(), epochs=2, resume=True, **chosen)
    pending.LATE.pop("cpu")
    assert len(fit(linear(), Separable(), epochs=3, resume=True, **chosen).history) == 3


ONE = Batch(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, dtype=torch.long))


def test_the_oldest_is_told_first():
    steps = pending.Pending(torch.device("cpu"))
    for step in (3, 4, 5):
        steps.add(step, torch.tensor([step / 4, 2.0 * step]), 10 * step, ONE)
    assert [told[:4] for told in steps.told(ahead=1)] == [(3, 0.75, 6.0, 30), (4, 1.0, 8.0, 40)]
    assert [told[:4] for told in steps.told()] == [(5, 1.25, 10.0, 50)]
    assert list(steps.told()) == []


@pytest.mark.usefixtures("_device")
def test_one_broken_loss_is_enough():
    steps, marks = pending.Pending(torch.device("cpu")), []
    for loss in (0.5, float("inf"), 0.5, float("nan"), 0.5):
        steps.add(0, torch.tensor([loss, 1.0]), 1, ONE)
        marks.append(float(steps.broken))
    assert marks == [0, 1, 1, 1, 1]


class Far(torch.Tensor):
    """On a card: a copy of it is empty until the card has come to it."""

    is_cuda = True
    copies = ()

    def to(self, *_, **__):
        home = torch.zeros(2, dtype=torch.double)
        Far.copies = (*Far.copies, (home, self.tolist()))
        return home


class Event:
    """What the card passes on its way; whoever waits for it finds all that was sent before."""

    def record(self):
        self.before = Far.copies

    def synchronize(self):
        for home, numbers in self.before:
            home.copy_(torch.tensor(numbers))


def test_numbers_are_read_when_they_have_arrived(monkeypatch):
    monkeypatch.setattr(torch.cuda, "Event", Event)
    steps = pending.Pending(torch.device("cuda"))
    for step in range(3):
        steps.add(step, torch.tensor([0.25 + step, 7.0 + step]).as_subclass(Far), 8, ONE)
    told = list(steps.told(ahead=2)) + list(steps.told())
    assert [(step, loss, hits) for step, loss, hits, *_ in told] == [(0, 0.25, 7), (1, 1.25, 8), (2, 2.25, 9)]
