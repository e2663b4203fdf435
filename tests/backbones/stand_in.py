"""A backbone that takes no time: two convolutions and a batch norm, of random weights."""

import torch
from torch import nn

from torchcaps.backbones import Preprocessing, Trunk

PLAIN = Preprocessing(32, [0.5] * 3, [0.5] * 3)


def trunk(preprocessing=PLAIN, channels=12, seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        stages = [
            nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.BatchNorm2d(8), nn.ReLU()),
            nn.Sequential(nn.Conv2d(8, channels, 3, 2, 1), nn.BatchNorm2d(channels), nn.ReLU()),
        ]
    return Trunk("stand_in", stages, preprocessing, channels=channels)
