"""Measures: what can be said of any trained network, with capsules or without, one measure a file."""

from collections.abc import Callable, Sequence
from typing import Protocol

from torchcaps.data import Dataset
from torchcaps.measures.accuracy import Report, Score, accuracy, correct, wilson
from torchcaps.measures.affine import affine
from torchcaps.measures.overlap import overlap
from torchcaps.network import Model


class Measure(Protocol):
    """A share of images on which a network is right."""

    def __call__(self, model: Model, data: Dataset, *, batch_size: int, report: Report) -> Score:
        """Judge a network by the images of a data set, or by others made from them."""


MEASURES: dict[str, Measure] = {"clean": accuracy, "affine": affine, "overlap": overlap}


def check_measures(on: Sequence[str]) -> list[str]:
    """The names of measures, each once; a name that is none is quoted beside those that are.

    >>> check_measures(["clean", "affine", "clean"])
    ['clean', 'affine']
    """
    names = list(dict.fromkeys([on] if isinstance(on, str) else on))
    allowed = ", ".join(map(repr, MEASURES))
    wrong = [name for name in names if name not in MEASURES]
    if wrong:
        raise ValueError(f"there is no measure {', '.join(map(repr, wrong))}: choose from {allowed}")
    if not names:
        raise ValueError(f"there is nothing to measure: choose from {allowed}")
    return names


def measure(
    model: Model,
    on: Sequence[str],
    data: Dataset,
    *,
    batch_size: int = 256,
    report: Callable[[str, int, int], None] = lambda name, done, total: None,  # noqa: ARG005
) -> dict[str, Score]:
    """Judge a network on one or more measures; every network meets the same images.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net = create_model("gu2021/convnet_avg", image_size=28, width=0.02)
    >>> scores = measure(net, ["clean", "affine"], load("glyphs", "test", count=50))
    >>> {name: score.count for name, score in scores.items()}
    {'clean': 50, 'affine': 50}

    Args:
        on: names from `MEASURES`: "clean" takes the data as it is, the others stored images or what is made of them.
        data: test images, for "clean" at the size the network takes.
        report: told after each batch the measure, how many images are done, of how many.
    """
    scores = dict[str, Score]()
    for name in check_measures(on):

        def told(done: int, total: int, name: str = name) -> None:
            report(name, done, total)

        scores[name] = MEASURES[name](model, data, batch_size=batch_size, report=told)
    return scores


__all__ = [
    "MEASURES",
    "Measure",
    "Score",
    "accuracy",
    "affine",
    "check_measures",
    "correct",
    "measure",
    "overlap",
    "wilson",
]
