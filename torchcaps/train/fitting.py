"""`fit`: from a model and data to a trained network, in one call."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from safetensors import SafetensorError

from torchcaps.data import Dataset
from torchcaps.models import create_model
from torchcaps.network import CONFIG, Model
from torchcaps.train import checkpoint
from torchcaps.train.log import Log, forget_after
from torchcaps.train.loop import Training
from torchcaps.train.processes import is_first, launched, size
from torchcaps.train.run import CHECKPOINTS, MODEL, RUN, Run, read_run, write_run
from torchcaps.train.settings import Settings
from torchcaps.train.splits import Splits, load_splits, split

PRECISION = {"32": "32-true", "64": "32-true", "bf16": "bf16-mixed"}  # Fabric's "64-true" rounds the loss to 32 bits


def fit(
    model: str | Model,
    data: str | Path | Dataset,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    validation_data: Dataset | None = None,
    devices: int = 1,
    nodes: int = 1,
    quiet: bool = False,
    tensorboard: bool = False,
    fast_dev_run: bool = False,
    **settings: Any,
) -> Run:
    """Train a network.

    >>> run = fit("mitterreiter2023/capsnet", "glyphs", options={"width": 0.1}, epochs=1, fast_dev_run=True, quiet=True)
    >>> len(run.history), len(run.classes)
    (1, 10)

    Args:
        model: a name of `list_models`, or a network.
        data: a name of `list_datasets`, a folder with a sub-folder a class, an .npz file, or a data set.
        out: folder for checkpoints, log and weights; nothing is kept if not given.
        resume: go on from the last checkpoint in `out`; without one, begin.
        validation_data: images to judge by, instead of a part held out from `data`.
        devices, nodes: processes on a machine, and machines; several share every batch. Torchrun knows its own.
        quiet: no progress on the terminal.
        fast_dev_run: one epoch of two batches, to see that everything fits together; nothing is kept.
        settings: fields of `Settings`: options, epochs, until_accuracy, batch_size, lr, schedule, seed, …
    """
    told = _settings(model, data, {**settings, "epochs": 1} if fast_dev_run else settings)
    folder = None if out is None or fast_dev_run else Path(out)
    _check_folder(folder, resume=resume)
    devices, nodes = size(devices, nodes)
    fabric = Fabric(
        accelerator="auto" if torch.cuda.is_available() else "cpu",
        devices=devices,
        num_nodes=nodes,
        strategy=_strategy(told, devices * nodes),
        precision=PRECISION[told.precision],  # type: ignore[arg-type]
    )
    with launched(fabric), _determinism(told):
        network, told, splits = prepare(model, data, validation_data, told)
        return _train(fabric, network, told, splits, folder, resume=resume, quiet=quiet, tensorboard=tensorboard,
                      limit=2 if fast_dev_run else 0)  # fmt: skip


def prepare(
    model: str | Model, data: str | Path | Dataset, validation: Dataset | None, settings: Settings | dict[str, Any]
) -> tuple[Model, Settings, Splits]:
    """The network, built for the data where it is not given, the settings that tell how, and the data's parts."""
    told = settings if isinstance(settings, Settings) else _settings(model, data, settings)
    splits = _splits(data, validation, told)
    torch.manual_seed(told.seed)
    if isinstance(model, Model):
        return model, told, splits
    c, h, w = splits.train.image_shape
    fitting = {"num_classes": len(splits.train.classes), "in_chans": c, "image_size": h if h == w else [h, w]}
    options = {**fitting, **told.options}
    try:
        network = create_model(model, **options)
    except (TypeError, RuntimeError) as error:  # a word where a number is needed, a negative size, and the like
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        raise ValueError(f"{model} cannot be built with {given}: {error}") from error
    return network, replace(told, options=options), splits


def _settings(model: str | Model, data: str | Path | Dataset, settings: dict[str, Any]) -> Settings:
    names = {
        "model": model if isinstance(model, str) else "custom",
        "data": "custom" if isinstance(data, Dataset) else str(data),
    }
    return Settings.from_json({**names, **settings})


def _train(
    fabric: Fabric,
    network: Model,
    told: Settings,
    splits: Splits,
    folder: Path | None,
    *,
    resume: bool,
    quiet: bool,
    tensorboard: bool,
    limit: int,
) -> Run:
    checkpoints = None if folder is None else folder / CHECKPOINTS
    training = Training(fabric, told, network, splits, folder=checkpoints, limit=limit)
    problems: list[str] = []
    if folder is not None and checkpoints is not None:
        problems = _begin_or_resume(fabric, training, folder, checkpoints, told, resume=resume)
        if fabric.is_global_zero:
            write_run(folder, told, splits.train.classes, splits.train.image_shape)
        fabric.barrier()
    with Log(folder, training.total, quiet=quiet, speaks=fabric.is_global_zero, tensorboard=tensorboard) as log:
        for problem in problems:
            log.say(f"passed over: {problem}")
        log.resumed(training.step)
        training.run(log)
    network = training.objective.model.eval()
    if folder is not None and fabric.is_global_zero:
        _keep(network, folder)
    fabric.barrier()
    return Run(network, told, splits.train.classes, splits.train.image_shape, training.history, folder)


def _keep(network: Model, folder: Path) -> None:
    """The weights on their own, beside the last checkpoint."""
    if not network.recipe:
        return
    (folder / MODEL / CONFIG).unlink(missing_ok=True)  # without it, what is half written counts for nothing
    try:
        network.save_pretrained(folder / MODEL)
    except (OSError, SafetensorError) as error:
        raise checkpoint.lost(folder / CHECKPOINTS, f"the folder {MODEL}", error) from error


def _begin_or_resume(
    fabric: Fabric, training: Training, folder: Path, checkpoints: Path, told: Settings, *, resume: bool
) -> list[str]:
    problems: list[str] = []
    if resume and (folder / RUN).exists():
        changed = told.differences(read_run(folder)[0])
        if changed:
            raise ValueError(f"{folder} cannot be resumed with other settings: {'; '.join(changed)}")
    if resume:
        found, problems = checkpoint.newest(checkpoints)
        if found is not None:
            training.restore(found)
    fabric.barrier()
    if fabric.is_global_zero:
        checkpoint.tidy(checkpoints)
        forget_after(folder, training.step)
    return problems


def _check_folder(folder: Path | None, *, resume: bool) -> None:
    """Nothing that is there already is written over; the first process looks, before any of them writes."""
    if folder is None or resume or not is_first():
        return
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: name a folder for the training")
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: go on with --resume (resume=True), or name another folder")


def _strategy(told: Settings, processes: int) -> str:
    if processes == 1:
        return "auto"
    # A decoder that is left out gets no gradients, which DDP must be told.
    return "ddp" if told.reconstruction else "ddp_find_unused_parameters_true"


def _splits(data: str | Path | Dataset, validation: Dataset | None, told: Settings) -> Splits:
    if validation is not None:
        train = data if isinstance(data, Dataset) else load_splits(replace(told, validation=0.0)).train
        return Splits(train, validation)
    return split(data, told) if isinstance(data, Dataset) else load_splits(told)


@contextmanager
def _determinism(told: Settings) -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled()
    if told.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what torch asks for on NVIDIA's
        torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
