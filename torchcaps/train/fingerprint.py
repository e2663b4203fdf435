"""Whether the data of a training is still what it was; the training's folder keeps what it consisted of."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torchcaps._atomic import write_text
from torchcaps.data import GENERATORS, NAMES, RECIPES, Dataset, Inventory, OwnImages, Stored, look_through
from torchcaps.data._dataset import behind, contents
from torchcaps.data.affnist import files_of
from torchcaps.data.glyphs import fonts
from torchcaps.train.settings import CUSTOM, Settings

DATA = "data.json"


def inventory_of(settings: Settings, own: OwnImages | None = None, given: Dataset | None = None) -> Inventory | None:
    """What the data of a training consists of; None of what only its author knows.

    Args:
        own: the user's own images, if they have been looked through already.
        given: data that was given as an object.
    """
    if own is not None:
        found: Inventory | None = own.inventory()
    else:
        found = _inventory(settings.data, settings.data_options, given)
    if found is None or settings.validation_data is None:
        return found
    second = _inventory(settings.validation_data, settings.validation_options, None) or Inventory()
    more = {f"{settings.validation_data}: {name}": value for name, value in second.contents.items()}
    return Inventory({**found.contents, **more})


def _inventory(name: str, options: Mapping[str, Any], given: Dataset | None) -> Inventory | None:
    if name == CUSTOM:
        stored = None if given is None else behind(given)
        return Inventory({f"{len(stored)} images given": _digest(stored)}) if isinstance(stored, Stored) else None
    origin = str(options.get("source", "mnist")) if name in GENERATORS else name
    if origin in RECIPES:
        return Inventory(RECIPES[origin].files)
    if origin in ("glyphs", "affnist"):
        files = [*fonts("train"), *fonts("test")] if origin == "glyphs" else files_of("train", options.get("root"))
        return Inventory({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
    if origin == "sign":
        return Inventory()
    return None if options.get("rule") == NAMES else look_through(origin).inventory()


def _digest(data: Stored) -> str:
    return hashlib.sha256(b"".join(contents(data)) + data.labels.cpu().numpy().tobytes()).hexdigest()


def write_inventory(folder: Path, inventory: Inventory | None) -> None:
    """Keep it with a training."""
    if inventory is None:
        return
    write_text(folder / DATA, json.dumps(inventory.to_json(), indent=0) + "\n")


def read_inventory(folder: Path | None) -> Inventory | None:
    """What the data of a training consisted of; None if nobody noted it."""
    if folder is None or not (folder / DATA).is_file():
        return None
    try:
        return Inventory.from_json(json.loads((folder / DATA).read_text()))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{folder / DATA} cannot be read: {error}") from error


def changes(folder: Path | None, now: Inventory | None) -> list[str]:
    """What was added to a training's data, removed from it and changed in it since."""
    before = read_inventory(folder)
    return [] if before is None or now is None else before.differences(now)
