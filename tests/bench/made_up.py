"""Made-up results with known answers."""

import numpy as np

from torchcaps.bench.evidence import At, Evidence, Number


def shares(rng, means, *, images=1000, spread=0.01, answers=10):
    """An accuracy for each seed: right or wrong, image by image, around a mean that varies from seed to seed."""
    return [Number.share(rng.random(images) < mean + spread * rng.standard_normal(), answers) for mean in means]


def results(rows, *, on="accuracy", seeds=3, seed=0, **options):
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
