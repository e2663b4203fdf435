"""A training's folder: its settings, how it went, and the network it left."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from torchcaps._seal import is_whole, sealed
from torchcaps._version import __version__
from torchcaps.data import Dataset
from torchcaps.losses import make_loss
from torchcaps.models import create_model, from_pretrained, read_weights
from torchcaps.network import CONFIG, Model, has_plain_recipe, write_weights
from torchcaps.train import checkpoint
from torchcaps.train.checkpoint import Checkpoint
from torchcaps.train.migrate import FORMAT, UNSEALED, migrated
from torchcaps.train.not_finite import broken_part
from torchcaps.train.settings import CUSTOM, Settings
from torchcaps.train.splits import load_part

RUN, MODEL, CHECKPOINTS = "run.json", "model", "checkpoints"


@dataclass
class Run:
    """What `fit` gives and `load_run` finds again.

    Attributes:
        model: the trained network, ready to be asked.
        settings: what decided the training.
        classes: names of the classes.
        image_shape: channels, height and width of the images it takes.
        history: for each epoch, and each judging inside one, its loss, accuracy, validation accuracy, images a second.
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

    def test_data(self) -> Dataset:
        """The test images, which the training never saw, at the size of the network."""
        if self.settings.data == CUSTOM:
            raise ValueError("this network was trained on data given as an object: its test images are not known here")
        return load_part(self.settings, "test")


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
    unfinished = folder / f"{RUN}.part"
    unfinished.write_text(json.dumps(sealed(json.loads(json.dumps(plain))), indent=2) + "\n")
    unfinished.replace(folder / RUN)


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
        rest = found.get("recipe"), found.get("made_with", {})
        return Facts(settings, tuple(found["classes"]), (c, h, w), *rest)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def load_run(directory: str | Path, model: Model | None = None) -> Run:
    """A training that `fit` or `torchcaps train` kept; of an unfinished one, what its last checkpoint holds.

    Args:
        model: a network put together by hand, built as it was for the training: it gets the weights back.
    """
    folder = Path(directory)
    facts = read_run(folder)
    found, problems = checkpoint.newest(folder / CHECKPOINTS)
    if found is not None:
        _compare(folder, facts, found)
        weights = checkpoint.unpack_model(found)
    elif (folder / MODEL / CONFIG).is_file():
        _, weights = read_weights(folder / MODEL)
    else:
        raise ValueError("\n".join([f"{folder} holds no checkpoint that can be read yet", *problems]))
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
    history = [] if found is None else found.record["history"]
    known = facts.settings, facts.classes, facts.image_shape
    return Run(network.eval(), *known, history, folder, facts.made_with)


def keep_weights(network: Model, folder: Path) -> None:
    """The weights on their own, beside the last checkpoint, of any network."""
    recipe = network.recipe if has_plain_recipe(network) else {"name": CUSTOM, "options": {}}
    write_weights(network, folder / MODEL, recipe)


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


def _compare(folder: Path, facts: Facts, found: Checkpoint) -> None:
    """Refuse a run.json that belongs to another training than its checkpoints."""
    changed = facts.settings.differences(Settings.from_json(found.record["settings"]))
    for name in ("classes", "image_shape"):
        before, now = found.record.get(name), list(getattr(facts, name))
        if before not in (None, now):
            changed.append(f"{name} was {before}, now {now}")
    if changed:
        raise ValueError(f"{folder / RUN} does not belong to the checkpoint beside it: {'; '.join(changed)}")
