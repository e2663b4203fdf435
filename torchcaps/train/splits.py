"""Training, validation and test images of a training; the test images are loaded only when they are asked for."""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from torchcaps.data import GENERATORS, Dataset, Sign, Stored, load
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
    splits = split(load_part(settings, "train"), settings)
    if isinstance(splits.train, Stored):
        splits.train.seed = settings.seed  # of the order
    return splits


def load_part(settings: Settings, name: str) -> Dataset:
    """The training or test split at the size the training wants."""
    path = Path(settings.data)
    options: dict[str, Any] = {}
    if path.is_dir():
        options = {"image_size": settings.image_size or 64}
        if "in_chans" in settings.options:
            options["in_chans"] = settings.options["in_chans"]
    data = load(settings.data, name, **options)
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
        return Splits(data, Sign(seed=settings.seed + 1000))
    raise ValueError(
        f"validation={settings.validation} is not allowed for {type(data).__name__}: only stored images can be parted; "
        f"give validation=0, or validation images of your own"
    )


def _fixed(settings: Settings, made: tuple[int, int, int]) -> ValueError:
    return ValueError(
        f"image_size={settings.image_size} is not allowed for {settings.data}: its images are made at "
        f"{made[1]}×{made[2]}"
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
