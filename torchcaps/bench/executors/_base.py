"""What every executor is."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from torchcaps.bench import store
from torchcaps.bench.jobs import Judging
from torchcaps.bench.perform import failure, perform
from torchcaps.bench.place import Place
from torchcaps.bench.plan import Unit

TRIES = 3
"""How often a unit is given to a cluster whose machines may be taken away."""

Event = tuple[Judging, str] | None
"""A job with how it ended; or nothing, once a second, so that the one who waits can say something."""

Executor = Callable[[Sequence[Unit], Place], Iterator[Event]]
"""Does units side by side and tells of each job as it ends, in any order."""

BACKENDS = ("local", "ray", "slurm")


def make_executor(backend: str = "local", workers: int | None = None) -> Executor:
    """An executor by name.

    Args:
        workers: processes side by side; a core each if not given.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend={backend!r} is not allowed: choose one of {', '.join(map(repr, BACKENDS))}")
    count = workers or os.cpu_count() or 1
    if backend == "ray":
        from torchcaps.bench.executors.on_ray import on_ray

        return partial(on_ray, workers=count)
    if backend == "slurm":
        from torchcaps.bench.executors.on_slurm import on_slurm

        return partial(on_slurm, workers=count)
    from torchcaps.bench.executors.local import local

    return partial(local, workers=count)


def perform_unit(unit: Unit, place: Place) -> list[tuple[str, str]]:
    """All jobs of a unit, in this process on one thread: their names, and how they ended."""
    import torch

    torch.set_num_threads(1)
    return [(job.name, state) for job, state in perform(unit.jobs, place)]


def ended(unit: Unit, place: Place, states: Mapping[str, str], reason: str) -> Iterator[Event]:
    """Tell of all jobs of a unit; those that nobody heard of are stored as failed, for this reason."""
    for job in unit.jobs:
        if job.name not in states:
            store.append(place.file(job), failure(job, place, reason))
        yield job, states.get(job.name, store.FAILED)
