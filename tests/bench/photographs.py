"""A folder of real photographs in three classes: pieces of three that scikit-learn and Matplotlib bring along."""

from importlib.resources import files

import numpy as np
from PIL import Image

PHOTOGRAPHS = {
    "flower": ("sklearn.datasets.images", "flower.jpg"),
    "temple": ("sklearn.datasets.images", "china.jpg"),
    "person": ("matplotlib", "mpl-data/sample_data/grace_hopper.jpg"),
}


def make_folder(root, each=30):
    """Pieces of 96 to 160 pixels, as JPEGs, a folder a class."""
    rng = np.random.default_rng(0)
    for name, (package, path) in PHOTOGRAPHS.items():
        (root / name).mkdir(parents=True)
        with files(package).joinpath(path).open("rb") as stream:
            whole = Image.open(stream).convert("RGB")
        for k in range(each):
            side = int(rng.integers(96, 161))
            left, top = (int(rng.integers(0, whole.size[axis] - side)) for axis in (0, 1))
            whole.crop((left, top, left + side, top + side)).save(root / name / f"{k}.jpg", quality=90)
    return root
