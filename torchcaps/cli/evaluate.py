"""`torchcaps evaluate`: how good a trained network is, on clean, warped and overlapping test images."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchcaps.data import Dataset
    from torchcaps.measures import Score
    from torchcaps.network import Model


def evaluate(
    run: Annotated[Path, typer.Argument(help="The directory of a training.")],
    on: Annotated[str, typer.Option(help="Views of the images, with commas: clean, affine, overlap.")] = "clean",
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Name the classes that score above this, instead of as many as an image shows. By default for data "
            "whose images show one object or two, and then as the loss reads scores."
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Images judged at once.")] = 256,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Judge a trained network by test images it has never seen."""
    from torchcaps.measures import check_views
    from torchcaps.train import load_run

    names = check_views([name.strip() for name in on.split(",") if name.strip()])
    trained = load_run(run)
    data = trained.test_data()
    if tuple(data.classes) != tuple(trained.classes):
        raise ValueError(
            f"the network was trained to tell {', '.join(trained.classes)}, but the test images show "
            f"{', '.join(data.classes)}"
        )
    scores = _judge(trained.model, names, data, batch_size, threshold)
    if as_json:
        rows = {
            name: {"accuracy": score.value, "count": score.count, "interval": list(score.interval)}
            for name, score in scores.items()
        }
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("images", box=None, pad_edge=False)
    for title in ("accuracy", "95 % interval", "count"):
        table.add_column(title, justify="right")
    for name, score in scores.items():
        low, high = score.interval
        table.add_row(name, f"{score.value:.2%}", f"{low:.2%} – {high:.2%}", f"{score.count:,}")
    Console().print(table)


def _judge(
    model: "Model", names: "Sequence[str]", data: "Dataset", batch_size: int, threshold: float | None
) -> "dict[str, Score]":
    """All views, with progress where somebody watches."""
    from rich.console import Console
    from rich.progress import Progress

    from torchcaps.measures import measure

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks = {name: progress.add_task(name, total=None) for name in names}

        def told(name: str, done: int, total: int) -> None:
            progress.update(tasks[name], completed=done, total=total)

        return measure(model, names, data, batch_size=batch_size, threshold=threshold, progress=told)
