"""`torchcaps inspect`: what can be measured of a trained network, inside and out, kept with its run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torchcaps._telling import working
from torchcaps.cli._names import MEASURES, check_run, parts
from torchcaps.cli._say import say

if TYPE_CHECKING:
    from torchcaps.measures import Result


def inspect(
    run: Annotated[Path, typer.Argument(help="The directory of a training.")],
    what: Annotated[
        str,
        typer.Option(
            help="With commas: accuracy, predictions, activity, dynamics, parse_tree, symmetry, affine, overlap, "
            "affine_curves, compactness, invariance. All if nothing is said."
        ),
    ] = "",
    images: Annotated[int, typer.Option(min=1, metavar="N", help="Test images to look at.")] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Measure a trained network by test images it has never seen; what was found is kept with the run.

    The last three show every image under 66 single transformations, which takes the most time.
    """
    names = parts(what, "measure", MEASURES)
    check_run(run)
    with working("loading torch") as tell:
        from torchcaps.measures import inspect as measure
        from torchcaps.train import load_run
        from torchcaps.train.findings import keep

        trained = load_run(run)
        found = measure(trained.model, trained.test_data(images), names, progress=tell)
    try:
        keep(trained, found)
    finally:  # what was found is shown even if it cannot be kept
        if as_json:
            say(json.dumps({name: result.to_json() for name, result in found.items()}, indent=2))
        else:
            say(as_tables(found), nl=False)


def as_tables(found: "Mapping[str, Result]") -> str:
    """Results as text, each under its name."""
    return "".join(f"{name.replace('_', ' ')}\n{'─' * len(name)}\n{result}\n\n" for name, result in found.items())
