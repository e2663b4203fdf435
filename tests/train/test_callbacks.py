"""Callbacks: when they are called, what they see, and that a stop leaves no trace in them."""

import pytest
import torch

from benchmarks.kill import differences, untimed
from tests.train.separable import Separable, linear
from torchcaps.train import checkpoint, fit
from torchcaps.train.callbacks import CALLBACKS, Callback, Watchers
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS

ALL = {"validation": 0.0, "batch_size": 8, "epochs": 2, "quiet": True}


class Witness(Callback):
    """Notes every call, and the weights at the time."""

    def __init__(self):
        self.calls, self.weights = [], []

    def note(self, what, training):
        self.calls.append((what, training.step))
        self.weights.append(torch.cat([p.detach().flatten() for p in training.model.parameters()]).clone())

    def begin(self, training):
        self.note("begin", training)

    def after_backward(self, training):
        assert all(p.grad.abs().sum() > 0 for p in training.model.parameters())
        assert len(training.batch.images) == 8
        self.note("backward", training)

    def after_step(self, training):
        self.note("step", training)

    def after_epoch(self, training, entry):
        entry["seen"] = len(self.calls)
        self.note("epoch", training)


def test_they_are_called_in_order_with_gradients_before_the_weights_move():
    witness = Witness()
    run = fit(linear(), Separable(16), callbacks=[witness], **ALL)
    epochs = [
        [("backward", k), ("step", k + 1), ("backward", k + 1), ("step", k + 2), ("epoch", k + 2)] for k in (0, 2)
    ]
    assert witness.calls == [("begin", 0), *epochs[0], *epochs[1]]
    assert [entry["seen"] for entry in run.history] == [5, 10]
    for (what, _), before, after in zip(witness.calls[1:], witness.weights, witness.weights[1:], strict=False):
        assert torch.equal(before, after) == (what != "step")


def test_gradient_norm_is_the_mean_over_steps():
    """By name, beside a callback that computes each norm by hand; clipping comes after both."""

    norms = []

    class ByHand(Callback):
        def after_backward(self, training):
            squares = [(p.grad**2).sum() for p in training.model.parameters()]
            norms.append(torch.stack(squares).sum().sqrt().item())

    named = fit(linear(), Separable(), callbacks={"gradient_norm": {}}, clip=1e-3, **ALL)
    by_hand = fit(linear(), Separable(), callbacks=[ByHand()], clip=1e-3, **ALL)
    assert [e["loss"] for e in named.history] == [e["loss"] for e in by_hand.history]
    assert min(norms) > 1e-2
    means = [sum(norms[k : k + 4]) / 4 for k in (0, 4)]
    assert [entry["gradient_norm"] for entry in named.history] == pytest.approx(means)


class StopError(Exception):
    """Somebody pulled the plug."""


@pytest.mark.parametrize("stop", [1, 3, 5, 6])
def test_their_state_survives_a_stop(tmp_path, monkeypatch, stop):
    """Stopped inside an epoch and at its end: numbers summed before the stop count as if there had been none."""

    class Sum(Callback):
        total = 0.0

        def after_step(self, training):
            self.total += sum(p.sum().item() for p in training.model.parameters())

        def after_epoch(self, training, entry):
            entry["sum"] = self.total

        def state(self):
            return {"total": self.total}

        def restore(self, state):
            self.total = state["total"]

    monkeypatch.setitem(CALLBACKS, "sum", Sum)
    chosen = {**ALL, "save_every": 1, "callbacks": {"gradient_norm": {}, "sum": {}}, "judge_every": 3}
    chosen |= {"validation_data": Separable(4)}
    alone = fit(linear(), Separable(), out=tmp_path / "peace", **chosen)
    real = Training.train_on
    with monkeypatch.context() as patch:
        patch.setattr(Training, "train_on", lambda self, b: _stop() if self.step == stop else real(self, b))
        with pytest.raises(StopError):
            fit(linear(), Separable(), out=tmp_path / "fire", **chosen)
    assert checkpoint.newest(tmp_path / "fire" / CHECKPOINTS)[0].record["step"] == stop
    end = fit(linear(), Separable(), out=tmp_path / "fire", resume=True, **chosen)
    assert untimed(end.history) == untimed(alone.history)
    assert {"gradient_norm", "sum"} <= end.history[-1].keys()
    assert differences(tmp_path / "peace", tmp_path / "fire") == []


def _stop():
    raise StopError


def test_others_than_before_are_refused(tmp_path):
    fit(linear(), Separable(), callbacks=[Witness()], out=tmp_path / "run", **ALL)
    with pytest.raises(ValueError, match="was saved with the callbacks Witness, and cannot go on with none"):
        fit(linear(), Separable(), out=tmp_path / "run", resume=True, **{**ALL, "epochs": 3})


def test_what_is_wrong_is_said_before_anything_is_written(tmp_path):
    class Picky(Callback):
        def begin(self, training):
            raise ValueError("there are no capsules to watch")

    with pytest.raises(ValueError, match="no capsules"):
        fit(linear(), Separable(), callbacks=[Picky()], out=tmp_path / "run", **ALL)
    assert not (tmp_path / "run").exists()


def test_in_another_order_they_are_refused():
    """Each would get the state of the other."""

    class Other(Callback):
        pass

    kept = Watchers({"gradient_norm": {}}, [Witness(), Other()]).state()
    Watchers({"gradient_norm": {}}, [Witness(), Other()]).restore(kept)
    message = "with the callbacks gradient_norm, Witness, Other, and cannot go on with gradient_norm, Other, Witness"
    with pytest.raises(ValueError, match=message):
        Watchers({"gradient_norm": {}}, [Other(), Witness()]).restore(kept)
