"""`torchcaps train`: a network on a named data set or a folder of images."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from torchcaps.train import Run


def train(
    model: Annotated[str, typer.Argument(help="A name that `torchcaps models` lists.")],
    data: Annotated[str, typer.Option(help="A name that `torchcaps data list` shows, or a folder of images.")],
    out: Annotated[Path | None, typer.Option(help="Folder for checkpoints, log and weights.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training images; 10 if nothing is said.")] = None,
    until_accuracy: Annotated[
        float | None, typer.Option(help="End once this share of validation images is right; at most 100 epochs.")
    ] = None,
    image_size: Annotated[
        int | None, typer.Option(help="Resize images to this height and width; pictures else as the model's paper.")
    ] = None,
    fit_: Annotated[
        str, typer.Option("--fit", help="What becomes of pictures that are no squares: pad, crop or squash.")
    ] = "pad",
    balance: Annotated[
        bool, typer.Option("--balance", help="Learn from every class equally often, however small.")
    ] = False,
    make_missing: Annotated[
        bool, typer.Option("--make-missing", help="Make a missing test/ (or train/) from the other.")
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A setting (lr, batch_size, lr_schedule …) or a model's option."
        ),
    ] = None,
    precision: Annotated[str, typer.Option(help="32 or bf16.")] = "32",
    devices: Annotated[int, typer.Option(help="Processes on this machine that share every batch.")] = 1,
    nodes: Annotated[int, typer.Option(help="Machines.")] = 1,
    seed: Annotated[int, typer.Option(help="Of weights, order and everything drawn.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in the folder.")] = False,
    compile_: Annotated[bool, typer.Option("--compile", help="Compile the network first.")] = False,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="The same to the last bit every time.")
    ] = False,
    overfit: Annotated[int, typer.Option(metavar="N", help="Train and judge on the first N images only.")] = 0,
    fast_dev_run: Annotated[bool, typer.Option("--fast-dev-run", help="Two batches, to see that all fits.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate parameters, memory and time; train not.")
    ] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard files too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a network; the test images are never looked at."""
    if epochs is not None and until_accuracy is not None:
        raise ValueError("--epochs and --until-accuracy exclude each other: give one")
    values: dict[str, Any] = {
        "epochs": epochs if epochs is not None else 10 if until_accuracy is None else 100,
        "until_accuracy": until_accuracy,
        "image_size": image_size,
        "fit": fit_,
        "balance": balance,
        "precision": precision,
        "seed": seed,
        "deterministic": deterministic,
        "compile": compile_,
        "overfit": overfit,
    }
    values |= settings_of(set_ or [])
    if make_missing:
        values["data_options"] = {**values.get("data_options", {}), "make_missing": True}
    if dry_run:
        _estimate(model, data, values, as_json=as_json)
        return
    if out is None and not fast_dev_run:
        raise ValueError("--out is missing: name a folder for checkpoints, log and weights")
    options: dict[str, Any] = {"devices": devices, "nodes": nodes, "tensorboard": tensorboard}
    run = _fit(model, data, {**options, "out": out, "resume": resume, "fast_dev_run": fast_dev_run, **values})
    if run is None:
        return
    last = run.history[-1] if run.history else {}
    if as_json:
        typer.echo(json.dumps({"run": None if run.directory is None else str(run.directory), **last}))
    elif run.directory is None:
        typer.echo("Two batches went through: everything fits. Nothing was kept")
    else:
        typer.echo(f"The network is in {out}: torchcaps evaluate {out}")


def _fit(model: str, data: str, options: dict[str, Any]) -> "Run | None":
    """The run, for the process that speaks; a training that is stopped ends with the line that goes on with it."""
    from torchcaps.train import Stopped, fit
    from torchcaps.train.processes import is_first

    try:
        run = fit(model, data, **options)
    except Stopped as stop:
        if is_first():
            line = shlex.join(["torchcaps", *sys.argv[1:], *([] if options["resume"] else ["--resume"])])
            typer.echo(f"torchcaps: {stop}. Go on with\n  {line}", err=True)
        raise typer.Exit(stop.code) from None
    return run if is_first() else None


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """`key=value` pairs: settings of the training by their names, anything else as options of the model.

    >>> settings_of(["lr=0.01", "width=0.25", "routing=em"])
    {'lr': 0.01, 'options': {'width': 0.25, 'routing': 'em'}}
    """
    from dataclasses import fields

    from torchcaps.train.settings import Settings

    known = {f.name: f.type for f in fields(Settings) if f.name not in ("model", "data", "options")}
    found: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise ValueError(f"--set {pair!r} is not allowed: write KEY=VALUE, as in --set lr=0.01")
        (found if key in known else options)[key] = text if known.get(key) is str else _value(text)
    return {**found, "options": options} if options else found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _estimate(model: str, data: str, values: dict[str, Any], *, as_json: bool) -> None:
    from torchcaps.train.estimate import estimate

    cost = estimate(model, data, **values)
    if as_json:
        typer.echo(json.dumps(cost._asdict()))
        return
    typer.echo(
        f"{cost.parameters:,} parameters; {cost.images:,} images, {cost.steps:,} steps of "
        f"{cost.seconds_per_step * 1e3:.0f} ms: about {cost.seconds / 60:.1f} minutes; {cost.megabytes:,.0f} MB"
    )
