"""Small networks whose trees can be checked by hand."""

from torch import nn

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
