"""One page about one or several runs, from what is kept with them; what is missing is measured first."""

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import torch

from torchcaps._atomic import NotWrittenError
from torchcaps.attacks import Robustness
from torchcaps.data import Dataset
from torchcaps.measures import INSPECTIONS, VIEWS, AccuracyResult, Result, inspect
from torchcaps.report._gather import LOOKED_AT, parameters, perturbations, sample_group
from torchcaps.report._gather_health import dead_of, dynamics_of
from torchcaps.report._page import write_report
from torchcaps.report._section import Section
from torchcaps.report.curves import Curve, Curves
from torchcaps.report.networks import Network, about, others
from torchcaps.report.samples import Group, Samples
from torchcaps.report.scores import Row, Scores
from torchcaps.train import Run
from torchcaps.train.findings import keep_if_possible, kept

Told = Callable[[str, str, int, int], None]
Measured = Mapping[str, Mapping[str, Result]]
"""What was measured, by run and measure."""
TESTS = {
    "clean": "Test images as they are.",
    "affine": "Rotated, sheared, scaled and moved.",
    "overlap": "Two images, one over the other; both classes must be named.",
}
NOTE = "Under each share its 95 % interval over test images; another seed would train another network."


def report_on(
    runs: Mapping[str, Run],
    path: str | Path,
    *,
    images: int,
    progress: Told,
    instead: Callable[[Measured], None] | None = None,
) -> Path:
    """Write the page, and return where it is.

    Args:
        runs: by the names they have on the page.
        images: test images to measure by, where something has not been measured yet.
        progress: told the run, the walk, how many images are done, of how many.
        instead: given what was measured if the page cannot be written, which is an error all the same.
    """
    data = {name: run.test_data(images) for name, run in runs.items()}
    networks = [_network(name, run, data[name], progress) for name, run in runs.items()]
    many = "One network" if len(runs) == 1 else f"{len(runs)} networks"
    try:
        return write_report(
            path,
            sections(runs, networks, data),
            title=f"A report on {', '.join(runs)}",
            lead=f"{many}, trained and measured on this machine.",
            facts=_facts(runs),
        )
    except NotWrittenError:
        if instead is not None:
            instead({one.name: one.found for one in networks})
        raise


def sections(runs: Mapping[str, Run], networks: Sequence[Network], data: Mapping[str, Dataset]) -> list[Section]:
    """The page, from top to bottom; a new section is one more item here."""
    rows = [_row(one, runs[one.name]) for one in networks]
    tests = {test: meaning for test, meaning in TESTS.items() if any(test in row.scores for row in rows)}
    shown = _alike(networks)
    curves = [_curve(name, run) for name, run in runs.items() if run.history]
    return [
        Scores(note=NOTE, tests=tests, rows=rows),
        *([Curves(curves=curves)] if curves else []),
        *about(networks),
        *(section for alike in shown for section in _pictures(alike, data[alike[0].name], alone=len(shown) == 1)),
        *others(networks),
    ]


def _network(name: str, run: Run, data: Dataset, progress: Told) -> Network:
    """A run with everything that can be measured of it."""
    found = kept(run)
    missing = [what for what in INSPECTIONS if what not in found]
    if missing:

        def told(walk: str, done: int, total: int) -> None:
            progress(name, walk, done, total)

        new = inspect(run.model, data, missing, progress=told)
        keep_if_possible(run, new)
        found |= new
    batch = data.batch(torch.arange(min(LOOKED_AT, len(data))))
    return Network(name, run.model, {**found, **_attacks(run)}, batch, run.classes)


def _attacks(run: Run) -> dict[str, Result]:
    """What `torchcaps attack` kept with a run."""
    found: dict[str, Result] = {}
    for path in sorted((run.directory / "attacks").glob("*.json")) if run.directory else ():
        try:
            result = Result.from_json(json.loads(path.read_text()))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(
                f"{path} cannot be read ({error}): delete it, and 'torchcaps attack' makes it again"
            ) from error
        if isinstance(result, Robustness):
            found[f"attack {path.stem}"] = result
    return found


def _row(one: Network, run: Run) -> Row:
    own, beside = parameters(one.model)
    names = {"clean": "accuracy", "affine": "affine", "overlap": "overlap"}
    found = {test: one.found.get(name) for test, name in names.items()}
    return Row(
        name=one.name,
        detail=f"{run.settings.model} on {run.settings.data}",
        parameters=own,
        decoder=beside,
        seconds=sum(entry.get("seconds", 0.0) for entry in run.history),
        scores={test: result.score for test, result in found.items() if isinstance(result, AccuracyResult)},
        dead=dead_of(one.found.get("activity")),
        dynamics=dynamics_of(one.found.get("dynamics")),
    )


def _curve(name: str, run: Run) -> Curve:
    nan = float("nan")
    return Curve(
        name,
        [entry["loss"] for entry in run.history],
        [entry.get("validation_accuracy", nan) for entry in run.history],
    )


def _alike(networks: Sequence[Network]) -> list[list[Network]]:
    """Networks that can be shown the same images, together."""
    groups: dict[tuple[object, ...], list[Network]] = {}
    for one in networks:
        key = (tuple(one.classes), one.batch.images.shape, float(one.batch.images.sum()))
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _pictures(alike: Sequence[Network], data: Dataset, *, alone: bool) -> list[Section]:
    """Samples of every view that can be made of the data, and drawings of those that draw.

    Args:
        alone: whether these are all networks of the page, so that headings need not say which.
    """
    models = {one.name: one.model for one in alike}
    groups = list[Group]()
    for test, meaning in TESTS.items():
        try:
            shown = VIEWS[test](alike[0].model, data)
        except ValueError:  # no such view of these images
            continue
        groups.append(sample_group(models, shown, test.capitalize(), meaning))
    title = "What they saw" if alone else f"What they saw: {', '.join(models)}"
    return [Samples(title=title, groups=groups), *perturbations(models, data)]


def _training(run: Run) -> str:
    told, step = run.settings, run.history[-1].get("step", 0) if run.history else 0
    return (
        f"{told.model} on {told.data}, {step:,} steps of {told.optimiser} with batches of {told.batch_size}, rate "
        f"{told.lr:g}, seed {told.seed}"
    )


def _facts(runs: Mapping[str, Run]) -> dict[str, str]:
    """How it came about."""
    trained = {name: _training(run) for name, run in runs.items()}
    machine = f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}"
    return {**trained, "Machine": machine, "Made": f"torchcaps report, {datetime.now(UTC):%Y-%m-%d}"}
