"""What every network is, with capsules or without: a `Parse` of images, a loss, perhaps a decoder, a way to disk."""

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from torchcaps._version import __version__
from torchcaps.types import Parse, Record

CONFIG, WEIGHTS, FORMAT = "config.json", "model.safetensors", 1


class Model(nn.Module):
    """A network that returns a `Parse`.

    Attributes:
        loss: from class scores and multi-hot targets to a number; what the paper trains with, unless chosen otherwise.
        decoder: from a parse and labels to images, or None.
        recipe: the name and options that `create_model` built it from; empty for a network put together by hand.
    """

    loss: nn.Module
    decoder: nn.Module | None

    def __init__(self, *, loss: nn.Module, decoder: nn.Module | None = None) -> None:
        super().__init__()
        self.loss, self.decoder = loss, decoder
        self.recipe: dict[str, Any] = {}

    def forward(self, x: Tensor, record: Record = "none") -> Parse:
        """How the network understands the images; `record` says how much of it is kept."""
        raise TypeError(f"{type(self).__name__} must define forward(x, record)")

    def save_pretrained(self, directory: str | Path) -> Path:
        """Write weights (safetensors) and recipe (JSON) into a directory for `from_pretrained`. Nothing is pickled."""
        if not self.recipe:
            raise ValueError(
                "only a network built by create_model knows its recipe; for one put together by hand save its "
                "state_dict with safetensors.torch.save_file"
            )
        for name, value in self.recipe["options"].items():
            try:
                json.dumps(value)
            except TypeError:
                raise ValueError(
                    f"option {name}={value!r} is an object that JSON cannot hold: build the model from names, or save "
                    f"its state_dict with safetensors.torch.save_file"
                ) from None
        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        save_file({name: t.contiguous() for name, t in self.state_dict().items()}, target / WEIGHTS)
        digest = hashlib.sha256((target / WEIGHTS).read_bytes()).hexdigest()
        config = {"format": FORMAT, "torchcaps": __version__, **self.recipe, "sha256": digest}
        (target / CONFIG).write_text(json.dumps(config, indent=2) + "\n")
        return target
