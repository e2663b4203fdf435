"""Everything that can be measured of a network, in as few walks as there are views of the data."""

from collections.abc import Callable, Mapping, Sequence

from torchcaps.data import Dataset
from torchcaps.measures.accuracy import Accuracy, usual_threshold
from torchcaps.measures.activity import Activity
from torchcaps.measures.affine import AffineCurves
from torchcaps.measures.compactness import Compactness
from torchcaps.measures.invariance import Invariance
from torchcaps.measures.parse_tree import ParseTree
from torchcaps.measures.predictions import Predictions
from torchcaps.measures.result import Nothing, Result
from torchcaps.measures.routing_dynamics import RoutingDynamics
from torchcaps.measures.sweep import swept
from torchcaps.measures.symmetry import Symmetry
from torchcaps.measures.views import VIEWS, View
from torchcaps.measures.walk import Measure, walk
from torchcaps.network import Model

MEASURES: dict[str, Callable[[], Measure]] = {
    "accuracy": Accuracy,
    "predictions": Predictions,
    "activity": Activity,
    "dynamics": RoutingDynamics,
    "parse_tree": ParseTree,
    "symmetry": Symmetry,
}
"""By name, for a walk over any data; with what they are told by default."""

SWEEPS: dict[str, Callable[[], Measure]] = {
    "affine_curves": AffineCurves,
    "compactness": Compactness,
    "invariance": Invariance,
}
"""By name, for a walk over `swept` data."""

OTHER_VIEWS = tuple(name for name in VIEWS if name != "clean")
INSPECTIONS = (*MEASURES, *OTHER_VIEWS, *SWEEPS)
"""What `inspect` knows: measures, accuracy on other views of the data, and measures of single transformations."""


def check_inspections(what: Sequence[str]) -> list[str]:
    """Names of `INSPECTIONS`, each once; all if none is given.

    >>> check_inspections(["activity", "dynamics", "activity"])
    ['activity', 'dynamics']
    """
    wrong = [name for name in what if name not in INSPECTIONS]
    if wrong:
        raise ValueError(
            f"there is no measure {', '.join(map(repr, wrong))}: choose from {', '.join(map(repr, INSPECTIONS))}"
        )
    return list(dict.fromkeys(what)) or list(INSPECTIONS)


def inspect(
    model: Model,
    data: Dataset,
    what: Sequence[str] = (),
    *,
    batch_size: int = 256,
    progress: Callable[[str, int, int], None] = lambda walk, done, total: None,  # noqa: ARG005
) -> dict[str, Result]:
    """The result of each measure that was asked for; where one does not apply, a `Nothing` that says why.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net = create_model("mitterreiter2023/capsnet", image_size=28, width=0.2)
    >>> found = inspect(net, load("glyphs", "test", count=20), ["activity", "dynamics"])
    >>> {name: result.images for name, result in found.items()}
    {'activity': 20, 'dynamics': 20}

    Args:
        what: names of `INSPECTIONS`; all of them if none is given.
        data: test images at the size the network takes.
        progress: told after each batch which walk it is, how many images are done, of how many.
    """
    names = check_inspections(what)
    walks: list[tuple[str, View, Mapping[str, Callable[[], Measure]]]] = [
        ("images as they are", VIEWS["clean"], MEASURES),
        *((f"{name} images", VIEWS[name], {name: Accuracy}) for name in OTHER_VIEWS),
        ("single transformations", swept(), SWEEPS),
    ]
    found: dict[str, Result] = {}
    for title, view, known in walks:
        wanted = {name: made for name, made in known.items() if name in names}
        if wanted:

            def told(done: int, total: int, title: str = title) -> None:
                progress(title, done, total)

            found |= _walk(model, data, view, wanted, batch_size, told)
    return {name: found[name] for name in names}


def _walk(
    model: Model,
    data: Dataset,
    view: View,
    wanted: Mapping[str, Callable[[], Measure]],
    batch_size: int,
    told: Callable[[int, int], None],
) -> dict[str, Result]:
    """One walk over one view; images of which the view cannot be made are nothing to measure."""
    try:
        shown = view(model, data)
    except ValueError as error:
        return {name: Nothing(name, str(error)) for name in wanted}
    above = usual_threshold(model, shown)
    judges: dict[Callable[[], Measure], Measure] = {Accuracy: Accuracy(above), Predictions: Predictions(above)}
    measures = [judges.get(made) or made() for made in wanted.values()]
    results = walk(model, shown, measures, batch_size=batch_size, progress=told)
    return dict(zip(wanted, results, strict=True))
