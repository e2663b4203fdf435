"""The forward path, and back, without waiting for the device: every routing, and every network of the papers."""

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.contracts.networks import build, images
from tests.waiting import NobodyWaits
from torchcaps.layers import CapsuleLayer
from torchcaps.models import card, create_model, list_models
from torchcaps.routing import ROUTINGS
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules


@pytest.mark.parametrize(
    "read",
    [
        *(bool, float, Tensor.item, Tensor.tolist, Tensor.cpu, Tensor.numpy, np.asarray),
        *(lambda t: t[None].nonzero(), lambda t: t[None][t[None] > 0], lambda t: torch.zeros(2)[t.long()]),
    ],
)
def test_the_mode_finds_who_waits(read):
    with NobodyWaits(), pytest.raises(AssertionError, match="waits for the device"):
        read(torch.tensor(1.0))


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("connection", ["connected", "convolutional"])
def test_routings(routing, connection):
    net, x = build(routing, "matrix", connection), images(2)
    with NobodyWaits():
        net(x).scores.sum().backward()


def test_grid_wide_competition():
    layer = CapsuleLayer(
        CapsShape((4, 4), 2, 4), 3, 4, rows=2, routing=ROUTINGS["em"], window=3, padding=1, competition="grid"
    )
    below = Capsules(torch.randn(2, 4, 4, 2, 4, requires_grad=True), torch.rand(2, 4, 4, 2))
    with NobodyWaits():
        [[state]] = sequential([layer], below)
        (state.pose.sum() + state.act.sum()).backward()


@pytest.mark.parametrize("name", list_models())
def test_networks(name):
    net = create_model(name, width=0.05)
    with NobodyWaits():
        net(torch.rand(2, *card(name).image)).scores.sum().backward()
