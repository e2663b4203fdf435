"""Vision transformers from a local folder in the format of Hugging Face's transformers: their tokens become a grid.

Nothing is fetched: a folder that lacks something is an error. Never run with transformers itself, which is not
installed where this was written; tested with a stand-in of its interface.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from einops import rearrange
from torch import Tensor, nn

from torchcaps.backbones._trunk import Preprocessing, Trunk

CONFIG, IMAGES, WEIGHTS = "config.json", "preprocessor_config.json", "model.safetensors"


class TokenGrid(nn.Module):
    """A vision transformer whose last tokens become a map; class and register tokens, which come first, are left out.

    Args:
        net: takes `pixel_values`, and gives `last_hidden_state`, batch × tokens × channels.
        patch: height and width of the square that a token stands for.
    """

    def __init__(self, net: nn.Module, patch: int) -> None:
        super().__init__()
        self.net, self.patch = net, patch

    def forward(self, x: Tensor) -> Tensor:
        """A channel for each number of a token."""
        h, w = (side // self.patch for side in x.shape[2:])
        tokens: Tensor = self.net(pixel_values=x, interpolate_pos_encoding=True).last_hidden_state
        if not 0 < h * w <= tokens.shape[1]:
            raise ValueError(f"{tokens.shape[1]} tokens are no grid of {h}×{w}")
        grid: Tensor = rearrange(tokens[:, -h * w :], "b (h w) c -> b c h w", h=h)
        return grid


def from_folder(folder: str, *, weights: bool = True) -> Trunk:
    """The vision transformer in a folder; one stage."""
    config, preprocessing = _config(folder), _preprocessing(folder)
    auto = _transformers(folder).AutoModel
    if weights:
        if not (Path(folder) / WEIGHTS).is_file():
            raise FileNotFoundError(f"{folder} holds no {WEIGHTS}: weights in another format are not read")
        net = auto.from_pretrained(folder, local_files_only=True, use_safetensors=True, trust_remote_code=False)
    else:
        own = _transformers(folder).AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        net = auto.from_config(own, trust_remote_code=False)
    grid = TokenGrid(net, int(config["patch_size"]))
    return Trunk(f"hf:{folder}", [grid], preprocessing, channels=int(config["hidden_size"]))


def size_of_folder(folder: str) -> int:
    """The size of the images that the transformer was trained with."""
    return _preprocessing(folder).size


def _preprocessing(folder: str) -> Preprocessing:
    images = _read(Path(folder) / IMAGES)
    return Preprocessing(int(_config(folder)["image_size"]), images["image_mean"], images["image_std"])


def _config(folder: str) -> dict[str, Any]:
    config = _read(Path(folder) / CONFIG)
    missing = [key for key in ("hidden_size", "patch_size", "image_size") if not isinstance(config.get(key), int)]
    if missing:
        raise ValueError(f"{folder} is not a vision transformer's: its {CONFIG} has no {', '.join(missing)}")
    return config


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise FileNotFoundError(f"backbone 'hf:{file.parent}' needs {file.name} in that folder: nothing is fetched")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def _transformers(folder: str) -> Any:
    try:
        return import_module("transformers")
    except Exception as error:  # beside another torch it fails with anything
        raise ValueError(
            f"backbone 'hf:{folder}' needs transformers, which cannot be imported here "
            f"({type(error).__name__}: {error})"
        ) from error
