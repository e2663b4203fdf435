"""A training's folder: its settings, how it went, and the network it left."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchcaps.data import Dataset
from torchcaps.models import create_model, from_pretrained
from torchcaps.network import CONFIG, Model
from torchcaps.train import checkpoint
from torchcaps.train.migrate import FORMAT, migrated
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
    """

    model: Model
    settings: Settings
    classes: tuple[str, ...]
    image_shape: tuple[int, int, int]
    history: list[dict[str, Any]] = field(default_factory=list)
    directory: Path | None = None

    def test_data(self, images: int = 0) -> Dataset:
        """The test images, which the training never saw, at the size of the network.

        Args:
            images: at most so many, the first of an order that no seed changes; 0 for all.
        """
        if self.settings.data == CUSTOM:
            raise ValueError("this network was trained on data given as an object: its test images are not known here")
        return load_part(self.settings, "test", images)


def write_run(folder: Path, settings: Settings, classes: tuple[str, ...], image_shape: tuple[int, int, int]) -> None:
    """Note the settings of a training, before it begins."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"format": FORMAT, "settings": settings.to_json(), "classes": classes, "image_shape": image_shape}
    unfinished = folder / f"{RUN}.part"
    unfinished.write_text(json.dumps(facts, indent=2) + "\n")
    unfinished.replace(folder / RUN)


def read_run(folder: Path) -> tuple[Settings, tuple[str, ...], tuple[int, int, int]]:
    """The settings of a training, its classes and the shape of its images."""
    path = folder / RUN
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is not the folder of a training: it has no {RUN}")
    try:
        facts = json.loads(path.read_text())
        c, h, w = facts["image_shape"]
        settings = Settings.from_json(migrated(facts["settings"], facts["format"]))
        return settings, tuple(facts["classes"]), (c, h, w)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def load_run(directory: str | Path) -> Run:
    """A training that `fit` or `torchcaps train` kept; of an unfinished one, what its last checkpoint holds."""
    folder = Path(directory)
    settings, classes, image_shape = read_run(folder)
    found, problems = checkpoint.newest(folder / CHECKPOINTS)
    if found is not None and settings.model != CUSTOM:
        model = create_model(settings.model, **settings.model_options)
        model.load_state_dict(checkpoint.unpack_model(found))
    elif (folder / MODEL / CONFIG).is_file():
        model = from_pretrained(folder / MODEL)
    elif found is not None:
        raise ValueError(f"{folder} holds a network put together by hand: load its weights from {CHECKPOINTS} yourself")
    else:
        raise ValueError("\n".join([f"{folder} holds no checkpoint that can be read yet", *problems]))
    history = [] if found is None else found.record["history"]
    return Run(model.eval(), settings, classes, image_shape, history, folder)
