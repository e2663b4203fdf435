"""A folder of pictures to try things on: circles, diamonds and triangles, a sub-folder each.

python examples/draw_shapes.py photos 200
"""

import random
import sys
from math import cos, pi, sin
from pathlib import Path

from PIL import Image, ImageDraw

SHAPES = {"circle": (40, 1.0), "diamond": (4, 0.4), "triangle": (3, 1.0)}
"""How many corners, and how flat."""
SIZE = 32


def draw(corners: int, flat: float, chance: random.Random) -> Image.Image:
    """One shape, anywhere, of any size and turn, light on dark."""
    picture = Image.new("L", (SIZE, SIZE), chance.randrange(60))
    radius, turn = chance.uniform(7, 13), chance.uniform(0, 2 * pi)
    x, y = (chance.uniform(radius, SIZE - radius) for _ in range(2))
    around = [2 * pi * k / corners for k in range(corners)]
    points = [(radius * cos(angle), flat * radius * sin(angle)) for angle in around]
    turned = [(x + u * cos(turn) - v * sin(turn), y + u * sin(turn) + v * cos(turn)) for u, v in points]
    ImageDraw.Draw(picture).polygon(turned, fill=chance.randrange(150, 256))
    return picture


def main(folder: str = "photos", count: str = "200") -> None:
    """Draw `count` pictures of each shape into a folder."""
    chance = random.Random(0)
    for name, (corners, flat) in SHAPES.items():
        into = Path(folder) / name
        into.mkdir(parents=True, exist_ok=True)
        for k in range(int(count)):
            draw(corners, flat, chance).save(into / f"{k:03}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
