"""Training, validation and test images of a training; the test images are loaded only when they are asked for."""

from pathlib import Path
from typing import Any, NamedTuple

import torch

from torchcaps.data import GENERATORS, Dataset, OwnImages, Sign, Stored, list_datasets, load, look_through
from torchcaps.data.resize import resized
from torchcaps.data.sign import APART
from torchcaps.train.settings import Settings


class Splits(NamedTuple):
    """What a training sees: images to learn from, and others to judge by, if any are held out."""

    train: Dataset
    validation: Dataset | None


def load_splits(settings: Settings) -> Splits:
    """The training split of a data set, parted into images to learn from and images to judge by."""
    if settings.data in GENERATORS:
        source = load("mnist", "train")
        if not isinstance(source, Stored):
            raise TypeError("a generator draws from stored images")
        parts = split(source, settings)
        train, *judge = (load(settings.data, source=p, seed=settings.seed) for p in parts if isinstance(p, Stored))
        if settings.image_size not in (None, *train.image_shape[1:]):
            raise _fixed(settings, train.image_shape)
        return Splits(train, judge[0] if judge else None)
    splits = _own(settings) if _is_own(settings) else split(load_part(settings, "train"), settings)
    if isinstance(splits.train, Stored):
        splits.train.seed = settings.seed  # of the order
    return splits


def _is_own(settings: Settings) -> bool:
    return settings.data not in list_datasets()


def _own(settings: Settings) -> Splits:
    """A user's own images: which are to judge by, their contents decide."""
    own = _look_through(settings)
    share = 0.0 if settings.overfit else settings.validation
    train = _sized(own.load("train", validation=share), settings)
    if settings.overfit:
        return split(train, settings)
    return Splits(train, _sized(own.load("validation", validation=share), settings) if share else None)


def _look_through(settings: Settings) -> OwnImages:
    options: dict[str, Any] = {}
    if Path(settings.data).is_dir():
        options = {"image_size": settings.image_size or 64}
        if "in_chans" in settings.options:
            options["in_chans"] = settings.options["in_chans"]
    return look_through(settings.data, **options)


def load_part(settings: Settings, name: str) -> Dataset:
    """The training or test split at the size the training wants."""
    if _is_own(settings):
        return _sized(_look_through(settings).load(name), settings)
    return _sized(load(settings.data, name), settings)


def _sized(data: Dataset, settings: Settings) -> Dataset:
    if settings.image_size is None or data.image_shape[1:] == (settings.image_size,) * 2:
        return data
    if not isinstance(data, Stored):
        raise _fixed(settings, data.image_shape)
    return resized(data, settings.image_size)


def split(data: Dataset, settings: Settings) -> Splits:
    """Hold a part out, or, to overfit, take a few images for both."""
    if settings.overfit:
        if not isinstance(data, Stored):
            raise ValueError(f"overfit={settings.overfit} is not allowed: {settings.data} has no stored images")
        few = data.select(torch.arange(min(settings.overfit, len(data))))
        return Splits(few, few)
    if not settings.validation:
        return Splits(data, None)
    if isinstance(data, Stored):
        return Splits(*data.split(settings.validation, seed=settings.seed))
    if isinstance(data, Sign):
        return Splits(data, Sign(count=data.count, seed=data.seed + APART["validation"]))
    raise ValueError(
        f"validation={settings.validation} is not allowed for {type(data).__name__}: only stored images can be parted; "
        f"give validation=0, or validation images of your own"
    )


def _fixed(settings: Settings, made: tuple[int, int, int]) -> ValueError:
    return ValueError(
        f"image_size={settings.image_size} is not allowed for {settings.data}: its images are made at "
        f"{made[1]}×{made[2]}"
    )
