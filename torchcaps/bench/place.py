"""Where results are stored, and where weights, checkpoints and locks lie meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from torchcaps.bench import store
from torchcaps.bench.environment import commit, environment, peak_megabytes
from torchcaps.bench.jobs import Judging, Training

TRAININGS = "trainings"


@dataclass(frozen=True)
class Place:
    """The folders of one run.

    Args:
        results: of one scale; what is in it is worth keeping.
        work: for weights, checkpoints and locks; it can be deleted when nothing runs.
        run: names this run, so that a training that failed is not tried again for every row that needs it.
    """

    results: Path
    work: Path
    scale: str
    run: str = ""

    def file(self, job: Judging | Training) -> Path:
        """The file that a job's result goes to: one for each artefact, one for all trainings."""
        name = TRAININGS if isinstance(job, Training) else job.artefact.replace("/", "-")
        return self.results / f"{name}{store.ENDING}"

    def weights(self, training: Training) -> Path:
        """The folder of a training."""
        return self.work / TRAININGS / training.name

    @contextmanager
    def lock(self, name: str, *, wait: bool) -> Iterator[None]:
        """Hold the lock of a job, which goes with the process if that is killed.

        Args:
            wait: for another process that holds it, instead of a `filelock.Timeout`.
        """
        folder = self.work / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{name}.lock", timeout=-1 if wait else 0):
            yield

    def origin(self) -> dict[str, Any]:
        """What every result says of where and when it was made."""
        return {
            "scale": self.scale,
            "megabytes": peak_megabytes(),
            "commit": commit(),
            "environment": environment(),
            "finished": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
