"""What is known of an artefact at a scale: from stored lines to evidence, and to what its pictures need."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torchcaps.bench import store
from torchcaps.bench.artefact import Artefact, Scale
from torchcaps.bench.evidence import At, Evidence, Number
from torchcaps.bench.store import Line
from torchcaps.bench.subject import from_json

UNAVAILABLE = "data unavailable"


@dataclass(frozen=True)
class Gathered:
    """The results of an artefact at a scale.

    Args:
        lines: finished judgings, by row and seed.
        trainings: finished trainings, by name.
        failed: judgings that failed, or whose data cannot be had.
        expected: how many judgings there are to be.
    """

    artefact: Artefact
    scale: Scale
    evidence: Evidence
    lines: Mapping[tuple[str, int], Line]
    trainings: Mapping[str, Line]
    failed: tuple[Line, ...]
    expected: int

    def seeds(self, row: str) -> list[int]:
        """The seeds of a row that are finished."""
        return sorted(seed for name, seed in self.lines if name == row)

    def details(self, row: str, name: str) -> list[Any]:
        """What a row's measures kept under a name, a value for each seed."""
        found = [self.lines[row, seed]["details"] for seed in self.seeds(row)]
        return [details[name] for details in found if name in details]

    def histories(self, row: str) -> list[list[dict[str, Any]]]:
        """How a row's trainings went, seed by seed."""
        names = [self.lines[row, seed]["trainings"][0] for seed in self.seeds(row)]
        return [self.trainings[name]["history"] for name in names if name in self.trainings]

    @property
    def seconds(self) -> float:
        """What all of it cost, trainings that are shared with others included."""
        used = {name for line in self.lines.values() for name in line["trainings"]}
        judged = sum(line["seconds"] for line in self.lines.values())
        return float(judged + sum(self.trainings[name]["seconds"] for name in used if name in self.trainings))


def gather(artefact: Artefact, scale: Scale, results: Mapping[str, Line]) -> Gathered:
    """The results of an artefact, of all seeds that are stored.

    Args:
        results: of all jobs, by name: see `store.results`.
    """
    own = {row.id for row in artefact.rows if row.seeds}
    lines = [line for line in results.values() if line.get("artefact") == artefact.id and line["row"] not in own]
    stored = [line["seed"] + 1 - artefact.first_seed for line in lines]
    jobs = artefact.judgings(scale, max([artefact.budgets[scale].seeds, *stored]))
    found = {(job.row, job.seed): results[job.name] for job in jobs if job.name in results}
    done = {key: line for key, line in found.items() if line["state"] == store.DONE}
    trainings = {
        name: line for name, line in results.items() if line["job"] == "training" and line["state"] == store.DONE
    }
    return Gathered(
        artefact,
        scale,
        _evidence(artefact, scale, found, done),
        done,
        trainings,
        tuple(line for line in found.values() if line["state"] != store.DONE),
        len(artefact.judgings(scale)),
    )


def _evidence(
    artefact: Artefact,
    scale: Scale,
    found: Mapping[tuple[str, int], Line],
    done: Mapping[tuple[str, int], Line],
) -> Evidence:
    numbers: dict[At, dict[int, Number]] = {}
    missed: dict[str, list[int]] = {}
    for (row, seed), line in done.items():
        for name, value in line["numbers"].items():
            numbers.setdefault(At(row, name), {})[seed] = from_json(value)
        if line.get("reached") is False:
            missed.setdefault(row, []).append(seed)
    judged = {row for row, _ in done}
    absent = {row: _why(line) for (row, _), line in found.items() if row not in judged}
    own = {row.id: row.seeds for row in artefact.rows if row.seeds}
    return Evidence(numbers, absent, artefact.budgets[scale].cut, missed, artefact.first_seed, own)


def _why(line: Line) -> str:
    if line["state"] == store.UNAVAILABLE:
        return UNAVAILABLE
    return f"failed: {line['error'].splitlines()[0]}"
