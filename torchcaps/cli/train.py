"""`torchcaps train`: a network on a named data set or a folder of images."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from torchcaps._telling import working
from torchcaps.cli._names import Augment, Fit, Optimiser, Precision, check_data, check_model
from torchcaps.cli._say import say
from torchcaps.cli._settings import check_options, listing, settings_of

if TYPE_CHECKING:
    from torchcaps.train import Run


def _list(ctx: Any, param: Any, value: Any) -> Any:
    """With a model and --options, in whatever order, say what can be set, and no more."""
    seen = {**ctx.params, str(param.name): value}
    if seen.get("options") and seen.get("model"):
        check_model(seen["model"])
        with working("loading torch"):
            text = listing(seen["model"])
        say(text)
        raise typer.Exit
    return value


def train(
    model: Annotated[str, typer.Argument(help="A name that `torchcaps models` lists.", is_eager=True, callback=_list)],
    data: Annotated[str, typer.Option(help="A name that `torchcaps data list` shows, or a folder of images.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for checkpoints, log and weights. Required, but for --dry-run and --fast-dev-run."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training images; 10 if nothing is said.")] = None,
    until_accuracy: Annotated[
        float | None, typer.Option(help="End once this share of validation images is right; at most 100 epochs.")
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(help="A pretrained one under the capsules: efficientnet_lite0, timm:NAME, hf:FOLDER."),
    ] = None,
    tune: Annotated[
        str | None,
        typer.Option(help="What of a pretrained backbone learns: head (nothing of it), last:N or all."),
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate; 0.001 if nothing is said.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Images a step; 128 if nothing is said.")] = None,
    optimiser: Annotated[
        Optimiser | None, typer.Option("--optimizer", "--optimiser", help="adam if nothing is said.")
    ] = None,
    augment: Annotated[
        Augment | None,
        typer.Option(help="What is done to training images: shift for digits, crop_flip for small photographs."),
    ] = None,
    image_size: Annotated[
        int | None, typer.Option(help="Resize images to this height and width; pictures else as the model's paper.")
    ] = None,
    fit_: Annotated[Fit, typer.Option("--fit", help="What becomes of pictures that are no squares.")] = "pad",
    balance: Annotated[
        bool, typer.Option("--balance", help="Learn from every class equally often, however small.")
    ] = False,
    make_missing: Annotated[
        bool, typer.Option("--make-missing", help="Make a missing test/ (or train/) from the other.")
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting, or an option of the model; see --options."),
    ] = None,
    options: Annotated[
        bool,
        typer.Option("--options", is_eager=True, callback=_list, help="List what --set takes for MODEL, and no more."),
    ] = False,
    precision: Annotated[Precision, typer.Option(help="Of the numbers.")] = "32",
    devices: Annotated[int, typer.Option(help="Processes on this machine that share every batch.")] = 1,
    nodes: Annotated[int, typer.Option(help="Machines.")] = 1,
    seed: Annotated[int, typer.Option(help="Of weights, order and everything drawn.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in the folder.")] = False,
    compile_: Annotated[bool, typer.Option("--compile", help="Compile the network first.")] = False,
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic", help="The same to the last bit every time, on this machine and with as many threads."
        ),
    ] = False,
    overfit: Annotated[int, typer.Option(metavar="N", help="Train and judge on the first N images only.")] = 0,
    fast_dev_run: Annotated[bool, typer.Option("--fast-dev-run", help="Two batches, to see that all fits.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate parameters, memory and time; do not train.")
    ] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard files too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a network; the test images are never looked at."""
    del options  # which `_list` has answered
    check_model(model)
    check_data(data)
    if epochs is not None and until_accuracy is not None:
        raise ValueError("--epochs and --until-accuracy exclude each other: give one")
    if out is None and not fast_dev_run and not dry_run:
        raise ValueError("--out is missing: name a folder for checkpoints, log and weights")
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
    own = {"tune": tune, "lr": lr, "batch_size": batch_size, "optimiser": optimiser, "augment": augment}
    values |= _once({name: value for name, value in own.items() if value is not None}, settings_of(set_ or []))
    values |= _above(backbone, values.get("options", {}))
    if make_missing:
        values["data_options"] = {**values.get("data_options", {}), "make_missing": True}
    with working("loading torch"):
        import torchcaps.train  # noqa: F401  # here, where it is said what takes so long

        check_options(model, values.get("options", {}))
    if dry_run:
        _estimate(model, data, values, as_json=as_json)
        return
    rest: dict[str, Any] = {"devices": devices, "nodes": nodes, "tensorboard": tensorboard}
    run = _fit(model, data, {**rest, "out": out, "resume": resume, "fast_dev_run": fast_dev_run, **values})
    if run is None:
        return
    last = run.history[-1] if run.history else {}
    if as_json:
        say(json.dumps({"run": None if run.directory is None else str(run.directory), **last}))
    elif run.directory is None:
        say("Two batches went through: everything fits. Nothing was kept")
    else:
        say(f"The network is in {out}: torchcaps evaluate {out}")


def _above(backbone: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Options of the model with a backbone, if one is given."""
    return {} if backbone is None else {"options": _once({"backbone": backbone}, options)}


def _once(own: dict[str, Any], pairs: dict[str, Any]) -> dict[str, Any]:
    """Settings with an option of their own, and those of --set: nobody may name one twice."""
    for name in own:
        if name in pairs:
            raise ValueError(f"{name} is given twice, as an option of its own and with --set: give it once")
    return {**own, **pairs}


def _fit(model: str, data: str, options: dict[str, Any]) -> "Run | None":
    """The run, for the process that speaks; a training that is stopped ends with the line that goes on with it."""
    from torchcaps.train import Stopped, fit
    from torchcaps.train.allocator import keep_freed_memory
    from torchcaps.train.processes import is_first

    keep_freed_memory()
    try:
        run = fit(model, data, **options)
    except Stopped as stop:
        if is_first():
            line = shlex.join(["torchcaps", *sys.argv[1:], *([] if options["resume"] else ["--resume"])])
            say(f"torchcaps: {stop}. Go on with\n  {line}", err=True)
        raise typer.Exit(stop.code) from None
    return run if is_first() else None


def _estimate(model: str, data: str, values: dict[str, Any], *, as_json: bool) -> None:
    with working("timing a few steps"):
        from torchcaps.train.estimate import estimate

        cost = estimate(model, data, **values)
    if as_json:
        say(json.dumps(cost._asdict()))
        return
    say(
        f"{cost.parameters:,} parameters; {cost.images:,} images, {cost.steps:,} steps of "
        f"{cost.seconds_per_step * 1e3:.0f} ms: about {cost.seconds / 60:.1f} minutes; {cost.megabytes:,.0f} MB"
    )
