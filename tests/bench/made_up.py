"""Made-up results with known answers."""

import numpy as np

from torchcaps.bench import store
from torchcaps.bench.evidence import At, Evidence, Number
from torchcaps.bench.jobs import told
from torchcaps.bench.subject import to_json


def shares(rng, means, *, images=1000, spread=0.01, answers=10):
    """An accuracy for each seed: right or wrong, image by image, around a mean that varies from seed to seed."""
    return [Number.share(rng.random(images) < mean + spread * rng.standard_normal(), answers) for mean in means]


def results(rows, *, on="accuracy", seeds=5, seed=0, **options):
    """Evidence with one accuracy a row: its mean, or the numbers themselves, a number a seed."""
    rng = np.random.default_rng(seed)
    numbers = {}
    for row, given in rows.items():
        many = given if isinstance(given, list) else shares(rng, [given] * seeds, **options)
        numbers[At(row, on)] = {s: n if isinstance(n, Number) else Number(n) for s, n in enumerate(many)}
    return Evidence(numbers)


def merged(*parts, **more):
    """Several kinds of evidence as one."""
    return Evidence({at: found for part in parts for at, found in part.numbers.items()}, **more)


def line_of(job, numbers=None, *, state="done", **more):
    """What a judging leaves behind: the line as it is stored."""
    found = {"numbers": numbers or {}, "details": {}, "seconds": 1.0} if state == "done" else {"error": "no\nreason"}
    return {
        "job": "judging",
        "name": job.name,
        "artefact": job.artefact,
        "row": job.row,
        "seed": job.seed,
        "settings": None if job.training is None else told(job.training.settings),
        "trainings": [training.name for training in job.trainings],
        "state": state,
        "commit": "c0ffee",
        "finished": "2026",
        **found,
        **more,
    }


def training_line(training, *, seconds=10.0, history=(), state="done"):
    """What a training leaves behind."""
    facts = {"job": "training", **training.to_json(), "seed": training.seed, "state": state, "finished": "2026"}
    return {**facts, "seconds": seconds, "history": list(history)} if state == "done" else {**facts, "error": "no"}


def keep(folder, lines):
    """Store lines in a folder, as the results of a scale."""
    for line in lines:
        store.append(folder / ("trainings.jsonl" if line["job"] == "training" else "judgings.jsonl"), line)
    return folder


def share(percent, count=100):
    """So many percent of so many images right, as a line holds it."""
    return to_json(Number.share(np.arange(count) < round(percent * count / 100), 10))
