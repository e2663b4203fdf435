"""What decides a training: one record of plain data, checked at once, kept as JSON beside the weights."""

import difflib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from torchcaps.backbones import check_tune
from torchcaps.data.augment import AUGMENTATIONS
from torchcaps.data.resize import FITS
from torchcaps.losses import make_loss
from torchcaps.models import BY_HAND, MOST_PIXELS
from torchcaps.train.callbacks import CALLBACKS, make_callbacks
from torchcaps.train.learning_rate import SCHEDULES
from torchcaps.train.migrate import RENAMED

MOST = 1e9
"""The largest number that any setting may be: what is larger is a slip, and single precision ends soon after."""
OPTIMISERS = ("adam", "adamw", "sgd")
PRECISIONS = ("32", "64", "bf16")
CUSTOM = BY_HAND
"""Stands for a model or data that were given as objects, which only their author can build again."""

_KINDS: dict[str, tuple[type, ...]] = {
    "<class 'int'>": (int,),
    "<class 'float'>": (int, float),
    "<class 'bool'>": (bool,),
    "<class 'str'>": (str,),
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
    "float | None": (int, float, type(None)),
    "dict[str, typing.Any]": (dict,),
}
_FREE = ("epochs", "steps", "until_accuracy", "judge_every", "save_every", "keep")


@dataclass(frozen=True)
class Settings:
    """All that decides the weights a training ends with, but for the machine; any training of the papers.

    >>> Settings("sabour2017/capsnet", "mnist", lr=3e-3).lr
    0.003

    Args:
        model: a name of `list_models`, or "custom" for a network that was given as an object.
        data: a name of `list_datasets`, a folder, an .npz file, or "custom".
        options: of `create_model`; classes, channels and image size come from the data unless they are here.
        data_options: of `load`, such as a generator's `source`, `pairs`, `canvas`, `strength` or `single`.
        images: how many of the training images are taken, before any are held out; 0 for all. Which ones does not
            depend on the seed, so that trainings that are compared share them.
        image_size: height and width the images are resized to; if not given as they are, or, for pictures in a folder,
            as the model's paper has it.
        fit: what becomes of an image that is no square: "pad", "crop" or "squash"; see `torchcaps.data.resize`.
        balance: whether every class is learned from equally often, however few images it has.
        augment: what is done to the training images, by a name of `torchcaps.data.augment.AUGMENTATIONS`.
        standardise: whether the network sees every image with mean 0 and deviation 1; it keeps doing so when it is
            judged, asked or exported.
        validation: share of the training images held out to judge by; the test split is never looked at.
        validation_data: another data set to judge by, whose training split is taken. Where both draw from the same
            images, `validation` of them are held out for it.
        validation_options: of `validation_data`, as `data_options`.
        overfit: train, and judge, on the first so many images only; 0 for all.
        epochs: passes over the training images, at most.
        steps: end after so many steps instead, whatever the epochs.
        until_accuracy: share of validation images right at which training ends early.
        judge_every: steps between judgings by the validation images, besides the one after every epoch.
        average: how much an exponential moving average of weights and buffers keeps at each step, such as 0.999; 0 for
            none. With it validation is judged with the averaged weights, and the network that the training leaves has
            them.
        lr_schedule: how the learning rate changes; see `torchcaps.train.learning_rate`.
        momentum: of stochastic gradient descent.
        tune: what of a pretrained backbone learns: "head" (nothing), "last:N" (its last N stages) or "all"; nothing
            where there are fewer than 5,000 images to learn from, if not given.
        backbone_lr: the rate of a pretrained backbone that learns, as a share of `lr`.
        clip: the largest norm of the gradient of all parameters; longer ones are shortened to it.
        loss: `{"name": "margin", "down_weight": 1.0}`, a name of `torchcaps.losses.LOSSES` and its options; the model's
            own if empty.
        reconstruction_weight: of the decoder's squared error, summed over pixels, where the model has a decoder.
        callbacks: names of `torchcaps.train.callbacks.CALLBACKS`, each with its options.
        deterministic: the same to the last bit every time, with as many threads and processes on such a machine. With
            another number of threads sums are rounded otherwise, in torch's convolutions and matrix products too; a
            training that goes on with another says so.
        save_every: steps between checkpoints; one is also written after every epoch.
        keep: how many of the last checkpoints stay once the training has ended; until then at least two do.
    """

    model: str
    data: str
    options: dict[str, Any] = field(default_factory=dict)
    data_options: dict[str, Any] = field(default_factory=dict)
    images: int = 0
    image_size: int | None = None
    fit: str = "pad"
    balance: bool = False
    augment: str = "none"
    standardise: bool = False
    validation: float = 0.1
    validation_data: str | None = None
    validation_options: dict[str, Any] = field(default_factory=dict)
    overfit: int = 0
    epochs: int = 10
    steps: int | None = None
    until_accuracy: float | None = None
    judge_every: int | None = None
    average: float = 0.0
    batch_size: int = 128
    optimiser: str = "adam"
    lr: float = 1e-3
    lr_schedule: str = "constant"
    momentum: float = 0.9
    weight_decay: float = 0.0
    clip: float | None = None
    tune: str | None = None
    backbone_lr: float = 0.1
    loss: dict[str, Any] = field(default_factory=dict)
    reconstruction_weight: float = 0.0005
    callbacks: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    precision: str = "32"
    deterministic: bool = False
    compile: bool = False
    save_every: int = 200
    keep: int = 1

    def __post_init__(self) -> None:
        self._check_kinds()
        for name in ("epochs", "batch_size", "save_every", "keep"):
            self._check(name, getattr(self, name) >= 1, "it must be at least 1")
        for name in ("image_size", "steps", "judge_every"):
            value = getattr(self, name)
            self._check(name, value is None or value >= 1, "it must be at least 1")
        self._check("image_size", (self.image_size or 1) <= MOST_PIXELS, f"it must be at most {MOST_PIXELS}")
        for name in ("weight_decay", "reconstruction_weight", "overfit", "images"):
            self._check(name, 0 <= getattr(self, name) <= MOST, f"a number from 0 to {MOST:g}")
        for name in ("epochs", "steps", "batch_size"):
            self._check(name, (getattr(self, name) or 1) <= MOST, f"it must be at most {MOST:g}")
        self._check("lr", 0 < self.lr <= MOST, f"it must be positive, and at most {MOST:g}")
        self._check("clip", self.clip is None or 0 < self.clip <= MOST, f"it must be positive, and at most {MOST:g}")
        self._check("backbone_lr", 0 < self.backbone_lr <= MOST, f"it must be positive, and at most {MOST:g}")
        self._check("momentum", 0 <= self.momentum < 1, "a number from 0 up to, but not, 1")
        self._check("average", 0 <= self.average < 1, "a number from 0 up to, but not, 1")
        self._check("seed", 0 <= self.seed < 2**31, "a whole number from 0 to 2³¹ − 1")
        self._check("validation", 0 <= self.validation < 1, "a share from 0 up to, but not, 1")
        self._check_data()
        self._check_names()

    def _check_kinds(self) -> None:
        for f in fields(self):
            kinds, value = _KINDS[str(f.type)], getattr(self, f.name)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise ValueError(f"{f.name}={value!r} is not allowed: it must be {getattr(f.type, '__name__', f.type)}")
            for name, part in value.items() if isinstance(value, dict) else ():
                _check_plain(f.name, name, part)

    def _check_data(self) -> None:
        until = self.until_accuracy
        self._check("until_accuracy", until is None or 0 < until <= 1, "a share between 0 and 1")
        held_out = self.validation > 0 or self.overfit > 0 or self.validation_data is not None
        for name in ("until_accuracy", "judge_every"):
            unused = getattr(self, name) is None
            self._check(name, unused or held_out, "validation=0 leaves no images to judge by")
        for name, data in (("data_options", self.data), ("validation_options", self.validation_data)):
            named = data not in (None, CUSTOM)
            self._check(name, named or not getattr(self, name), "there is no data with a name that they could be of")

    def _check_names(self) -> None:
        choices: dict[str, Collection[str]] = {
            "optimiser": OPTIMISERS, "lr_schedule": SCHEDULES, "precision": PRECISIONS, "augment": AUGMENTATIONS,
            "fit": FITS,
        }  # fmt: skip
        for name, allowed in choices.items():
            self._check(name, getattr(self, name) in allowed, f"choose one of {', '.join(map(repr, allowed))}")
        if self.tune is not None:
            check_tune(self.tune)
        if self.loss:
            self._check("loss", isinstance(self.loss.get("name"), str), "it needs a name, such as {'name': 'margin'}")
            self._check("loss", "loss" not in self.options, f"options has loss={self.options.get('loss')!r} already")
            make_loss(**self.loss)
        for name, options in self.callbacks.items():
            known = f"choose from {', '.join(map(repr, CALLBACKS))}, each with its options"
            self._check("callbacks", name in CALLBACKS and isinstance(options, dict), known)
        make_callbacks(self.callbacks)

    def _check(self, name: str, allowed: bool, rule: str) -> None:  # noqa: FBT001
        if not allowed:
            raise ValueError(f"{name}={getattr(self, name)!r} is not allowed: {rule}")

    @property
    def model_options(self) -> dict[str, Any]:
        """What `create_model` is given: the options, and the settings that become a part of the network."""
        loss = {"loss": self.loss} if self.loss else {}
        return {**self.options, **loss, **({"standardise": True} if self.standardise else {})}

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Settings":
        """From what `to_json` gave; an unknown name is an error that says which are near."""
        known = [f.name for f in fields(cls)]
        for name in values:
            if name not in known:
                near = [RENAMED[name]] if name in RENAMED else difflib.get_close_matches(name, known, n=3, cutoff=0.4)
                hint = f"did you mean {', '.join(near)}? " if near else ""
                raise ValueError(f"there is no setting {name!r}: {hint}Known: {', '.join(known)}")
        return cls(**values)

    def differences(self, other: "Settings") -> list[str]:
        """What differs from another training so that neither can go on as the other; more epochs are no difference."""
        pairs = ((f.name, getattr(other, f.name), getattr(self, f.name)) for f in fields(self) if f.name not in _FREE)
        return [f"{name} was {before!r}, now {now!r}" for name, before, now in pairs if _plain(before) != _plain(now)]


def _check_plain(setting: str, name: str, value: Any) -> None:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{setting} has {name}={value!r}, an object that JSON cannot hold: use names and numbers, or build the "
            f"model, data or callback yourself and give it to fit as an object"
        ) from None


def _plain(value: Any) -> Any:
    """As it comes back from JSON, where tuples are lists."""
    return json.loads(json.dumps(value))
