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
from torchcaps.infer import infer
from torchcaps.layers import Decoder
from torchcaps.report import (
    Curves,
    Group,
    Perturbations,
    Samples,
    Scores,
    Section,
    choose,
    perturbed,
    predictions,
    write_report,
)

SHOWN, LOOKED_AT = 9, 400  # samples of a test on the page, chosen from so many
DRAWN = 2  # digits whose capsules are moved


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
    note = "Under each share its 95 % interval over test images; another seed would train another network."
    return [
        Scores(note=note, tests=TESTS, rows=outcome.rows),
        Curves(curves=outcome.curves),
        Samples(groups=_samples(plan, digits, outcome)),
        *_drawings(plan, digits, outcome),
    ]


def _samples(plan: Plan, digits: Digits, outcome: Outcome) -> list[Group]:
    """From each test a few images, the same that the networks were judged by."""
    seen: dict[str, Dataset] = {
        "clean": placed(digits.test, plan.seed),
        "affine": Affine(digits.test, canvas=CANVAS),
        "overlap": Overlapping(digits.test),
    }
    groups = []
    for test, data in seen.items():
        batch = data.batch(torch.arange(min(LOOKED_AT, len(data))))
        samples = predictions(outcome.models, batch, data.classes)
        wrong = sum(sample.mistakes > 0 for sample in samples)
        note = f"{TESTS[test]} Of the first {len(samples)}, at least one network is wrong on {wrong}."
        groups.append(Group(test.capitalize(), note, choose(samples, SHOWN)))
    return groups


def _drawings(plan: Plan, digits: Digits, outcome: Outcome) -> list[Section]:
    """For each network with a decoder, what the dimensions of a few class capsules do."""
    batch = placed(digits.test, plan.seed).batch(torch.arange(min(LOOKED_AT, len(digits.test))))
    labels = batch.labels[:, 0]
    found = list[Section]()
    for name, model in outcome.models.items():
        if not isinstance(model.decoder, Decoder):
            continue
        right = (infer(model, batch.images).scores.argmax(-1).cpu() == labels).tolist()
        firsts = {label: k for k, label in reversed(list(enumerate(labels.tolist()))) if right[k]}
        chosen = torch.tensor((sorted(firsts.values()) or list(range(DRAWN)))[:DRAWN])
        drawings = perturbed(model, batch.images[chosen], labels[chosen], digits.test.classes)
        found.append(Perturbations(network=name, drawings=drawings))
    return found


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
