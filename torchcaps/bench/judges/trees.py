"""Parse trees: of single images and of a data set, and how much those of two images differ (mitterreiter2023)."""

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.bench.evidence import Number
from torchcaps.bench.judges._images import shown
from torchcaps.bench.subject import Found, Subject
from torchcaps.explain import difference, parse_trees
from torchcaps.measures import ParseTree, walk


def trees(subject: Subject, *, count: int = 0, noise: float = 0.1) -> Found:
    """How much trees differ, in the mean over images: "warp" of an image and its warp, "noise" of two noisy copies.

    Args:
        noise: deviation of the pixel noise that two copies of an image get.
    """
    model = subject.own.model
    plain, warped = (_all(subject, view, count) for view in ("clean", "affine"))
    copies = [(plain + noise * torch.randn_like(plain)).clamp(0, 1) for _ in range(2)]
    pairs = {"warp": (plain, warped), "noise": copies}
    numbers = {}
    for name, (one, two) in pairs.items():
        found = zip(parse_trees(model, one), parse_trees(model, two), strict=True)
        values = [difference(a, b).value for a, b in found]
        numbers[name] = Number(sum(values) / len(values))
    kept = parse_trees(model, torch.stack([plain[0], warped[0]]))
    pictures = [image.round(decimals=3).tolist() for image in (plain[0, 0], warped[0, 0])]
    return Found(numbers, {"trees": [tree.to_json() for tree in kept], "images": pictures})


def mean_tree(subject: Subject, *, view: str = "affine", count: int = 0) -> Found:
    """Mean and deviation of every node and edge over a data set; "dead" is how many capsules are."""
    [found] = walk(subject.own.model, shown(subject, view, count), [ParseTree()])
    dead = [layer.dead for layer in getattr(found, "layers", ())]
    return Found({"dead capsules": Number(float(sum(n or 0 for n in dead)))}, {"mean tree": found.to_json()})


def _all(subject: Subject, view: str, count: int) -> Float[Tensor, "b c h w"]:
    data = shown(subject, view, count)
    return data.batch(torch.arange(len(data))).images
