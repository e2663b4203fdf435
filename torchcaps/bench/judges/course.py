"""How a training went: how fast it learned, and how steadily."""

import numpy as np

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject


def course(subject: Subject) -> Found:
    """Validation accuracy: its mean over the training, the last one, and the mean drop from one judging to the next.

    A curve that only rises has no jitter, however fast it rises.
    """
    history = subject.own.history
    curve = np.array([entry["validation_accuracy"] for entry in history if "validation_accuracy" in entry])
    if not len(curve):
        raise ValueError("the training has no validation accuracies: its settings hold no images out")
    drops = np.maximum(0, -np.diff(curve))
    steps = [entry["step"] for entry in history if "validation_accuracy" in entry]
    numbers = {
        "mean validation": Number(float(curve.mean())),
        "validation": Number(float(curve[-1])),
        "jitter": Number(float(drops.mean()) if len(drops) else 0.0),
    }
    return Found(numbers, {"course": list(zip(steps, curve.round(5).tolist(), strict=True))})
