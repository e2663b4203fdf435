"""Measures: what can be said of any trained network, with capsules or without, one measure per file.

A measure is an accumulator; `walk` shows it a data set, which a view may have made of another. Its result prints as a
table, draws itself, and goes to JSON and back.
"""

from collections.abc import Callable, Sequence

from torchcaps.data import Dataset
from torchcaps.measures._axes import figure
from torchcaps.measures.accuracy import Accuracy, AccuracyResult, accuracy, usual_threshold
from torchcaps.measures.activity import Activity, ActivityResult
from torchcaps.measures.affine import AffineCurves, AffineCurvesResult, affine
from torchcaps.measures.compactness import Compactness, CompactnessResult
from torchcaps.measures.complexity import ComplexityResult, complexity
from torchcaps.measures.gradients import gradients
from torchcaps.measures.inspect import INSPECTIONS, MEASURES, SWEEPS, check_inspections, inspect
from torchcaps.measures.invariance import Invariance, InvarianceResult
from torchcaps.measures.iterations import IterationsResult, iterations
from torchcaps.measures.onset import OnsetResult, onset
from torchcaps.measures.overlap import overlap
from torchcaps.measures.parse_tree import ParseTree, ParseTreeResult
from torchcaps.measures.predictions import Predictions, PredictionsResult
from torchcaps.measures.result import Nothing, Result, Table
from torchcaps.measures.routing_dynamics import DynamicsResult, RoutingDynamics
from torchcaps.measures.score import Score, correct, named, wilson
from torchcaps.measures.starvation import Starvation, StarvationResult
from torchcaps.measures.sweep import FACTORS, swept
from torchcaps.measures.symmetry import Symmetry, SymmetryResult, layer_symmetry
from torchcaps.measures.views import VIEWS, View
from torchcaps.measures.walk import Measure, Progress, walk
from torchcaps.network import Model


def check_views(on: Sequence[str]) -> list[str]:
    """The names of views, each once; a name that is none is quoted beside those that are.

    >>> check_views(["clean", "affine", "clean"])
    ['clean', 'affine']
    """
    names = list(dict.fromkeys([on] if isinstance(on, str) else on))
    allowed = ", ".join(map(repr, VIEWS))
    wrong = [name for name in names if name not in VIEWS]
    if wrong:
        raise ValueError(f"there is no view {', '.join(map(repr, wrong))}: choose from {allowed}")
    if not names:
        raise ValueError(f"there is nothing to judge by: choose from {allowed}")
    return names


def measure(
    model: Model,
    on: Sequence[str],
    data: Dataset,
    *,
    batch_size: int = 256,
    threshold: float | None = None,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,  # noqa: ARG005
) -> dict[str, Score]:
    """The accuracy of a network on one or more views of the data; every network meets the same images.

    What `judge` gives also tells the accuracy of each class, and which were taken for which.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net = create_model("gu2021/convnet_avg", image_size=28, width=0.02)
    >>> scores = measure(net, ["clean", "affine"], load("glyphs", "test", count=50))
    >>> {name: score.count for name, score in scores.items()}
    {'clean': 50, 'affine': 50}

    Args:
        on: names from `VIEWS`: "clean" takes the data as it is, the others stored images or what is made of them.
        data: test images, for "clean" at the size the network takes.
        threshold: above which a class is named; if not given, what the data asks for, see `usual_threshold`.
        progress: told after each batch the view, how many images are done, of how many.
    """
    found = judge(model, on, data, batch_size=batch_size, threshold=threshold, progress=progress)
    return {name: result.score for name, result in found.items()}


def judge(
    model: Model,
    on: Sequence[str],
    data: Dataset,
    *,
    batch_size: int = 256,
    threshold: float | None = None,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,  # noqa: ARG005
) -> dict[str, AccuracyResult]:
    """What `measure` counts, image by image and class by class; the arguments are the same.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> judge(create_model("chen2019/lenet"), ["clean"], load("glyphs", "test", count=20))["clean"].count
    20
    """
    found = dict[str, AccuracyResult]()
    for name in check_views(on):

        def told(done: int, total: int, name: str = name) -> None:
            progress(name, done, total)

        shown = VIEWS[name](model, data)
        above = usual_threshold(model, shown) if threshold is None else threshold
        counter = Accuracy(above)
        walk(model, shown, [counter], batch_size=batch_size, progress=told)
        found[name] = counter.result()
    return found


__all__ = [
    "FACTORS",
    "INSPECTIONS",
    "MEASURES",
    "SWEEPS",
    "VIEWS",
    "Accuracy",
    "AccuracyResult",
    "Activity",
    "ActivityResult",
    "AffineCurves",
    "AffineCurvesResult",
    "Compactness",
    "CompactnessResult",
    "ComplexityResult",
    "DynamicsResult",
    "Invariance",
    "InvarianceResult",
    "IterationsResult",
    "Measure",
    "Nothing",
    "OnsetResult",
    "ParseTree",
    "ParseTreeResult",
    "Predictions",
    "PredictionsResult",
    "Progress",
    "Result",
    "RoutingDynamics",
    "Score",
    "Starvation",
    "StarvationResult",
    "Symmetry",
    "SymmetryResult",
    "Table",
    "View",
    "accuracy",
    "affine",
    "check_inspections",
    "check_views",
    "complexity",
    "correct",
    "figure",
    "gradients",
    "inspect",
    "iterations",
    "judge",
    "layer_symmetry",
    "measure",
    "named",
    "onset",
    "overlap",
    "swept",
    "usual_threshold",
    "walk",
    "wilson",
]
