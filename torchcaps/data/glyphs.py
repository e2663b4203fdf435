"""Digits drawn from the fonts that matplotlib ships, warped at random: data that needs no network."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from torchcaps.data import warp
from torchcaps.data._dataset import Stored
from torchcaps.data._random import integers
from torchcaps.data.mnist import DIGITS

SEEDS = {"train": 1, "test": 2}
COUNTS = {"train": 10_000, "test": 2_000}
MILD = warp.Strength(rotation=15.0, shear=15.0, scale=(0.8, 1.1), translation=2.0)


def load_glyphs(split: str, count: int | None = None) -> Stored:
    """28×28 digits, white on black; training and test images use different fonts, so that they never mix.

    >>> len(load_glyphs("test", 50)), load_glyphs("test", 50).image_shape
    (50, (1, 28, 28))
    """
    templates = _templates(split)
    n = COUNTS[split] if count is None else count
    index = torch.arange(n)
    labels = integers(SEEDS[split], 0, index, 60, 10)
    fonts = integers(SEEDS[split], 0, index, 61, len(templates) // 10)
    drawn = templates[fonts * 10 + labels].float() / 255
    moved = warp.apply(drawn, warp.draw(MILD, SEEDS[split], 0, index), (28, 28))
    return Stored((moved.clamp(0, 1) * 255).round().to(torch.uint8), labels, DIGITS)


def fonts(split: str) -> list[Path]:
    """The fonts of a split; every third is kept for testing."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f"glyphs need {missing.name}: pip install 'torchcaps[bench]'") from missing
    known = sorted(Path(mpl.get_data_path(), "fonts", "ttf").glob("DejaVu*.ttf"))
    return [font for k, font in enumerate(known) if "Display" not in font.name and (k % 3 == 0) == (split == "test")]


@lru_cache(maxsize=2)
def _templates(split: str) -> torch.Tensor:
    """Every digit in every font of a split, centred."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f"glyphs need {missing.name}: pip install 'torchcaps[bench]'") from missing
    drawn = []
    for path in fonts(split):
        font = ImageFont.truetype(str(path), 24)
        for digit in DIGITS:
            image = Image.new("L", (28, 28))
            ImageDraw.Draw(image).text((14, 14), digit, fill=255, font=font, anchor="mm")
            drawn.append(np.asarray(image))
    return torch.from_numpy(np.stack(drawn))[:, None]
