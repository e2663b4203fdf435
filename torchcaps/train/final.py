"""The network that a training left at its end, with how it came to it: the folder `model/`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor

from torchcaps.models import read_config, read_weights
from torchcaps.network import CONFIG, Model, has_plain_recipe, write_weights
from torchcaps.train.log import LOG
from torchcaps.train.migrate import FORMAT, migrated
from torchcaps.train.settings import CUSTOM, Settings

if TYPE_CHECKING:
    from torchcaps.train.run import Facts

TRAINING = "training"
"""Where config.json holds the `Ending`; older versions wrote none."""

Entries = list[dict[str, Any]]


class Ending(NamedTuple):
    """How a training came to its end.

    Attributes:
        images: how many it had to learn from; None where that is not known.
    """

    settings: Settings
    history: Entries
    images: int | None


class Final(NamedTuple):
    """The network of a training that has ended: what config.json holds, and the weights."""

    config: dict[str, Any]
    weights: dict[str, Tensor]
    ending: Ending


def keep_final(network: Model, place: Path, facts: "Facts", ending: Ending) -> None:
    """Write the weights on their own, of any network, and how the training went."""
    recipe = network.recipe if has_plain_recipe(network) else {"name": CUSTOM, "options": {}}
    told = {"format": FORMAT, **ending._asdict(), "settings": ending.settings.to_json()}
    seen = {"classes": list(facts.classes), "image_shape": list(facts.image_shape)}
    write_weights(network, place, {**recipe, **seen, TRAINING: json.loads(json.dumps(told))})


def is_end(settings: Settings, history: Entries, images: int) -> bool:
    """Whether these settings have nothing left to train for a network with this history.

    >>> is_end(Settings("custom", "custom", epochs=2, batch_size=10), [{"epoch": 1, "step": 8}], images=36)
    True
    """
    last = history[-1] if history else {}
    total = settings.steps or settings.epochs * -(-images // settings.batch_size)
    return last.get("step", 0) >= total or is_enough(settings, last)


def is_enough(settings: Settings, last: dict[str, Any]) -> bool:
    """Whether the accuracy is reached at which a training may end early."""
    wanted = settings.until_accuracy
    return wanted is not None and last.get("validation_accuracy", 0) >= wanted


def ending_of(place: Path) -> Ending | None:
    """How the training ended whose network lies here; None if there is none, or an older version wrote it."""
    if not (place / CONFIG).is_file():
        return None
    told = read_config(place).get(TRAINING)
    if told is None:
        return None
    try:
        settings = Settings.from_json(migrated(told["settings"], told["format"]))
        return Ending(settings, list(told["history"]), int(told["images"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{place / CONFIG} cannot be read: {error}") from error


def read_final(place: Path, settings: Settings) -> Final | None:
    """The network, if it stands where a training with these settings ends; damage to its files is an error."""
    ending = ending_of(place)
    if ending is None or ending.images is None or not is_end(settings, ending.history, ending.images):
        return None
    return Final(*read_weights(place), ending)


def read_older(folder: Path, place: Path, settings: Settings) -> Final | None:
    """The same of an older version, which noted the end in the log alone: for where the last checkpoint is damaged."""
    if not (place / CONFIG).is_file() or TRAINING in read_config(place):
        return None
    entries = _logged(folder / LOG)
    last = entries[-1] if entries else {}
    whole = last.pop("event", "") == "epoch" and last["epoch"] + 1 >= settings.epochs
    done = whole if settings.steps is None else last.get("step", 0) >= settings.steps
    if not done and not is_enough(settings, last):
        return None
    history = [{name: value for name, value in entry.items() if name != "event"} for entry in entries]
    return Final(*read_weights(place), Ending(settings, history, None))


def _logged(log: Path) -> Entries:
    """The history, as far as the log can be read."""
    found: Entries = []
    for line in log.read_text(errors="replace").splitlines() if log.is_file() else []:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and entry.get("event") in ("epoch", "judging"):
            found.append(entry)
    return found
