"""Votes of windows are never a tensor, wherever parents compete. On a card, too, the plain passes serve grids."""

import pytest
import torch

from tests.ops.largest import Largest
from torchcaps import ops
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import ROUTINGS
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules


@pytest.mark.parametrize("name", ROUTINGS)
@pytest.mark.parametrize("competition", ["window", "grid"])
def test_windows_without_a_votes_tensor(name, competition, monkeypatch):
    """Forward and back; tiles are made as much smaller as the layer is."""
    monkeypatch.setattr("torchcaps.ops.tiles.TILE_BYTES", 1 << 14)
    window = {"window": 3, "padding": 1, "competition": competition}
    layer = CapsuleLayer(CapsShape((6, 6), 4, 8), 8, 16, routing=ROUTINGS[name], **window)
    below = Capsules(torch.randn(2, 6, 6, 4, 8).requires_grad_(), torch.rand(2, 6, 6, 4))
    votes = 2 * 6 * 6 * (9 * 4) * 8 * 16
    with ops.plainly(), Largest() as largest:
        [[state]] = sequential([layer], below)
        (state.pose.sum() + state.act.sum()).backward()
    assert largest.numbers < votes / 4
