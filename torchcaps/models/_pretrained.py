"""Models back from disk."""

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from torchcaps._seal import is_whole
from torchcaps.backbones import architecture_only
from torchcaps.models._registry import create_model
from torchcaps.network import CONFIG, FORMAT, WEIGHTS, Model

SHIPPED = Path(__file__).parent / "weights"
BY_HAND = "custom"
"""Stands for the name of a network that only its author can build."""
UNSEALED = 1
"""The format before the recipe had a checksum."""


def from_pretrained(directory: str | Path) -> Model:
    """The model that `save_pretrained` wrote into a directory; damage is named, and nothing is ever unpickled.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     where = create_model("peer2021/sign", bias=True).save_pretrained(folder)
    ...     from_pretrained(where).recipe
    {'name': 'peer2021/sign', 'options': {'bias': True}}
    """
    config, weights = read_weights(directory)
    if config["name"] == BY_HAND:
        raise ValueError(
            f"{directory} holds the weights of a network put together by hand: build it and give it to "
            f"load_run(directory, model=net)"
        )
    with architecture_only():
        model = create_model(config["name"], **config["options"])
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(
            f"{Path(directory) / WEIGHTS} does not fit {config['name']} of this version (it was saved by torchcaps "
            f"{config['torchcaps']}): {error}"
        ) from error
    return model


def read_weights(directory: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `write_weights` wrote, checked: name and options of a network, and its weights.

    >>> config, weights = read_weights(SHIPPED / "peer2021--sign")
    >>> config["name"]
    'peer2021/sign'
    """
    config = read_config(directory)
    path = Path(directory) / WEIGHTS
    data = _read(path)
    if hashlib.sha256(data).hexdigest() != config["sha256"]:
        raise ValueError(
            f"{path} is damaged or not the file that was saved: its checksum differs from that in {CONFIG}"
        )
    try:
        return config, load(data)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a safetensors file: {error}") from error


def read_config(directory: str | Path) -> dict[str, Any]:
    """What stands beside the weights, checked: name and options of a network, and what else was noted of it.

    >>> read_config(SHIPPED / "peer2021--sign")["name"]
    'peer2021/sign'
    """
    return _config(Path(directory) / CONFIG)


def list_pretrained() -> list[str]:
    """The models whose trained weights are shipped.

    >>> "sabour2017/capsnet" in list_pretrained()
    True
    """
    return sorted(config.parent.name.replace("--", "/") for config in SHIPPED.glob(f"*/{CONFIG}"))


def shipped(name: str, options: dict[str, Any]) -> Model:
    """The trained network that is shipped for a model; options may only repeat what it was built with."""
    if name not in list_pretrained():
        raise ValueError(f"there are no trained weights for {name!r}: there are for {', '.join(list_pretrained())}")
    model = from_pretrained(SHIPPED / name.replace("/", "--"))
    own = model.recipe["options"]
    for option, value in options.items():
        if option not in own or own[option] != value:
            raise ValueError(f"{option}={value!r} is not allowed with pretrained=True: {name} was trained with {own}")
    return model.eval()


def _config(path: Path) -> dict[str, Any]:
    try:
        config: Any = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    wanted = {"format": int, "torchcaps": str, "name": str, "options": dict, "sha256": str}
    if not isinstance(config, dict) or not all(isinstance(config.get(key), kind) for key, kind in wanted.items()):
        raise ValueError(f"{path} is not a torchcaps model: it must hold {', '.join(wanted)}")
    if config["format"] not in (UNSEALED, FORMAT):
        raise ValueError(
            f"{path} has format {config['format']!r}, saved by torchcaps {config['torchcaps']}: this version reads "
            f"{UNSEALED} and {FORMAT}"
        )
    if config["format"] != UNSEALED and not is_whole(config):
        raise ValueError(f"{path} was changed after it was written: its checksum differs")
    return config


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path.name} in {path.parent}: save_pretrained writes {CONFIG} and {WEIGHTS}"
        )
    return path.read_bytes()
