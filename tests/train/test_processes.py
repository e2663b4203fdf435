"""Several processes: who is first, how many there are, and which errors mean that one was lost."""

import threading

import pytest
from lightning_fabric import Fabric

from torchcaps.train import processes
from torchcaps.train.processes import is_first, launched, size

NAMES = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID", "TORCHELASTIC_RUN_ID")


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", NAMES[:4])
def test_only_the_first_speaks_whoever_started_them(name, monkeypatch):
    """Torchrun, Fabric's own launcher and Slurm each have their names for it; one that is not 0 is enough."""
    assert is_first()
    monkeypatch.setenv(name, "0")
    assert is_first()
    monkeypatch.setenv(name, "1")
    assert not is_first()


def test_torchrun_knows_how_many_there_are(monkeypatch):
    assert size(4, 2) == (4, 2)
    for name, value in {"LOCAL_WORLD_SIZE": 2, "GROUP_WORLD_SIZE": 3, "WORLD_SIZE": 6}.items():
        monkeypatch.setenv(name, str(value))
    assert size(4, 2) == (4, 2)
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert size(4, 2) == (2, 3)


class Some(Fabric):
    """So many processes, of which this is one; the others need not be started."""

    world_size = 0

    def __init__(self, count):
        self.world_size = count

    def launch(self):
        pass


@pytest.mark.parametrize(
    ("count", "message", "lost"),
    [
        (1, "gloo: Connection closed by peer", False),
        (2, "gloo: Connection closed by peer", True),
        (2, "NCCL error", True),
        (2, "Timed out waiting 1800000ms", True),
        (2, "mat1 and mat2 shapes cannot be multiplied", False),
    ],
)
def test_a_process_that_was_lost_is_told_from_other_errors(count, message, lost):
    with pytest.raises(ConnectionError if lost else RuntimeError) as error, launched(Some(count)):
        raise RuntimeError(message)
    said = f"process 0 of this training stops: another of {count} has ended ({message}). Go on with --resume"
    assert str(error.value) == (said if lost else message)


@pytest.mark.parametrize("rank", ["0", "1"])
def test_a_process_whose_parent_is_gone_says_so_and_ends(rank, monkeypatch, capsys):
    parents, ended = iter([7, 7, 1]), threading.Event()
    codes = []

    def leave(code):
        codes.append(code)
        ended.set()

    monkeypatch.setenv("LOCAL_RANK", rank)
    monkeypatch.setattr(processes.os, "getppid", lambda: next(parents, 1))
    monkeypatch.setattr(processes.os, "_exit", leave)
    monkeypatch.setattr(processes.time, "sleep", lambda _: None)
    with launched(Some(2)):
        assert ended.wait(0.2 if rank == "0" else 30) == (rank == "1")
    said = "process 1 of this training stops: the process that started this one has ended. Go on with --resume"
    assert codes == ([] if rank == "0" else [1])
    assert capsys.readouterr().err == ("" if rank == "0" else f"torchcaps: {said}\n")
