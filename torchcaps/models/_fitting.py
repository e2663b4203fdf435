"""Capsule layers that fit the map of a pretrained backbone, which is coarse: a 32nd of the image, 4×4 at 128 pixels.

Number and dimension of the capsules stay the model's own. What the papers' kernels and strides did, to make a map
coarse, the backbone has done: primary capsules are made by a 1×1 convolution, and a window is never larger than the
grid below it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from torchcaps.backbones import Trunk, is_pretrained
from torchcaps.layers import CapsuleLayer, PrimaryCapsules
from torchcaps.types import CapsShape

Features = tuple[int, int, int]


def primary_on(primary: Callable[..., PrimaryCapsules], features: Features) -> PrimaryCapsules:
    """Primary capsules at every position of a map; a kernel that a builder gave by height and width stays.

    >>> primary_on(partial(PrimaryCapsules, n=32, d=8, kernel=9, stride=2), (1280, 4, 4)).shape_out
    CapsShape(grid=(4, 4), n=32, d=8)
    """
    kernel = primary.keywords.get("kernel") if isinstance(primary, partial) else None
    return primary(features, kernel=1, stride=1) if isinstance(kernel, int) else primary(features)


def layer_on(layer: Callable[..., CapsuleLayer], below: CapsShape) -> CapsuleLayer:
    """A capsule layer whose windows fit the grid below, with a stride that leaves no row out.

    >>> layer_on(partial(CapsuleLayer, n=8, d=16, window=3, stride=2), CapsShape((4, 4), 8, 16)).shape_out.grid
    (2, 2)
    """
    given = layer.keywords if isinstance(layer, partial) else {}
    window, stride = given.get("window"), given.get("stride", 1)
    if not isinstance(window, int):
        return layer(below)
    window = min(window, *below.grid)
    whole = all((side - window) % stride == 0 for side in below.grid)
    return layer(below, window=window, stride=stride if whole else 1)


def fitted(parameters: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A builder's options: above a pretrained backbone there is no decoder, unless it is asked for.

    >>> fitted({"reconstruction": ...}, {"backbone": "efficientnet_lite0"})["reconstruction"]
    'none'
    """
    without = knows_photographs(given.get("backbone")) and "reconstruction" in parameters
    return {"reconstruction": "none", **given} if without else given


def knows_photographs(backbone: Any) -> bool:
    """Whether an option means a pretrained backbone, by its name or the backbone itself.

    >>> knows_photographs("efficientnet_lite0"), knows_photographs(None)
    (True, False)
    """
    return is_pretrained(backbone) or isinstance(backbone, Trunk)
