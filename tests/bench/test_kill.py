"""Killed at any moment: a runner, a worker of Ray, a job of Slurm; and two runners at once."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.bench.toy import SLOW, inline, numbers, place, toy
from torchcaps.bench import store
from torchcaps.bench.executors import make_executor
from torchcaps.bench.executors.on_slurm import on_slurm
from torchcaps.bench.runner import run
from torchcaps.train.loop import Training

ARTEFACT = toy(settings=SLOW, seeds=1)
STEPS = 3 * -(-2000 // 32)


def begin(folder):
    return subprocess.Popen([sys.executable, "-m", "tests.bench.toy", str(folder)], stderr=subprocess.DEVNULL)


def last_checkpoint(where):
    steps = [int(path.stem.split("-")[1]) for path in where.work.rglob("step-*.safetensors")]
    return max(steps, default=0)


def wait_for_checkpoint(where, step, seconds=200):  # Ray takes a minute to begin on a busy machine
    until = time.monotonic() + seconds
    while last_checkpoint(where) < step:
        assert time.monotonic() < until, "no checkpoint was written"
        time.sleep(0.02)


def wait_for_nobody(where, seconds=60):
    """A runner's processes end with it: as soon as the system comes to it, which on a busy machine may take a while."""
    until = time.monotonic() + seconds
    while list(holders(where.work)):
        assert time.monotonic() < until, "its process goes on without it"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What two runners find that begin at once on the same folder, and do nothing twice."""
    folder = tmp_path_factory.mktemp("undisturbed")
    runners = [begin(folder), begin(folder)]
    assert [runner.wait(240) for runner in runners] == [0, 0]
    lines = [line for path in place(folder).results.glob("*.jsonl") for line in store.read(path)[0]]
    assert len(lines) == len({line["name"] for line in lines}) == 4
    assert {line["state"] for line in lines} == {"done"}
    return numbers(store.results(place(folder).results)[0])


def test_two_runners_on_one_folder_do_nothing_twice(undisturbed):
    assert len(undisturbed) == 2


def test_a_killed_runner_loses_the_steps_since_a_checkpoint_at_most(tmp_path, undisturbed, monkeypatch):
    where = place(tmp_path)
    runner = begin(tmp_path)
    wait_for_checkpoint(where, 40)
    runner.kill()
    runner.wait()
    wait_for_nobody(where)
    kept = last_checkpoint(where)
    assert 40 <= kept < STEPS
    steps = []
    train_on = Training.train_on
    monkeypatch.setattr(Training, "train_on", lambda self, batch: steps.append(self.step) or train_on(self, batch))
    assert run([ARTEFACT], "cpu", where, inline) == {"done": 2}
    assert steps[0] == kept
    assert len(steps) == 2 * STEPS - kept
    assert numbers(store.results(where.results)[0]) == undisturbed


def kill_worker(where, killed):
    """Kill the first process that holds a file of the work folder, once it has a checkpoint to go on from."""
    wait_for_checkpoint(where, 40)
    killed.append(next(pid for pid in holders(where.work) if pid != os.getpid()))
    os.kill(killed[0], signal.SIGKILL)


def holders(folder):
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                opened = [os.readlink(handle) for handle in (entry / "fd").iterdir()]
            except OSError:
                continue
            if any(path.startswith(str(folder)) and path.endswith("log.jsonl") for path in opened):
                yield int(entry.name)


def test_ray_with_a_worker_killed_gives_the_same_results(tmp_path, undisturbed):
    where, killed = place(tmp_path), []
    killer = threading.Thread(target=kill_worker, args=(where, killed))
    killer.start()
    assert run([ARTEFACT], "cpu", where, make_executor("ray", 2)) == {"done": 2}
    killer.join()
    assert len(killed) == 1
    lines = [line for path in where.results.glob("*.jsonl") for line in store.read(path)[0]]
    assert sorted(line["job"] for line in lines) == ["judging"] * 2 + ["training"] * 2
    assert numbers(store.results(where.results)[0]) == undisturbed


def test_slurm_hands_a_killed_job_in_again(tmp_path, undisturbed):
    where, killed = place(tmp_path), []
    killer = threading.Thread(target=kill_worker, args=(where, killed))
    killer.start()

    def executor(units, where):
        return on_slurm(units, where, workers=2, cluster="local")

    assert run([ARTEFACT], "cpu", where, executor) == {"done": 2}
    killer.join()
    assert len(killed) == 1
    assert numbers(store.results(where.results)[0]) == undisturbed


def test_a_process_that_dies_takes_no_other_with_it(tmp_path):
    where, killed = place(tmp_path), []
    killer = threading.Thread(target=kill_worker, args=(where, killed))
    killer.start()
    states = run([ARTEFACT], "cpu", where, make_executor("local", 2))
    killer.join()
    assert states == {"done": 1, "failed": 1}
    failed = [line for line in store.results(where.results)[0].values() if line["state"] == "failed"]
    assert failed[0]["error"] == "its process ended with code -9"
    assert run([ARTEFACT], "cpu", where, inline) == {"done": 1}
