"""Whether the stored seeds of every row are all that they should be, and of the settings that its artefact has."""

from collections.abc import Sequence
from pathlib import Path

from torchcaps.bench import store
from torchcaps.bench.artefact import Artefact, Scale
from torchcaps.bench.gather import Gathered, gather
from torchcaps.bench.jobs import Judging, told


def wrong_seeds(artefacts: Sequence[Artefact], scale: Scale, folder: Path) -> list[str]:
    """A line for every seed that is missing though a later one is there, and for every result of other settings.

    A seed that failed, or whose data cannot be had, is not missing: the page tells it.
    """
    known, _ = store.results(folder)
    found = list[str]()
    for artefact in artefacts:
        if scale in artefact.budgets:
            found += _of_artefact(artefact, gather(artefact, scale, known))
    return found


def _of_artefact(artefact: Artefact, gathered: Gathered) -> list[str]:
    found, rows = list[str](), dict[str, list[Judging]]()
    failed = {(line["row"], line["seed"]) for line in gathered.failed}
    most = 1 + max((seed for _, seed in gathered.lines), default=-1) - artefact.first_seed
    for job in artefact.judgings(gathered.scale, most) if most > 0 else []:
        rows.setdefault(job.row, []).append(job)
    for row, jobs in rows.items():
        there = [(row, job.seed) in gathered.lines for job in jobs]
        last = max((k for k, done in enumerate(there) if done), default=0)
        for job, done in zip(jobs[:last], there, strict=False):
            if not done and (row, job.seed) not in failed:
                found.append(f"{gathered.scale}: {job.title}, is missing, and later ones are there: run it")
        found += [
            _other(gathered, job) for job, done in zip(jobs, there, strict=True) if done and _differs(gathered, job)
        ]
    return found


def _differs(gathered: Gathered, job: Judging) -> bool:
    wanted = None if job.training is None else told(job.training.settings)
    return bool(gathered.lines[job.row, job.seed]["settings"] != wanted)


def _other(gathered: Gathered, job: Judging) -> str:
    return f"{gathered.scale}: {job.title}, says other settings than those of its row"
