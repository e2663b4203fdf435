"""What is to be done: jobs grouped into units for one process each, those that are finished left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torchcaps.bench import store
from torchcaps.bench.artefact import Artefact, Scale
from torchcaps.bench.jobs import Judging, Training, digest, told
from torchcaps.bench.place import Place

SMOKE = "smoke"


@dataclass(frozen=True)
class Unit:
    """Jobs for one process, one after the other.

    Args:
        seconds: expected for all of them.
        megabytes: the most that the process is expected to need.
        alone: whether nothing may run beside it.
    """

    title: str
    jobs: tuple[Judging, ...]
    seconds: float
    megabytes: float | int
    alone: bool = False


@dataclass(frozen=True)
class Plan:
    """All units of a run, and how many jobs are finished already."""

    units: tuple[Unit, ...]
    finished: int

    @property
    def jobs(self) -> list[Judging]:
        """All that is to be judged."""
        return [job for unit in self.units for job in unit.jobs]

    @property
    def trainings(self) -> dict[str, Training]:
        """All trainings that this needs, by name."""
        return {training.name: training for job in self.jobs for training in job.trainings}

    def seconds(self, workers: int) -> float:
        """How long it is expected to take with so many processes side by side."""
        together = sum(unit.seconds for unit in self.units if not unit.alone)
        longest = max((unit.seconds for unit in self.units if not unit.alone), default=0.0)
        return max(together / workers, longest) + sum(unit.seconds for unit in self.units if unit.alone)

    def megabytes(self, workers: int) -> float | int:
        """The most memory that processes side by side are expected to need."""
        return sum(sorted((unit.megabytes for unit in self.units), reverse=True)[:workers])


def plan(artefacts: Sequence[Artefact], scale: Scale, place: Place, *, seeds: int | None = None) -> Plan:
    """The units that are left to do, in the order of the artefacts; those that must be alone come last.

    Artefacts that do not have the scale are left out.
    """
    known, _ = store.results(place.results)
    done = {name for name, line in known.items() if line["state"] == store.DONE}
    spent = _spent(known.values())
    units, finished = list[Unit](), 0
    for artefact in (one for one in artefacts if scale in one.budgets):
        every = artefact.judgings(scale, seeds)
        left = [job for job in every if job.name not in done]
        finished += len(every) - len(left)
        each = 60 * artefact.budgets[scale].minutes / max(1, len(every))
        units += [_unit(artefact, scale, jobs, each, spent) for jobs in _groups(artefact, scale, left)]
    units = units if scale == SMOKE else _shared(units)
    return Plan(tuple(sorted(units, key=lambda unit: (unit.alone, _needs_others(unit)))), finished)


def _groups(artefact: Artefact, scale: Scale, jobs: Sequence[Judging]) -> list[list[Judging]]:
    """At smoke one group for the artefact, since imports cost seconds; otherwise one for each training."""
    groups: dict[tuple[bool, str], list[Judging]] = {}
    for job in jobs:
        own = "" if scale == SMOKE else job.name if job.training is None else job.training.name
        groups.setdefault((artefact.row(job.row).alone, own), []).append(job)
    return list(groups.values())


def _unit(artefact: Artefact, scale: Scale, jobs: list[Judging], each: float, spent: dict[str, float]) -> Unit:
    seconds = sum(each if job.training is None else spent.get(_kind(job.training), each) for job in jobs)
    title = artefact.id if scale == SMOKE else jobs[0].title
    alone = artefact.row(jobs[0].row).alone
    return Unit(title, tuple(jobs), seconds, artefact.budgets[scale].megabytes, alone)


def _shared(units: Iterable[Unit]) -> list[Unit]:
    """Units of several artefacts that need the same training, as one; one that must be alone stays so."""
    found: dict[tuple[bool, str], Unit] = {}
    for unit in units:
        first = unit.jobs[0]
        key = unit.alone, first.name if first.training is None or first.others else first.training.name
        if key in found:
            before = found[key]
            unit = replace(before, jobs=before.jobs + unit.jobs, megabytes=max(before.megabytes, unit.megabytes))
        found[key] = unit
    return list(found.values())


def _needs_others(unit: Unit) -> bool:
    return any(job.others for job in unit.jobs)


def _kind(training: Training) -> str:
    """A training's name without its seed."""
    return digest({**told(training.settings), "seed": None})


def _spent(lines: Iterable[store.Line]) -> dict[str, float]:
    """How long trainings took that differ by their seed alone."""
    return {
        digest({**line["settings"], "seed": None}): line["seconds"]
        for line in lines
        if line["job"] == "training" and line["state"] == store.DONE
    }
