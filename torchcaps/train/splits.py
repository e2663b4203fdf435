"""Training, validation and test images of a training; the test images are loaded only when they are asked for."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from torchcaps.data import GENERATORS, Dataset, Sign, Stored, load
from torchcaps.data._random import permutation
from torchcaps.data.augment import AUGMENTATIONS
from torchcaps.train.settings import CUSTOM, Settings


class Splits(NamedTuple):
    """What a training sees: images to learn from, and others to judge by, if any are held out."""

    train: Dataset
    validation: Dataset | None


def load_splits(settings: Settings, data: Dataset | None = None, validation: Dataset | None = None) -> Splits:
    """The training split of a data set, parted into images to learn from and images to judge by.

    Args:
        data, validation: given as objects instead of by their names in the settings.
    """
    source = _few(_source(settings.data, settings.data_options, settings, "train") if data is None else data, settings)
    if settings.validation_data is None:
        judge, options = settings.data, settings.data_options
        parts = split(source, settings)
    else:
        judge, options = settings.validation_data, settings.validation_options
        parts = _split_for_another(source, settings, validation)
    train = AUGMENTATIONS[settings.augment](_made(settings.data, settings.data_options, settings, parts.train))
    if parts.validation is None:
        return Splits(train, None)
    held_out = _made(judge, options, settings, parts.validation)
    for what in ("image_shape", "classes"):
        one, other = getattr(train, what), getattr(held_out, what)
        if one != other:
            raise ValueError(f"training and validation images do not fit: their {what} is {one} and {other}")
    return Splits(train, held_out)


def _split_for_another(source: Dataset, settings: Settings, validation: Dataset | None) -> Splits:
    """All images for learning and another data set to judge by; of images that both draw from, each has its part."""
    judge, options = settings.validation_data or "", settings.validation_options
    if settings.data != CUSTOM and _origin(judge, options) == _origin(settings.data, settings.data_options):
        if not settings.validation:
            raise ValueError(f"validation=0 is not allowed: {settings.data} and {judge} draw from the same images")
        return split(source, settings)
    train = split(source, replace(settings, validation=0.0)).train
    return Splits(train, _source(judge, options, settings, "train") if validation is None else validation)


def load_part(settings: Settings, name: str, images: int = 0) -> Dataset:
    """The training or test split as the training sees it: whole, or as many images of it as there are wanted."""
    source = _source(settings.data, settings.data_options, settings, name)
    source = _few(source, replace(settings, images=min(images, len(source))))
    return _made(settings.data, {"seed": 0, **settings.data_options}, settings, source)


def _origin(name: str, options: Mapping[str, Any]) -> str:
    """The name of the images that a data set holds, or draws from."""
    return str(options.get("source", "mnist")) if name in GENERATORS else name


def _source(name: str, options: Mapping[str, Any], settings: Settings, part: str) -> Dataset:
    """The images that a data set holds, at the size the training wants, or those that a generator draws from."""
    if name in GENERATORS:
        return load(_origin(name, options), part)
    path, found = Path(name), dict(options)
    if path.is_dir():
        channels = {"in_chans": settings.options["in_chans"]} if "in_chans" in settings.options else {}
        found = {"image_size": settings.image_size or 64, **channels, **found}
    if "root" in found:
        found["root"] = Path(found["root"])
    data = load(name, part, **found)
    if settings.image_size is None or data.image_shape[1:] == (settings.image_size,) * 2:
        return data
    if not isinstance(data, Stored):
        raise _fixed(name, settings, data.image_shape)
    return resized(data, settings.image_size)


def _made(name: str, options: Mapping[str, Any], settings: Settings, part: Dataset) -> Dataset:
    """What a training sees of its part of the images: they themselves, or what a generator makes of them."""
    if name not in GENERATORS:
        if isinstance(part, Stored) and name != CUSTOM:
            part.seed = settings.seed  # of the order
        return part
    if not isinstance(part, Stored):
        raise TypeError("a generator draws from stored images")
    made = load(name, **{"seed": settings.seed, **options, "source": part})
    if settings.image_size not in (None, *made.image_shape[1:]):
        raise _fixed(name, settings, made.image_shape)
    return made


def _few(data: Dataset, settings: Settings) -> Dataset:
    """The first of an order that no seed changes, as many as the training wants."""
    count = settings.images
    if not count:
        return data
    if not 1 <= count <= len(data):
        raise ValueError(f"images={count} is not allowed: {settings.data} has {len(data)} training images")
    if isinstance(data, Stored):
        return data.select(permutation(0, 0, len(data))[:count])
    if isinstance(data, Sign):
        return Sign(count=count, seed=data.seed)
    raise ValueError(f"images={count} is not allowed: {type(data).__name__} has no stored images to choose from")


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
        return Splits(data, Sign(count=len(data), seed=settings.seed + 1000))
    raise ValueError(
        f"validation={settings.validation} is not allowed for {type(data).__name__}: only stored images can be parted; "
        f"give validation=0, or validation images of your own"
    )


def _fixed(name: str, settings: Settings, made: tuple[int, int, int]) -> ValueError:
    return ValueError(
        f"image_size={settings.image_size} is not allowed for {name}: its images are made at {made[1]}×{made[2]}"
    )


def resized(data: Stored, size: int) -> Stored:
    """Every image as a square of another size.

    >>> resized(Stored(torch.zeros(2, 1, 28, 28, dtype=torch.uint8), torch.tensor([0, 1]), ("a", "b")), 32).image_shape
    (1, 32, 32)
    """
    parts = [
        F.interpolate(part.float(), (size, size), mode="bilinear", antialias=True).round().clamp(0, 255).to(torch.uint8)
        for part in data.images.split(1024)
    ]
    return Stored(torch.cat(parts), data.labels, data.classes, seed=data.seed)
