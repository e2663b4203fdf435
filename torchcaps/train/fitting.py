"""`fit`: from a model and data to a trained network, in one call."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from safetensors import SafetensorError

from torchcaps import ops
from torchcaps._telling import working
from torchcaps._version import __version__
from torchcaps.data import Dataset, OwnImages
from torchcaps.models import create_model
from torchcaps.network import Model, has_plain_recipe
from torchcaps.train import checkpoint
from torchcaps.train.callbacks import Callback
from torchcaps.train.claim import claimed
from torchcaps.train.features import on_features
from torchcaps.train.final import Ending, keep_final
from torchcaps.train.fingerprint import inventory_of, write_inventory
from torchcaps.train.log import Log
from torchcaps.train.loop import Training
from torchcaps.train.own import is_own, own_images
from torchcaps.train.processes import launched, size
from torchcaps.train.resume import begin_or_resume, otherwise, with_rule_of
from torchcaps.train.run import CHECKPOINTS, MODEL, Facts, Run, dressed, write_run
from torchcaps.train.settings import CUSTOM, Settings
from torchcaps.train.splits import Splits, load_splits
from torchcaps.train.stopping import stoppable
from torchcaps.train.summary import summary
from torchcaps.train.tuning import tuned

PRECISION = {"32": "32-true", "64": "32-true", "bf16": "bf16-mixed"}  # Fabric's "64-true" rounds the loss to 32 bits


def fit(
    model: str | Model,
    data: str | Path | Dataset,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    validation_data: str | Path | Dataset | None = None,
    callbacks: Mapping[str, Any] | Sequence[Callback] = (),
    devices: int = 1,
    nodes: int = 1,
    quiet: bool = False,
    tensorboard: bool = False,
    fast_dev_run: bool = False,
    **values: Any,
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
        validation_data: images to judge by, by name or as a data set, instead of a part held out from `data`.
        callbacks: names of `CALLBACKS` with their options, or callbacks of one's own.
        devices, nodes: processes on a machine, and machines; several share every batch. Torchrun knows its own.
        quiet: no progress on the terminal.
        fast_dev_run: one epoch of two batches, to see that everything fits together; nothing is kept.
        values: fields of `Settings`: options, epochs, until_accuracy, batch_size, lr, lr_schedule, seed, …
    """
    given = [] if isinstance(callbacks, Mapping) else list(callbacks)
    if isinstance(callbacks, Mapping):
        values["callbacks"] = dict(callbacks)
    if validation_data is not None:
        values["validation_data"] = _name(validation_data)
    settings = settings_from(model, data, values)
    if fast_dev_run:
        settings = replace(settings, epochs=1, steps=None, judge_every=None)
    folder = None if out is None or fast_dev_run else Path(out)
    if resume and folder is not None:
        settings = with_rule_of(settings, folder)
    fabric = _fabric(settings, *size(devices, nodes))
    with claimed(folder, resume=resume), launched(fabric), _determinism(settings):
        with working("preparing data and network", quiet=quiet or not fabric.is_global_zero) as report:
            own = own_images(settings, report) if is_own(settings) else None
            network, settings, splits = prepare(settings, model, data, validation_data, own)
            told: list[str] = []
            if not fast_dev_run:
                splits, told = on_features(network, settings, splits, fabric.device, report)
        checkpoints = None if folder is None else folder / CHECKPOINTS
        limit = 2 if fast_dev_run else 0
        training = Training(fabric, settings, network, splits, folder=checkpoints, limit=limit, callbacks=given)
        return _train(training, own, folder, told, resume=resume, quiet=quiet, tensorboard=tensorboard)


def prepare(
    settings: Settings,
    model: str | Model,
    data: str | Path | Dataset,
    validation: str | Path | Dataset | None = None,
    own: OwnImages | None = None,
) -> tuple[Model, Settings, Splits]:
    """The network, built for the data where it is not given, the settings with its options, and the data's parts."""
    given, judge = (thing if isinstance(thing, Dataset) else None for thing in (data, validation))
    splits = load_splits(settings, given, judge, own)
    torch.manual_seed(settings.seed)
    if isinstance(model, Model):
        return dressed(model, settings), tuned(model, settings, len(splits.train)), splits
    c, h, w = splits.train.image_shape
    fitting = {"num_classes": len(splits.train.classes), "in_chans": c, "image_size": h if h == w else [h, w]}
    _check_images(settings, (c, h, w))
    settings = replace(settings, options={**fitting, **settings.options})
    options = settings.model_options
    try:
        network = create_model(model, **options)
        return network, tuned(network, settings, len(splits.train)), splits
    except (TypeError, RuntimeError) as error:  # a word where a number is needed, a negative size, and the like
        shown = ", ".join(f"{name}={value!r}" for name, value in options.items())
        raise ValueError(f"{model} cannot be built with {shown}: {error}") from error


def _check_images(settings: Settings, shape: tuple[int, int, int]) -> None:
    """Refuse a network for other images than there are."""
    c, *sides = shape
    given, size = settings.options.get("in_chans", c), settings.options.get("image_size", sides)
    both = [size, size] if isinstance(size, int) else size
    for name, value, fits in (("in_chans", given, given == c), ("image_size", size, list(both) == sides)):
        if not fits:
            told = "×".join(map(str, shape))
            raise ValueError(f"{name}={value!r} is not allowed: the images of {settings.data} are {told}")


def settings_from(model: str | Model, data: str | Path | Dataset, values: dict[str, Any]) -> Settings:
    """Settings of these values, with the names of model and data."""
    return Settings.from_json({"model": model if isinstance(model, str) else CUSTOM, "data": _name(data), **values})


def _name(data: str | Path | Dataset) -> str:
    return CUSTOM if isinstance(data, Dataset) else str(data)


def _train(
    training: Training,
    own: OwnImages | None,
    folder: Path | None,
    told: list[str],
    *,
    resume: bool,
    quiet: bool,
    tensorboard: bool,
) -> Run:
    fabric, settings, data = training.fabric, training.settings, training.splits.train
    facts = Facts(settings, data.classes, data.image_shape, _recipe(training), _made_with(fabric))
    remarks, damage = list[str](), list[str]()
    if folder is not None:
        inventory = inventory_of(settings, own, data)
        damage = begin_or_resume(training, folder, inventory, resume=resume)
        remarks = [*damage, *otherwise(folder, settings, facts.made_with)]
        if fabric.is_global_zero:
            write_run(folder, facts)
            write_inventory(folder, inventory)
        fabric.barrier()
    said = [*summary(settings, training.splits, own), *told, *remarks]
    with Log(folder, training.total, quiet=quiet, speaks=fabric.is_global_zero, tensorboard=tensorboard) as log:
        for line in said:
            log.say(line)
        if damage and quiet and fabric.is_global_zero:
            warnings.warn("; ".join(damage), stacklevel=3)
        log.resumed(training.step)
        with stoppable(training.folder):
            training.run(log)
    network = training.left()
    if folder is not None and fabric.is_global_zero:
        try:
            keep_final(network, folder / MODEL, facts, Ending(settings, training.history, len(data)))
        except (OSError, SafetensorError) as error:
            raise checkpoint.lost(folder / CHECKPOINTS, f"the folder {MODEL}", error) from error
        for problem in checkpoint.prune(folder / CHECKPOINTS, settings.keep):
            warnings.warn(f"not counted among the checkpoints to keep: {problem}", stacklevel=3)
    fabric.barrier()
    return Run(network, settings, data.classes, data.image_shape, training.history, folder, facts.made_with)


def _recipe(training: Training) -> dict[str, Any] | None:
    """Of a network that was given as an object, if it can be built again."""
    given = training.settings.model == CUSTOM and has_plain_recipe(training.model)
    return training.model.recipe if given else None


def _made_with(fabric: Fabric) -> dict[str, Any]:
    """What computes the training, besides the settings: figures may differ by rounding where this does."""
    return {
        "torchcaps": __version__,
        "torch": str(torch.__version__),
        "device": fabric.device.type,
        "passes": ops.status(fabric.device.type),
        "threads": torch.get_num_threads(),
        "processes": fabric.world_size,
    }


def _fabric(settings: Settings, devices: int, nodes: int) -> Fabric:
    return Fabric(
        accelerator="auto" if torch.cuda.is_available() else "cpu",
        devices=devices,
        num_nodes=nodes,
        strategy=_strategy(settings, devices * nodes),
        precision=PRECISION[settings.precision],  # type: ignore[arg-type]
    )


def _strategy(settings: Settings, processes: int) -> str:
    if processes == 1:
        return "auto"
    # A decoder that is left out gets no gradients, which DDP must know.
    return "ddp" if settings.reconstruction_weight else "ddp_find_unused_parameters_true"


@contextmanager
def _determinism(settings: Settings) -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled()
    if settings.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what torch asks for on NVIDIA's
        torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
