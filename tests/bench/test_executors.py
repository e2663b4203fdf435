"""Executors without processes, Ray or Slurm: stubs in their places."""

import os
import signal
import sys
from functools import partial
from multiprocessing import Pipe
from types import ModuleType, SimpleNamespace

import pytest
import torch

from tests.bench.toy import place, toy
from torchcaps.bench import store
from torchcaps.bench.executors import _base, make_executor, on_slurm
from torchcaps.bench.executors import local as processes
from torchcaps.bench.executors._base import ended, perform_unit
from torchcaps.bench.executors.local import Running, local
from torchcaps.bench.executors.on_ray import on_ray
from torchcaps.bench.plan import Unit

pytestmark = pytest.mark.usefixtures("no_shape_checks")
JOBS = toy(seeds=3).judgings("cpu")
UNITS = [Unit(f"unit {k}", (job,), 60.0, 800) for k, job in enumerate(JOBS)]
PAIR = Unit("pair", (JOBS[0], JOBS[1]), 60.0, 800)


@pytest.fixture(autouse=True)
def _no_git(monkeypatch):
    monkeypatch.setattr("torchcaps.bench.place.commit", lambda: "")


def states(where):
    return {name: line["state"] for name, line in store.results(where.results)[0].items()}


@pytest.mark.parametrize(("backend", "name"), [("local", "local"), ("ray", "on_ray"), ("slurm", "on_slurm")])
def test_an_executor_has_the_workers_asked_for_or_a_core_each(backend, name, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    for asked, given in ((3, 3), (None, 5)):
        made = make_executor(backend, asked)
        assert isinstance(made, partial)
        assert made.func.__name__ == name
        assert made.keywords == {"workers": given}


def test_an_unknown_backend_is_quoted():
    with pytest.raises(ValueError, match="backend='magic' is not allowed: choose one of 'local', 'ray', 'slurm'"):
        make_executor("magic")


def test_a_unit_is_performed_on_one_thread(tmp_path, monkeypatch):
    used = []

    def perform(jobs, where):
        for job in jobs:
            used.append(torch.get_num_threads())
            yield job, "done"

    torch.set_num_threads(2)
    monkeypatch.setattr(_base, "perform", perform)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert perform_unit(PAIR, place(tmp_path)) == [(job.name, "done") for job in PAIR.jobs]
    assert used == [1, 1]


def test_what_nobody_heard_of_failed_and_is_stored(tmp_path):
    where = place(tmp_path)
    told = list(ended(PAIR, where, {JOBS[0].name: "done"}, "it was lost"))
    assert told == [(JOBS[0], "done"), (JOBS[1], "failed")]
    assert states(where) == {JOBS[1].name: "failed"}
    assert store.results(where.results)[0][JOBS[1].name]["error"] == "it was lost"


class Process:
    """A process that never runs."""

    exitcode = -9

    def __init__(self):
        self.killed = self.joined = False

    def kill(self):
        self.killed = True

    def join(self):
        self.joined = True


class Started:
    """Stands for `_start`: each unit is a pipe whose other end says at once what it is told to."""

    def __init__(self, says):
        self.says, self.processes, self.open = says, [], []

    def __call__(self, context, unit, where):
        receiver, sender = Pipe(duplex=False)
        for job, state in self.says(unit):
            sender.send((job.name, state))
        if self.says(unit) is SILENT:
            self.open.append(sender)
        else:
            sender.close()
        self.processes.append(Process())
        _, alive = Pipe(duplex=False)
        return receiver, Running(unit, self.processes[-1], alive, set())


SILENT = []


@pytest.fixture
def started(monkeypatch):
    def make(says):
        made = Started(says)
        monkeypatch.setattr(processes, "_start", made)
        return made

    return make


def test_local_tells_of_every_job_once(started, tmp_path):
    made = started(lambda unit: [(job, "done") for job in unit.jobs])
    where = place(tmp_path)
    events = [event for event in local([PAIR, UNITS[2]], where, workers=2) if event is not None]
    assert sorted(job.name for job, _ in events) == sorted(job.name for job in JOBS[:3])
    assert {state for _, state in events} == {"done"}
    assert states(where) == {}
    assert all(process.joined and not process.killed for process in made.processes)


def test_local_stores_what_a_dead_process_never_told_of(started, tmp_path):
    started(lambda unit: [(unit.jobs[0], "done")])
    where = place(tmp_path)
    events = [event for event in local([PAIR], where, workers=1) if event is not None]
    assert events == [(JOBS[0], "done"), (JOBS[1], "failed")]
    assert store.results(where.results)[0][JOBS[1].name]["error"] == "its process ended with code -9"


def test_local_has_no_more_processes_than_workers(started, tmp_path):
    made = started(lambda unit: [(job, "done") for job in unit.jobs])
    events = local(UNITS, place(tmp_path), workers=2)
    for _, heard in zip(events, range(len(UNITS)), strict=False):
        over = sum(process.joined for process in made.processes)
        assert len(made.processes) - over <= 2, f"after {heard} events"
    assert len(made.processes) >= 4


def test_a_stopped_runner_kills_what_is_running(started, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "TICK", 0.01)
    made = started(lambda unit: SILENT)
    events = local(UNITS, place(tmp_path), workers=2)
    assert next(events) is None
    events.close()
    assert [(process.killed, process.joined) for process in made.processes] == [(True, False)] * 2


def test_a_process_works_on_one_thread_and_tells_of_each_job(tmp_path, monkeypatch):
    used, told, watchers = [], [], []

    def perform(jobs, where):
        for job in jobs:
            used.append(torch.get_num_threads())
            yield job, "done"

    monkeypatch.setattr(processes, "perform", perform)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    torch.set_num_threads(2)
    monkeypatch.setattr(processes, "_end_with", watchers.append)
    processes._work(PAIR, place(tmp_path), SimpleNamespace(send=told.append), "the runner's pipe")
    assert watchers == ["the runner's pipe"]
    assert used == [1, 1]
    assert told == [(job.name, "done") for job in PAIR.jobs]


def test_a_process_ends_with_its_runner(monkeypatch):
    codes = []
    monkeypatch.setattr(os, "_exit", codes.append)
    watched, alive = Pipe(duplex=False)
    alive.close()
    processes._end_with(watched)
    assert codes == [1]


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class Ray(ModuleType):
    """Ray as far as it is used here: tasks run when they are asked for, and may be lost."""

    def __init__(self, *, running=False, lost=()):
        super().__init__("ray")
        self.running, self.lost, self.calls = running, lost, []
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def is_initialized(self):
        return self.running

    def init(self, **options):
        self.calls.append(("init", options))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as Ray does

    def shutdown(self):
        self.calls.append(("shutdown", {}))

    def remote(self, **options):
        self.calls.append(("remote", options))
        return lambda function: SimpleNamespace(remote=lambda unit, where: unit.title)

    def wait(self, references, timeout):
        return references[:1], references[1:]

    def get(self, reference):
        if reference in self.lost:
            raise RayError("its worker died")
        return [(job.name, "done") for unit in UNITS if unit.title == reference for job in unit.jobs]


@pytest.fixture
def ray(monkeypatch):
    def make(**options):
        made = Ray(**options)
        monkeypatch.setitem(sys.modules, "ray", made)
        return made

    return make


def test_ray_gives_each_unit_a_core_and_three_tries(ray, tmp_path):
    made, before = ray(), signal.getsignal(signal.SIGTERM)
    events = list(on_ray(UNITS, place(tmp_path), workers=4))
    assert signal.getsignal(signal.SIGTERM) is before
    assert events == [(job, "done") for job in JOBS]
    init, remote, shutdown = made.calls
    assert init[1]["num_cpus"] == 4
    assert remote == ("remote", {"num_cpus": 1, "max_retries": 2})
    assert shutdown == ("shutdown", {})


def test_a_cluster_that_others_began_is_left_running(ray, tmp_path):
    made = ray(running=True)
    assert len(list(on_ray(UNITS, place(tmp_path), workers=4))) == len(UNITS)
    assert [name for name, _ in made.calls] == ["remote"]


def test_a_task_that_ray_lost_failed_and_the_others_go_on(ray, tmp_path):
    ray(lost={"unit 1"})
    where = place(tmp_path)
    events = list(on_ray(UNITS, where, workers=4))
    assert [state for _, state in events] == ["done", "failed", "done", "done", "done", "done"]
    assert store.results(where.results)[0][JOBS[1].name]["error"] == "Ray lost it 3 times: RayError"


class Slurm:
    """submitit's executor as far as it is used here; jobs of some titles are killed so many times."""

    def __init__(self, cluster="slurm", killed=None):
        self.cluster, self.killed, self.asked, self.tried = cluster, killed or {}, [], []

    def update_parameters(self, **options):
        self.asked.append(options)

    def submit(self, task):
        title = task.unit.title
        self.tried.append(title)
        lost = self.tried.count(title) <= self.killed.get(title, 0)
        return SimpleNamespace(
            done=lambda: True,
            exception=lambda: RuntimeError("killed") if lost else None,
            result=lambda: [(job.name, "done") for job in task.unit.jobs],
        )


def submitted(slurm, units, where, monkeypatch, workers=2):
    monkeypatch.setattr(on_slurm, "_executor", lambda place, cluster: slurm)
    return list(on_slurm.on_slurm(units, where, workers=workers))


def test_slurm_is_told_time_memory_and_who_must_be_alone(tmp_path, monkeypatch):
    slurm = Slurm()
    large = Unit("large", (JOBS[0],), 3600.0, 4000)
    quiet = Unit("quiet", (JOBS[1],), 30.0, 400, alone=True)
    assert len(submitted(slurm, [large, quiet], place(tmp_path), monkeypatch)) == 2
    plain = {"name": "torchcaps-bench", "cpus_per_task": 1}
    assert slurm.asked == [
        {**plain, "mem_gb": 8, "timeout_min": 240},
        {**plain, "mem_gb": 2, "timeout_min": 10, "slurm_exclusive": True},
    ]
    here = Slurm("local")
    submitted(here, [quiet], place(tmp_path), monkeypatch)
    assert "slurm_exclusive" not in here.asked[0]


def test_a_job_that_slurm_killed_is_handed_in_three_times(tmp_path, monkeypatch):
    slurm, where = Slurm(killed={"unit 0": 2, "unit 1": 3}), place(tmp_path)
    events = submitted(slurm, UNITS[:3], where, monkeypatch)
    assert sorted((job.name, state) for job, state in events) == sorted(
        [(JOBS[0].name, "done"), (JOBS[1].name, "failed"), (JOBS[2].name, "done")]
    )
    assert [slurm.tried.count(f"unit {k}") for k in range(3)] == [3, 3, 1]
    assert store.results(where.results)[0][JOBS[1].name]["error"] == "Slurm lost it 3 times: RuntimeError"


@pytest.mark.parametrize(("cluster", "there"), [("slurm", None), ("slurm", "/bin/sbatch"), ("local", None)])
def test_a_missing_slurm_is_said_before_anything_is_sent(tmp_path, monkeypatch, cluster, there):
    made = SimpleNamespace(AutoExecutor=lambda folder, cluster: Slurm(cluster))
    monkeypatch.setitem(sys.modules, "submitit", made)
    monkeypatch.setattr(on_slurm.shutil, "which", lambda name: there)
    events = on_slurm.on_slurm(UNITS[:1], place(tmp_path), workers=1, cluster=cluster)
    if cluster == "slurm" and there is None:
        with pytest.raises(ValueError, match="there is no Slurm here"):
            next(events)
    else:
        assert list(events) == [(JOBS[0], "done")]


def test_a_preempted_job_is_handed_in_again(tmp_path):
    task = on_slurm.Task(*map(object.__new__, (object, object)))
    again = task.checkpoint()
    assert again.function is task
