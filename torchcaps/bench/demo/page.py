"""What `torchcaps demo` leaves in its folder: the page, and the table as JSON."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from torchcaps.bench.demo.digits import CANVAS, TESTS, Digits, Outcome, Plan, placed
from torchcaps.data import Affine, Dataset, Overlapping
from torchcaps.report import (
    Curves,
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


def write(folder: Path, plan: Plan, digits: Digits, outcome: Outcome, *, seconds: float) -> Path:
    """Write both files, and return where the page is."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = _facts(plan, digits, seconds)
    results = json.dumps(_results(plan, digits, outcome, facts), indent=2, ensure_ascii=False)
    (folder / "results.json").write_text(results + "\n", encoding="utf-8")
    return write_report(
        folder / "report.html",
        sections(plan, digits, outcome),
        title="Capsules and convolutions, side by side",
        lead=f"{digits.told(plan)} {digits.warning}".strip(),
        facts=facts,
    )


def sections(plan: Plan, digits: Digits, outcome: Outcome) -> list[Section]:
    """The page, from top to bottom; a new section is one more item here."""
    test = placed(digits.test, plan.seed)
    batch = test.batch(torch.arange(min(EXAMPLES, len(test))))
    networks = [
        Network(name, model, outcome.found[name], batch, test.classes) for name, model in outcome.models.items()
    ]
    return [
        Scores(note=caveats(plan, outcome), tests=TESTS, rows=outcome.rows),
        Curves(curves=outcome.curves),
        *about(networks),
        Samples(groups=_samples(plan, digits, outcome)),
        *perturbations(outcome.models, test),
    ]


def caveats(plan: Plan, outcome: Outcome) -> str:
    """What the table does not show, for whoever would read a contest into it."""
    beside = [
        f"a decoder of {row.decoder:,} parameters beside {row.name} in training" for row in outcome.rows if row.decoder
    ]
    limits = ["one seed", f"{plan.train:,} images", "a learning rate tried for the capsule networks only", *beside]
    return (
        f"This shows how to look, not who wins: {', '.join(limits)}. Under each share its 95 % interval over test "
        f"images; another seed would train another network."
    )


def _samples(plan: Plan, digits: Digits, outcome: Outcome) -> list[Group]:
    """From each test a few images, the same that the networks were judged by."""
    seen: dict[str, Dataset] = {
        "clean": placed(digits.test, plan.seed),
        "affine": Affine(digits.test, canvas=CANVAS),
        "overlap": Overlapping(digits.test),
    }
    return [sample_group(outcome.models, data, test.capitalize(), TESTS[test]) for test, data in seen.items()]


def _facts(plan: Plan, digits: Digits, seconds: float) -> dict[str, str]:
    """How it came about."""
    return {
        "Made by": "make demo",
        "Data": f"{digits.name}: {len(digits.train):,} images to learn from, {len(digits.validation):,} to validate, "
        f"{len(digits.test):,} to test",
        "Training": f"{plan.epochs} epochs, Adam, batches of {plan.batch_size}, rate {plan.lr:g} in one cycle, "
        f"seed {plan.seed}",
        "Machine": f"{platform.machine()}, {os.cpu_count()} cores, threads: {torch.get_num_threads()}, "
        f"torch {torch.__version__}",
        "Time": f"{seconds:.0f} seconds in all, {datetime.now(UTC):%Y-%m-%d}",
    }


def _results(plan: Plan, digits: Digits, outcome: Outcome, facts: Mapping[str, str]) -> dict[str, Any]:
    """The table with all that is needed to make it again."""
    rows = []
    for row, curve in zip(outcome.rows, outcome.curves, strict=True):
        scores = {test: score._asdict() for test, score in row.scores.items()}
        history = {"loss": curve.loss, "validation_accuracy": curve.accuracy}
        rows.append({**asdict(row), "scores": scores, "history": history})
    return {"command": "make demo", "data": digits.name, "facts": facts, "plan": asdict(plan), "rows": rows}
