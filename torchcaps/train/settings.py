"""What a training is told: one record, checked at once, kept as JSON beside the weights."""

import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from torchcaps.train.learning_rate import SCHEDULES

OPTIMISERS = ("adam", "sgd")
PRECISIONS = ("32", "64", "bf16")
_KINDS: dict[str, tuple[type, ...]] = {
    "<class 'int'>": (int,),
    "<class 'float'>": (int, float),
    "<class 'bool'>": (bool,),
    "<class 'str'>": (str,),
    "int | None": (int, type(None)),
    "float | None": (int, float, type(None)),
    "dict[str, typing.Any]": (dict,),
}


@dataclass(frozen=True)
class Settings:
    """All that decides the weights a training ends with, but for the machine.

    >>> Settings("sabour2017/capsnet", "mnist", lr=3e-3).lr
    0.003

    Args:
        model: a name of `list_models`, or "custom" for a network that was given as an object.
        data: a name of `list_datasets`, a folder, an .npz file, or "custom".
        options: of `create_model`; classes, channels and image size come from the data unless they are here.
        epochs: passes over the training images, at most.
        until_accuracy: share of validation images right at which training ends early.
        image_size: height and width the images are resized to; as they are if not given (64 for a folder).
        schedule: how the learning rate changes; see `torchcaps.train.learning_rate`.
        reconstruction: weight of the decoder's squared error, summed over pixels, where the model has a decoder.
        validation: share of the training images held out to judge by; the test split is never looked at.
        overfit: train, and judge, on the first so many images only; 0 for all.
        save_every: steps between checkpoints; one is also written after every epoch.
    """

    model: str
    data: str
    options: dict[str, Any] = field(default_factory=dict)
    epochs: int = 10
    until_accuracy: float | None = None
    batch_size: int = 128
    lr: float = 1e-3
    weight_decay: float = 0.0
    optimiser: str = "adam"
    schedule: str = "constant"
    reconstruction: float = 0.0005
    image_size: int | None = None
    validation: float = 0.1
    seed: int = 0
    precision: str = "32"
    deterministic: bool = False
    compile: bool = False
    overfit: int = 0
    save_every: int = 200

    def __post_init__(self) -> None:
        for f in fields(self):
            kinds = _KINDS.get(str(f.type))
            value = getattr(self, f.name)
            if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
                raise ValueError(f"{f.name}={value!r} is not allowed: it must be {getattr(f.type, '__name__', f.type)}")
        for name in ("epochs", "batch_size", "save_every"):
            self._check(name, getattr(self, name) >= 1, "it must be at least 1")
        self._check("lr", 0 < self.lr < math.inf, "it must be positive")
        self._check("seed", 0 <= self.seed < 2**31, "a whole number from 0 to 2³¹ − 1")
        for name in ("weight_decay", "reconstruction", "overfit"):
            self._check(name, getattr(self, name) >= 0, "it must not be negative")
        self._check("validation", 0 <= self.validation < 1, "a share from 0 up to, but not, 1")
        until = self.until_accuracy
        self._check("until_accuracy", until is None or 0 < until <= 1, "a share between 0 and 1")
        held_out = until is None or self.validation > 0 or self.overfit > 0
        self._check("until_accuracy", held_out, "validation=0 leaves no images to judge by")
        self._check("image_size", self.image_size is None or self.image_size >= 1, "it must be at least 1")
        for name, allowed in (("optimiser", OPTIMISERS), ("schedule", tuple(SCHEDULES)), ("precision", PRECISIONS)):
            self._check(name, getattr(self, name) in allowed, f"choose one of {', '.join(map(repr, allowed))}")

    def _check(self, name: str, allowed: bool, rule: str) -> None:  # noqa: FBT001
        if not allowed:
            raise ValueError(f"{name}={getattr(self, name)!r} is not allowed: {rule}")

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Settings":
        """From what `to_json` gave; an unknown name is an error that says which are near."""
        known = [f.name for f in fields(cls)]
        for name in values:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
                hint = f"did you mean {', '.join(near)}? " if near else ""
                raise ValueError(f"there is no setting {name!r}: {hint}Known: {', '.join(known)}")
        return cls(**values)

    def differences(self, other: "Settings") -> list[str]:
        """What differs from another training so that neither can go on as the other; more epochs are no difference."""
        free = ("epochs", "until_accuracy", "save_every")
        pairs = ((f.name, getattr(other, f.name), getattr(self, f.name)) for f in fields(self) if f.name not in free)
        return [f"{name} was {before!r}, now {now!r}" for name, before, now in pairs if _plain(before) != _plain(now)]


def _plain(value: Any) -> Any:
    """As it comes back from JSON, where tuples are lists."""
    return json.loads(json.dumps(value, default=str))
