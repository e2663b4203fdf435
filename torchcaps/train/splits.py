"""Training, validation and test images of a training; the test images are loaded only when they are asked for."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from torchcaps.data import (
    GENERATORS,
    NAMES,
    Balanced,
    Dataset,
    OwnImages,
    Sign,
    Stored,
    list_datasets,
    load,
    look_through,
)
from torchcaps.data._dataset import behind, contents
from torchcaps.data._random import permutation
from torchcaps.data.augment import AUGMENTATIONS
from torchcaps.data.resize import resized
from torchcaps.data.sign import validation_seed
from torchcaps.train.own import check_classes, held_out, is_own, own_images, own_parts, size_of
from torchcaps.train.settings import CUSTOM, Settings


class Splits(NamedTuple):
    """What a training sees: images to learn from, and others to judge by, if any are held out."""

    train: Dataset
    validation: Dataset | None


def load_splits(
    settings: Settings,
    data: Dataset | None = None,
    validation: Dataset | None = None,
    own: OwnImages | None = None,
) -> Splits:
    """The training split of a data set, parted into images to learn from and images to judge by.

    Args:
        data, validation: given as objects instead of by their names in the settings.
        own: the user's own images that the settings name, if they have been looked through already.
    """
    parts = _parts(settings, data, validation, own)
    train = _made(settings.data, settings.data_options, settings, parts.train)
    train = AUGMENTATIONS[settings.augment](Balanced(train) if settings.balance else train)
    if parts.validation is None:
        return Splits(train, None)
    judge, options = settings.data, settings.data_options
    if settings.validation_data is not None:
        judge, options = settings.validation_data, settings.validation_options
    judged = _made(judge, options, settings, parts.validation)
    for what in ("image_shape", "classes"):
        one, other = getattr(train, what), getattr(judged, what)
        if one != other:
            raise ValueError(f"training and validation images do not fit: their {what} is {one} and {other}")
    return Splits(train, judged)


def _parts(settings: Settings, data: Dataset | None, validation: Dataset | None, own: OwnImages | None) -> Splits:
    """The images that are learned from and judged by, before a generator makes others of them."""
    judge, options = settings.validation_data, settings.validation_options
    if judge is None:
        return _one_set(settings, data, own)
    same = settings.data != CUSTOM and _origin(judge, options) == _origin(settings.data, settings.data_options)
    if same and not settings.validation:
        raise ValueError(f"validation=0 is not allowed: {settings.data} and {judge} draw from the same images")
    if same:
        return _one_set(replace(settings, validation_data=None, validation_options={}), data, own)
    found = _one_set(replace(settings, validation=0.0), data, own)
    other = _source(judge, options, settings, "train") if validation is None else validation
    _check_apart(found.train, other)
    return found._replace(validation=other)


def _one_set(settings: Settings, data: Dataset | None, own: OwnImages | None) -> Splits:
    if data is None and is_own(settings):
        return _own(own_images(settings) if own is None else own, settings)
    origin = _origin(settings.data, settings.data_options)
    if data is None and settings.data in GENERATORS and origin not in list_datasets():
        return _own(look_through(origin), replace(settings, image_size=None))
    source = _source(settings.data, settings.data_options, settings, "train") if data is None else data
    return split(_few(source, settings), settings)


def _own(own: OwnImages, settings: Settings) -> Splits:
    """A user's own images: their contents decide which are to judge by."""
    parts = own_parts(own, settings)
    train = own.stored(parts["train"])
    check_classes(own, dict(zip(own.classes, train.labels.bincount(minlength=len(own.classes)).tolist(), strict=True)))
    learn = _sized(train, settings)
    if settings.overfit:
        return split(learn, settings)
    judge = _sized(own.stored(parts["validation"]), settings) if held_out(settings) else None
    return Splits(learn, judge)


def load_part(settings: Settings, name: str, images: int = 0) -> Dataset:
    """The training or test split as the training sees it: whole, or at most so many images of it."""
    if is_own(settings):
        return load_own_part(own_images(settings), settings, name, images)
    source = _at_most(_source(settings.data, settings.data_options, settings, name), settings, images)
    return _made(settings.data, {"seed": 0, **settings.data_options}, settings, source)


def load_own_part(own: OwnImages, settings: Settings, name: str, images: int = 0) -> Dataset:
    """The training or test split of a user's own images."""
    return _made(settings.data, {}, settings, _at_most(_sized(own.load(name), settings), settings, images))


def _at_most(data: Dataset, settings: Settings, images: int) -> Dataset:
    return _few(data, replace(settings, images=min(images, len(data))))


def _origin(name: str, options: Mapping[str, Any]) -> str:
    """The name of the images that a data set holds, or draws from."""
    return str(options.get("source", "mnist")) if name in GENERATORS else name


def _source(name: str, options: Mapping[str, Any], settings: Settings, part: str) -> Dataset:
    """The images that a data set holds, at the size the training wants, or those that a generator draws from."""
    if name in GENERATORS:
        return load(_origin(name, options), part)
    found = dict(options)
    if Path(name).is_dir():
        channels = {"in_chans": settings.options["in_chans"]} if "in_chans" in settings.options else {}
        before = options.get("rule") == NAMES
        size = {"image_size": settings.image_size or 64} if before else {"image_size": size_of(settings)}
        wanted = size if before else {**size, "fit": settings.fit}
        found = {**wanted, **channels, **found}
    if "root" in found:
        found["root"] = Path(found["root"])
    return _sized(load(name, part, **found), settings, name)


def _sized(data: Dataset, settings: Settings, name: str = "") -> Dataset:
    if settings.image_size is None or data.image_shape[1:] == (settings.image_size,) * 2:
        return data
    if not isinstance(data, Stored):
        raise _fixed(name or settings.data, settings, data.image_shape)
    return resized(data, settings.image_size, settings.fit)


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
        return Splits(data, Sign(count=len(data), seed=validation_seed(data.seed, settings.seed)))
    raise ValueError(
        f"validation={settings.validation} is not allowed for {type(data).__name__}: only stored images can be parted; "
        f"give validation=0, or validation images of your own"
    )


def _check_apart(learn: Dataset, judge: Dataset) -> None:
    """Refuse a second data set that shares images with the first."""
    both = [set(contents(found)) for found in map(behind, (learn, judge)) if isinstance(found, Stored)]
    shared = len(both[0] & both[1]) if len(both) == 2 else 0
    if shared:
        raise ValueError(f"{shared} of the validation images are also learned from: leave them out of one of the two")


def _fixed(name: str, settings: Settings, made: tuple[int, int, int]) -> ValueError:
    return ValueError(
        f"image_size={settings.image_size} is not allowed for {name}: its images are made at {made[1]}×{made[2]}"
    )
