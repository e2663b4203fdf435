"""What a measure is given, and what it gives back: numbers for verdicts, details for tables and pictures."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from torchcaps.bench.evidence import Number
from torchcaps.data import GENERATORS, Dataset, Sign, Stored, load
from torchcaps.data._random import permutation
from torchcaps.network import Model
from torchcaps.train import Settings
from torchcaps.train.splits import load_part, load_splits


@dataclass(frozen=True)
class Trained:
    """A training that has ended.

    Args:
        history: an entry for each epoch and each judging by validation images.
        reached: whether it came to the accuracy it was to stop at; None if there was none.
        seen: what its callbacks kept, by their names in the settings.
        folder: where its log lies.
    """

    model: Model
    settings: Settings
    history: list[dict[str, Any]]
    reached: bool | None
    steps: int
    seconds: float
    seen: dict[str, Any]
    folder: Path


@dataclass(frozen=True)
class Subject:
    """What is judged: a trained network, or nothing but a seed; and other networks that help to judge it."""

    seed: int
    trained: Trained | None = None
    others: tuple[Trained, ...] = ()

    @property
    def own(self) -> Trained:
        """The row's own training."""
        if self.trained is None:
            raise ValueError("this measure needs a trained network, and the row has none")
        return self.trained


@dataclass(frozen=True)
class Found:
    """Numbers by name, and whatever else is worth keeping, as JSON holds it."""

    numbers: Mapping[str, Number] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


Judge = Callable[..., Found]
"""From a subject and options to what was found."""


def images(settings: Settings, count: int = 0, *, split: str = "test", **options: Any) -> Dataset:
    """Images of a training's own kind, the same for every seed: all, or the first of an order that no seed changes.

    >>> settings = Settings("gu2021/capsnet", "multi_mnist")
    >>> len(images(settings, 30, source="glyphs"))
    30

    Args:
        options: of the data set, over those of the settings.
    """
    made, drawn = {**settings.data_options, **options}, settings.data in GENERATORS
    name, own = (made.pop("source", "mnist"), {}) if drawn else (settings.data, made)
    asked = replace(settings, data=name, data_options=own, seed=0)
    found = few(_loaded(json.dumps(asked.to_json()), split), count)
    return load(settings.data, split, **{"seed": 0, **made, "source": found}) if drawn else found


def held_out(settings: Settings) -> Dataset:
    """The validation images that a training was judged by, of its own split."""
    found = load_splits(settings).validation
    if found is None:
        raise ValueError("the training was judged by no images: its settings hold none out")
    return found


@lru_cache(maxsize=1)  # the measures of a row ask for the same images one after the other
def _loaded(settings: str, split: str) -> Dataset:
    return load_part(Settings.from_json(json.loads(settings)), split)


def few(data: Dataset, count: int) -> Dataset:
    """The first of an order that no seed changes."""
    if not count or count >= len(data):
        return data
    if isinstance(data, Sign):
        return Sign(count=count, seed=data.seed)
    if not isinstance(data, Stored):
        raise ValueError(f"count={count} is not allowed: {type(data).__name__} has no stored images to choose from")
    return data.select(permutation(0, 0, len(data))[:count])


def to_json(number: Number) -> Any:
    """A number as a result line holds it; outcomes image by image as a string of bits, two of them and a weight
    if it lies between two others."""
    if number.images is None:
        return number.value
    more = {} if number.sources == 1 else {"sources": number.sources}
    facts = {"count": len(number.images), "answers": number.answers, **more}
    if number.parts is None:
        return {"bits": _bits(number), **facts}
    a, b, weight = number.parts
    return {"bits": _bits(a), "to": _bits(b), "weight": weight, **facts}


def from_json(stored: Any) -> Number:
    """The number that `to_json` stored.

    >>> from_json(to_json(Number.share(np.array([True, False, True, True]), 10))).value
    0.75
    """
    if not isinstance(stored, dict):
        return Number(None if stored is None else float(stored))
    first = _share(stored, "bits")
    return Number.between(first, _share(stored, "to"), stored["weight"]) if "to" in stored else first


def _bits(number: Number) -> str:
    return base64.b64encode(np.packbits(np.asarray(number.images, dtype=bool)).tobytes()).decode()


def _share(stored: Mapping[str, Any], name: str) -> Number:
    packed = np.frombuffer(base64.b64decode(stored[name]), dtype=np.uint8)
    right = np.unpackbits(packed, count=stored["count"]).astype(bool)
    return Number.share(right, stored["answers"], stored.get("sources", 1))
