"""Ctrl-C and SIGTERM: the last checkpoint's step, the line that goes on, and a process that ends as others expect."""

import signal
import subprocess
import threading
import time

import pytest
import torch

from benchmarks.kill import TORCHCAPS
from tests.train.separable import Separable, linear
from torchcaps.train import Stopped, checkpoint, fit
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS
from torchcaps.train.stopping import stoppable

ALL = {"validation": 0.0, "batch_size": 8, "epochs": 2, "quiet": True}


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard():
    """As at a terminal. A run that a shell started with `&` ignores Ctrl-C, and so would all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_at(monkeypatch, step, number):
    real = Training.train_on

    def train_on(self, batch):
        if self.step == step:
            signal.raise_signal(number)
        real(self, batch)

    monkeypatch.setattr(Training, "train_on", train_on)


@pytest.mark.parametrize(("number", "name", "code"), [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143)])
def test_it_says_where_it_can_go_on(tmp_path, monkeypatch, number, name, code):
    before = signal.getsignal(signal.SIGTERM)
    interrupt_at(monkeypatch, 6, number)
    with pytest.raises(Stopped, match=f"stopped by {name}; the last checkpoint is of step 4") as stop:
        fit(linear(), Separable(), out=tmp_path / "run", **ALL)
    assert stop.value.code == code
    assert signal.getsignal(signal.SIGTERM) is before
    monkeypatch.undo()
    assert len(fit(linear(), Separable(), out=tmp_path / "run", resume=True, **ALL).history) == 2


def test_before_the_first_checkpoint(tmp_path, monkeypatch):
    interrupt_at(monkeypatch, 2, signal.SIGINT)
    with pytest.raises(Stopped, match="there is no checkpoint yet, so --resume begins anew"):
        fit(linear(), Separable(), out=tmp_path / "run", **ALL)
    monkeypatch.undo()
    assert len(fit(linear(), Separable(), out=tmp_path / "run", resume=True, **ALL).history) == 2


def test_others_who_listen_for_sigterm_are_left_alone(tmp_path, monkeypatch):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        interrupt_at(monkeypatch, 6, signal.SIGTERM)
        assert len(fit(linear(), Separable(), out=tmp_path / "run", **ALL).history) == 2
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
    monkeypatch.undo()
    runs = []
    worker = threading.Thread(target=lambda: runs.append(fit(linear(), Separable(), out=tmp_path / "two", **ALL)))
    worker.start()
    worker.join()
    assert len(runs) == 1, "in another thread there are no signals to listen for"


def test_as_a_person_stops_it(tmp_path):
    """A real process: no traceback, exit code 130, and the line that it prints goes on."""
    out = tmp_path / "a run"
    command = [TORCHCAPS, "train", "peer2021/sign", "--data", "sign", "--out", str(out), "--epochs", "100000"]
    command += ["--set", "images=64", "--set", "batch_size=16", "--set", "save_every=5", "--set", "bias=true"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not checkpoint.listed(out / CHECKPOINTS):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Traceback" not in said
    step = checkpoint.step_of(checkpoint.listed(out / CHECKPOINTS)[-1])
    assert f"stopped by Ctrl-C; the last checkpoint is of step {step}. Go on with" in said
    line = said.splitlines()[-1].strip()
    assert line == f"torchcaps train peer2021/sign --data sign --out '{out}' {' '.join(command[7:])} --resume"


def test_the_last_of_several_checkpoints_is_named(tmp_path):
    for step in (8, 9, 100):
        checkpoint.save(tmp_path, step, checkpoint.Checkpoint({"step": step}, {"model.w": torch.zeros(1)}))
    with pytest.raises(Stopped, match=r"^stopped by Ctrl-C; the last checkpoint is of step 100$"), stoppable(tmp_path):
        raise KeyboardInterrupt
