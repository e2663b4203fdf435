"""Slurm, through submitit. All machines must see the same results and work folders."""

import shutil
import time
from collections.abc import Iterator, Sequence
from typing import Any

from torchcaps.bench.executors._base import TRIES, Event, ended, perform_unit
from torchcaps.bench.place import Place
from torchcaps.bench.plan import Unit

SLACK = 4
"""A job may take so many times as long as expected before Slurm ends it."""


class Task:
    """A unit that Slurm may stop and begin again: what is finished is skipped, a training goes on."""

    def __init__(self, unit: Unit, place: Place) -> None:
        self.unit, self.place = unit, place

    def __call__(self) -> list[tuple[str, str]]:
        """Do the work."""
        return perform_unit(self.unit, self.place)

    def checkpoint(self) -> Any:
        """What submitit hands in again when the job is preempted or out of time."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def on_slurm(units: Sequence[Unit], place: Place, *, workers: int, cluster: str = "slurm") -> Iterator[Event]:
    """A Slurm job for each unit, at most `workers` at once; one that is killed is handed in again.

    Args:
        cluster: "local" for processes of this machine instead, to try it out.
    """
    waiting, running = [(unit, 1) for unit in units], list[tuple[Any, Unit, int]]()
    executor = _executor(place, cluster)
    while waiting or running:
        while waiting and len(running) < workers:
            unit, tried = waiting.pop(0)
            running.append((_submitted(executor, unit, place), unit, tried))
        over = [entry for entry in running if entry[0].done()]
        for job, unit, tried in over:
            running.remove((job, unit, tried))
            error = job.exception()
            if error is not None and tried < TRIES:
                waiting.append((unit, tried + 1))
                continue
            states = dict(job.result()) if error is None else {}
            yield from ended(unit, place, states, f"Slurm lost it {TRIES} times: {type(error).__name__}")
        if not over:
            time.sleep(1)
            yield None


def _executor(place: Place, cluster: str) -> Any:
    try:
        import submitit
    except ModuleNotFoundError:
        raise ValueError("submitit is not installed: pip install 'torchcaps[slurm]'") from None
    if cluster == "slurm" and shutil.which("sbatch") is None:
        raise ValueError("there is no Slurm here: sbatch is not found; choose --backend local or ray")
    return submitit.AutoExecutor(folder=place.work / "slurm", cluster=cluster)


def _submitted(executor: Any, unit: Unit, place: Place) -> Any:
    executor.update_parameters(
        name="torchcaps-bench",
        cpus_per_task=1,
        mem_gb=max(2, round(unit.megabytes / 500)),
        timeout_min=max(10, round(unit.seconds / 60 * SLACK)),
        **({"slurm_exclusive": True} if unit.alone and executor.cluster == "slurm" else {}),
    )
    return executor.submit(Task(unit, place))
