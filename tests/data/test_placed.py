"""Warped images stay images: rounding between pixels of full white does not pass it."""

import torch

from torchcaps.data import Stored, warp
from torchcaps.data.placed import Affine


def test_white_is_the_brightest_there_is():
    white = Stored(torch.full((100, 1, 27, 27), 255, dtype=torch.uint8), torch.zeros(100, dtype=torch.long), ("a", "b"))
    data = Affine(white, canvas=40)
    index = torch.arange(100)
    plain = warp.apply(torch.ones(100, 1, 27, 27), data.warps(index, 0), (40, 40))
    assert plain.max() > 1, "or there would be nothing to show"
    assert data.batch(index).images.max() == 1
