"""How images become what a network takes, so that whoever asks it later makes the same of theirs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from torchcaps.data._before import read_as_before
from torchcaps.data.photograph import read_image
from torchcaps.data.resize import FILTER, RULES

BEFORE = "height and width scaled apart", "bicubic, antialiased (Pillow's Image.Resampling.BICUBIC)"


class Reading(NamedTuple):
    """From a file to the numbers of an image.

    Args:
        image_shape: channels, height and width.
        fit: "pad", "crop" or "squash".
        background: behind what is transparent.
        before: whether as the first version read pictures, for networks it trained.
    """

    image_shape: tuple[int, int, int]
    fit: str = "pad"
    background: str = "white"
    before: bool = False

    def read(self, file: Path) -> UInt8[np.ndarray, "c h w"]:
        """A picture as the training would have seen it."""
        channels, height, width = self.image_shape
        if self.before:
            return read_as_before(file, (height, width), channels)
        return read_image(file, (height, width), channels, fit=self.fit, background=self.background)

    def metadata(self, classes: Sequence[str]) -> dict[str, str]:
        """What a program must know to ask the network, as words and JSON.

        >>> Reading((1, 28, 28)).metadata(("cat", "owl"))["classes"]
        '["cat", "owl"]'
        """
        channels, height, width = self.image_shape
        rule, filter_ = BEFORE if self.before else (RULES[self.fit], FILTER)
        colours = {1: "grey", 3: "red, green, blue"}.get(channels, f"{channels} channels")
        return {
            "classes": json.dumps(list(classes), ensure_ascii=False),
            "image_shape": json.dumps([channels, height, width]),
            "channels": colours,
            "range": "[0, 1]",
            "fit": "squash" if self.before else self.fit,
            "resize": f"{rule}; {filter_}",
            "background": self.background,
        }
