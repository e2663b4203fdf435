"""Small networks whose trees can be checked by hand."""

import torch
from torch import nn

from torchcaps.explain import Layer, Link, Structure, Tree
from torchcaps.layers import ActivationHead, CapsuleLayer, LinearHead, PrimaryCapsules
from torchcaps.network import CapsNet
from torchcaps.routing import Dynamic

IMAGE = (1, 4, 3)


def convolutional(routing=Dynamic, competition="window", n=2, classes=3):
    """Primary capsules on 4×3, a padded convolutional layer on 2×2, and classes whose window reaches into padding."""
    primary = PrimaryCapsules(IMAGE, n=n, d=4, kernel=1, activation="length")
    first = CapsuleLayer(
        primary.shape_out, n=3, window=3, stride=2, padding=1, routing=routing, competition=competition
    )
    top = CapsuleLayer(first.shape_out, n=classes, window=4, padding=1, routing=routing, competition=competition)
    head = ActivationHead if top.routing.activates else LinearHead
    return CapsNet(nn.Identity(), primary, [first, top], head(top.shape_out))


def by_hand(*couplings, shares=(), strength=(), dead=(), classes=()):
    """A tree of layers without positions: for each link what of each child (a row) goes to each parent (a column)."""
    matrices = [torch.tensor(rows).double() for rows in couplings]
    sizes = [len(matrices[0]), *(matrix.shape[1] for matrix in matrices)]
    names = ["primary", *(f"hidden {k}" for k in range(1, len(matrices))), "classes"]
    layers = tuple(Layer(name, (1, 1), size) for name, size in zip(names, sizes, strict=True))
    links = tuple(Link((1, 1), shares=share) for share in shares or [True] * len(matrices))
    strong = strength or [[1.0] * size for size in sizes]
    gone = dead or [[False] * size for size in sizes]
    return Tree(
        Structure(layers, links, tuple(classes or map(str, range(sizes[-1])))),
        tuple(torch.tensor([[values]]).double() for values in strong),
        tuple(torch.tensor([[values]]) for values in gone),
        tuple(matrix[None, None] for matrix in matrices),
    )
