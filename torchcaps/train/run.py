"""A training's folder: its settings, how it went, and the network it left."""

import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from torchcaps._atomic import write_text
from torchcaps._seal import is_whole, sealed
from torchcaps._telling import working
from torchcaps._version import __version__
from torchcaps.backbones import architecture_only
from torchcaps.data import NAMES, Dataset, Reading
from torchcaps.losses import make_loss
from torchcaps.models import MOST_PIXELS, create_model, from_pretrained
from torchcaps.network import CONFIG, Model
from torchcaps.train.fingerprint import changes, inventory_of
from torchcaps.train.foreign import check_named
from torchcaps.train.migrate import FORMAT, UNSEALED, migrated
from torchcaps.train.not_finite import broken_part
from torchcaps.train.own import is_own, own_images, trained_before
from torchcaps.train.settings import CUSTOM, Settings
from torchcaps.train.splits import load_own_part, load_part
from torchcaps.train.standing import CHECKPOINTS, MODEL, RUN, standing

__all__ = ["CHECKPOINTS", "MODEL", "RUN", "Facts", "Run", "dressed", "load_run", "read_run", "write_run"]


@dataclass
class Run:
    """What `fit` gives and `load_run` finds again.

    Attributes:
        model: the trained network, ready to be asked; with averaged weights if the settings have an `average`.
        settings: what decided the training.
        classes: names of the classes.
        image_shape: channels, height and width of the images it takes.
        history: for each epoch, and each judging inside one, loss, accuracy, validation accuracy, images per second.
        directory: where it lies; None if it was not kept.
        made_with: versions, device, threads and the passes that computed it, as far as they are known.
    """

    model: Model
    settings: Settings
    classes: tuple[str, ...]
    image_shape: tuple[int, int, int]
    history: list[dict[str, Any]] = field(default_factory=list)
    directory: Path | None = None
    made_with: dict[str, Any] = field(default_factory=dict)

    def test_data(self, images: int = 0) -> Dataset:
        """The test images, which the training never saw, at the size of the network.

        A warning says if the data has changed since, and what was added, removed and changed.

        Args:
            images: at most so many, the first of an order that no seed changes; 0 for all.
        """
        if self.settings.data == CUSTOM:
            raise ValueError("this network was trained on data given as an object: its test images are not known here")
        settings = self.settings
        check_named(settings, self.directory)
        with working("reading the test images") as report:
            own = own_images(settings, report) if is_own(settings) else None
            data = load_part(settings, "test", images) if own is None else load_own_part(own, settings, "test", images)
        changed = changes(self.directory, inventory_of(settings, own))
        if changed:
            warnings.warn(f"{settings.data} has changed since the training: {'; '.join(changed)}", stacklevel=2)
        if trained_before(settings):
            warnings.warn(trained_before(settings), stacklevel=2)
        if own is not None and own.skipped:
            warnings.warn(own.complaint(), stacklevel=2)
        return data

    @property
    def reading(self) -> Reading:
        """How pictures become what the network takes."""
        options = self.settings.data_options
        return Reading(
            self.image_shape, self.settings.fit, options.get("background", "white"), options.get("rule") == NAMES
        )


class Facts(NamedTuple):
    """What run.json holds.

    Attributes:
        recipe: name and options of a network that was given as an object, if `create_model` built it from plain ones.
    """

    settings: Settings
    classes: tuple[str, ...]
    image_shape: tuple[int, int, int]
    recipe: dict[str, Any] | None = None
    made_with: dict[str, Any] = {}  # noqa: RUF012  # never changed


def write_run(folder: Path, facts: Facts) -> None:
    """Note what a training is, before it begins."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = {**facts._asdict(), "settings": facts.settings.to_json(), "format": FORMAT, "torchcaps": __version__}
    write_text(folder / RUN, json.dumps(sealed(json.loads(json.dumps(plain))), indent=2) + "\n")


def read_run(folder: Path) -> Facts:
    """What a training is; a file that was changed since it was written is refused."""
    path = folder / RUN
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is not the folder of a training: it has no {RUN}")
    try:
        found = json.loads(path.read_text())
        settings = Settings.from_json(migrated(found["settings"], found["format"]))
        if found["format"] > UNSEALED and not is_whole(found):
            raise ValueError("it was changed after it was written: its checksum differs")
        c, h, w = found["image_shape"]
        if not all(isinstance(size, int) and 1 <= size <= MOST_PIXELS for size in (c, h, w)):
            raise ValueError(f"image_shape={[c, h, w]} is not allowed: sizes from 1 to {MOST_PIXELS} are")
        classes = found["classes"]
        if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
            raise ValueError(f"classes={classes!r} is not allowed: a list of names is needed")
        rest = found.get("recipe"), found.get("made_with", {})
        return Facts(settings, tuple(classes), (c, h, w), *rest)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def load_run(directory: str | Path, model: Model | None = None) -> Run:
    """A training that `fit` or `torchcaps train` kept; of an unfinished one, what its last whole checkpoint holds.

    A warning names each checkpoint that is damaged and was passed over; see `torchcaps.train.standing`.

    >>> from tempfile import TemporaryDirectory
    >>> from torchcaps.train import fit
    >>> with TemporaryDirectory() as folder:
    ...     run = fit("peer2021/sign", "sign", out=folder, steps=2, images=64, batch_size=32, quiet=True)
    ...     load_run(folder).classes
    ('negative', 'positive')

    Args:
        model: a network put together by hand, built as it was for the training: it gets the weights back.
    """
    folder = Path(directory)
    facts = read_run(folder)
    weights, history = standing(folder, facts)
    _check_fit(folder, facts)
    network = _built(folder, facts) if model is None else dressed(model, facts.settings)
    if facts.settings.precision == "64":
        network.double()
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{folder} holds the weights of another network: {error}") from error
    broken = broken_part(network)
    if broken is not None:
        raise ValueError(f"{folder} holds a network that is of no use: {broken}")
    known = facts.settings, facts.classes, facts.image_shape
    return Run(network.eval(), *known, history, folder, facts.made_with)


def dressed(model: Model, settings: Settings) -> Model:
    """A network that was given as an object, with the settings that become a part of it."""
    options = {name: value for name, value in settings.model_options.items() if name in ("loss", "standardise")}
    if settings.loss:
        model.loss = make_loss(**settings.loss)
    if settings.standardise:
        model.standardise()
    if model.recipe:
        model.recipe = {**model.recipe, "options": {**model.recipe["options"], **options}}
    return model


def _built(folder: Path, facts: Facts) -> Model:
    """The network as it was before its training."""
    with architecture_only():
        if facts.settings.model != CUSTOM:
            return create_model(facts.settings.model, **facts.settings.model_options)
        if facts.recipe is not None:
            return create_model(facts.recipe["name"], **facts.recipe["options"])
    if (folder / MODEL / CONFIG).is_file():
        return from_pretrained(folder / MODEL)
    raise ValueError(
        f"{folder} holds a network put together by hand: build it again and give it, load_run({str(folder)!r}, "
        f"model=net)"
    )


def _check_fit(folder: Path, facts: Facts) -> None:
    """Refuse classes and images that the network of the settings does not tell and take."""
    custom = facts.settings.model == CUSTOM
    options = (facts.recipe or {}).get("options", {}) if custom else facts.settings.options
    c, *sides = facts.image_shape
    sizes = {"num_classes": len(facts.classes), "in_chans": c, "image_size": sides}
    for name, now in sizes.items():
        before = options.get(name, now)
        if name == "image_size" and isinstance(before, int):
            before = [before, before]
        if (list(before) if name == "image_size" else before) != now:
            raise ValueError(f"{folder / RUN} does not fit its network: {name} is {before}, but it speaks of {now}")
