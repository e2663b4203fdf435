"""`torchcaps inspect`: what can be measured of a trained network, inside and out, kept with its run."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer


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
    from torchcaps.measures import check_inspections
    from torchcaps.measures import inspect as measure
    from torchcaps.train import load_run
    from torchcaps.train.findings import keep

    names = check_inspections([name.strip() for name in what.split(",") if name.strip()])
    trained = load_run(run)
    with shown() as progress:
        found = measure(trained.model, trained.test_data(images), names, progress=progress)
    keep(trained, found)
    if as_json:
        typer.echo(json.dumps({name: result.to_json() for name, result in found.items()}, indent=2))
        return
    for name, result in found.items():
        typer.echo(f"{name.replace('_', ' ')}\n{'─' * len(name)}\n{result}\n")


@contextmanager
def shown() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each walk, where somebody watches."""
    from rich.console import Console
    from rich.progress import Progress, TaskID

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks = dict[str, TaskID]()

        def told(walk: str, done: int, total: int) -> None:
            if walk not in tasks:
                tasks[walk] = progress.add_task(walk, total=total)
            progress.update(tasks[walk], completed=done, total=total)

        yield told
