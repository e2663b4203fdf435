"""What a contest leaves in its folder: the page, and the table as JSON."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from torchcaps._atomic import write_text
from torchcaps.bench.compare.answer import answer, differences
from torchcaps.bench.compare.outcome import Outcome
from torchcaps.bench.spans import span
from torchcaps.measures.views import VIEWS
from torchcaps.report import (
    Curves,
    Differences,
    Group,
    Network,
    Samples,
    Scores,
    Section,
    about,
    perturbations,
    sample_group,
    write_report,
)

EXAMPLES = 100  # images from which those whose trees are shown are chosen
PAGE, NUMBERS = "report.html", "results.json"


def write(folder: Path, outcome: Outcome, *, title: str, lead: str, command: str) -> Path:
    """Write both files, and return where the page is.

    Args:
        lead: under the title, before the answer.
        command: that makes them again.
    """
    facts = _facts(outcome, command)
    results = json.dumps(_results(outcome, facts), indent=2, ensure_ascii=False)
    write_text(folder / NUMBERS, results + "\n")
    said = " ".join([lead, *answer(outcome.contest, outcome.gathered.evidence)])
    return write_report(folder / PAGE, sections(outcome), title=title, lead=said, facts=facts)


def sections(outcome: Outcome) -> list[Section]:
    """The page, from top to bottom; a new section is one more item here."""
    contest, data = outcome.contest, outcome.data
    batch = data.batch(torch.arange(min(EXAMPLES, len(data))))
    networks = [
        Network(name, model, outcome.found[name], batch, data.classes) for name, model in outcome.models.items()
    ]
    pairs = differences(contest, outcome.gathered.evidence)
    lines = [(d.test, f"{d.better} over {d.worse}", d.told, "sure" if d.sure else d.why) for d in pairs]
    compared: Sequence[Section] = [Differences(lines=lines)] if contest.seeds > 1 else []
    return [
        Scores(note=caveats(outcome), tests=contest.tests, rows=outcome.rows),
        *compared,
        Curves(curves=outcome.curves),
        *about(networks),
        Samples(groups=_samples(outcome)),
        *perturbations(outcome.models, data),
    ]


def caveats(outcome: Outcome) -> str:
    """What the table does not show, for whoever would read more into it."""
    contest = outcome.contest
    beside = [
        f"a decoder of {row.decoder:,} parameters beside {row.name} in training" for row in outcome.rows if row.decoder
    ]
    one = contest.seeds < 2
    limits = ["one seed" if one else f"{contest.seeds} seeds", contest.rate, *beside]
    over = "test images; another seed would train another network" if one else "seeds and test images"
    lead = "This shows how to look, not who wins: " if one else "Equal budgets, and these limits: "
    return f"{lead}{', '.join(limits)}. Under each share its 95 % interval over {over}."


def _samples(outcome: Outcome) -> list[Group]:
    """From each test a few images, the same that the networks were judged by."""
    one = next(iter(outcome.models.values()))
    seen = {test: VIEWS[test](one, outcome.data) for test in outcome.contest.tests if test in VIEWS}
    tests = outcome.contest.tests
    return [sample_group(outcome.models, data, test.capitalize(), tests[test]) for test, data in seen.items()]


def _facts(outcome: Outcome, command: str) -> dict[str, str]:
    """How it came about."""
    contest = outcome.contest
    settings = contest.training(contest.entrants[0])
    long = f"{settings.epochs} epochs" if settings.steps is None else f"{settings.steps} steps"
    return {
        "Made by": command,
        "Data": f"{contest.title}: {len(outcome.data.classes)} classes, {len(outcome.data):,} images to test",
        "Training": f"{long}, Adam, batches of {settings.batch_size}, rate {settings.lr:g}, {settings.lr_schedule} "
        f"schedule, seeds from {contest.first} to {contest.first + contest.seeds - 1}",
        "Machine": f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}",
        "Time": f"{span(outcome.gathered.seconds)} of one core, {datetime.now(UTC):%Y-%m-%d}",
    }


def _results(outcome: Outcome, facts: dict[str, str]) -> dict[str, Any]:
    """The table with all that is needed to make it again."""
    rows = []
    for row, curve in zip(outcome.rows, outcome.curves, strict=True):
        scores = {test: score._asdict() for test, score in row.scores.items()}
        history = {"loss": curve.loss, "validation_accuracy": curve.accuracy}
        rows.append({**asdict(row), "scores": scores, "history": history})
    contest, evidence = outcome.contest, outcome.gathered.evidence
    return {
        "command": facts["Made by"],
        "data": contest.title,
        "answer": answer(contest, evidence),
        "facts": facts,
        "contest": asdict(contest),
        "rows": rows,
        "differences": [asdict(one) for one in differences(contest, evidence)],
    }
