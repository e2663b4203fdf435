"""`torchcaps compare`: which routing for your images, and is it better than a plain ConvNet?"""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from torchcaps.cli._say import say

Backend = Literal["local", "ray", "slurm"]


def compare(
    data: Annotated[str, typer.Argument(help="A folder of images, or a name that `torchcaps data list` shows.")],
    models: Annotated[
        str, typer.Option(help="Names that `torchcaps models` lists, with commas.")
    ] = "sabour2017/capsnet,gu2021/convnet_fc",
    routings: Annotated[str, typer.Option(help="For every capsule model, with commas.")] = "dynamic,inverted_attention",
    tests: Annotated[str, typer.Option(help="From clean, affine, overlap, pgd; the first decides.")] = "clean,affine",
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each network.")] = 3,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the training images, for all alike.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Or batches of 64; 400 if nothing is said, which takes minutes.")
    ] = None,
    width: Annotated[float, typer.Option(help="Of convolutions, as a share of the papers'.")] = 0.25,
    image_size: Annotated[
        int | None, typer.Option(min=1, help="Resize images to this height and width; 32 for a folder.")
    ] = None,
    backend: Annotated[Backend, typer.Option(help="Where the work is done.")] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes side by side; a core each if not given.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell jobs, time and networks, and do nothing.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the page and the results; what is there is kept.")] = Path(
        "compare"
    ),
) -> None:
    """Train networks on the same images with equal budgets and say which to take, and how sure that is."""
    from torchcaps._console import Console
    from torchcaps.bench.compare.answer import answer
    from torchcaps.bench.compare.arrange import arrange
    from torchcaps.bench.compare.hold import foresee, hold, place_of
    from torchcaps.bench.compare.page import write
    from torchcaps.bench.compare.printed import printed
    from torchcaps.bench.executors import make_executor
    from torchcaps.bench.plan import plan
    from torchcaps.bench.runner import describe

    contest = arrange(
        data,
        models=_names(models),
        routings=_names(routings),
        tests=_names(tests),
        seeds=seeds,
        epochs=epochs,
        steps=steps,
        conv_width=width,
        image_size=image_size,
    )
    place, count = place_of(out), workers or os.cpu_count() or 1
    for entrant in contest.entrants:
        say(f"{entrant.name}: {entrant.detail}")
    if dry_run:
        say(describe(plan([foresee(contest, place)], "cpu", place), count))
        return
    outcome = hold(contest, place, make_executor(backend, count), say)
    Console().print(printed(outcome))
    for sentence in answer(contest, outcome.gathered.evidence):
        say(sentence)
    lead = f"{len(contest.entrants)} networks, each trained {seeds} times on the same images of {contest.title}."
    command = shlex.join(["torchcaps", *sys.argv[1:]])
    page = write(out, outcome, title=f"Which network for {contest.title}?", lead=lead, command=command)
    say(f"The page: {page}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
