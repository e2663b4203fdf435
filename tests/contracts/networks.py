"""Small networks for the contracts: every routing, pose and connection, above a 1×1 convolution of the image."""

from functools import partial

import torch
from torch import nn

from torchcaps.functional import identity
from torchcaps.layers import ActivationHead, CapsuleLayer, LinearHead, PrimaryCapsules
from torchcaps.network import CapsNet
from torchcaps.routing import ROUTINGS
from torchcaps.schedule import concurrent, sequential
from torchcaps.types import CapsShape

ROWS = {"vector": 1, "matrix": 2}
WINDOWS = {"connected": {}, "convolutional": {"window": 3, "stride": 1, "padding": 1}}
SCHEDULES = {"sequential": sequential, "concurrent": partial(concurrent, iters=3)}
GRID, N, D, CLASSES = (3, 4), 2, 6, 3


def build(routing, pose="vector", connection="connected", schedule="sequential", factory=None):
    """Two capsule layers above primary capsules that are linear in the image."""
    factory = ROUTINGS[routing] if factory is None else factory
    primary = PrimaryCapsules((N * D, *GRID), n=N, d=D, bias=False, squash=identity)
    shape, layers = primary.shape_out, []
    for n, d, options in ((4, D, WINDOWS[connection]), (CLASSES, 4, {})):
        layers.append(CapsuleLayer(shape, n, d, rows=ROWS[pose], routing=factory, **options))
        shape = layers[-1].shape_out
    head = ActivationHead(shape) if layers[-1].routing.activates else LinearHead(shape)
    return CapsNet(nn.Identity(), primary, layers, head, schedule=SCHEDULES[schedule])


def images(batch, scale=1.0, dtype=torch.float32):
    return (torch.randn(batch, N * D, *GRID) * scale).to(dtype)


def hidden_shape(connection):
    return CapsShape(GRID if connection == "convolutional" else (1, 1), 4, D)
