"""Warped images stay images, and whole: none is brighter than white, none loses ink at the border."""

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


def test_what_does_not_fit_after_eight_tries_is_shrunk_about_the_centre_until_it_does():
    """Against corners that are moved one by one: full white reaches them, half a pixel of blur included."""
    white = Stored(torch.full((60, 1, 20, 20), 255, dtype=torch.uint8), torch.zeros(60, dtype=torch.long), ("a", "b"))
    strength = warp.Strength(translation=14.0)
    data, index = Affine(white, canvas=32, strength=strength), torch.arange(60)
    found = data.warps(index, 0)
    shrunk = 0
    for k in range(60):
        for attempt in range(1, 9):
            drawn = warp.draw(strength, 0, 0, index[k : k + 1], stream=attempt)
            ends = [
                drawn.matrix[0] @ torch.tensor([x, y]) + drawn.shift[0] for x in (-10.5, 10.5) for y in (-10.5, 10.5)
            ]
            reach = max(float(end.abs().max()) for end in ends)
            if reach <= 16:
                break
        less = min(1.0, 16 / reach)
        shrunk += less < 1
        torch.testing.assert_close(found.matrix[k], drawn.matrix[0] * less)
        torch.testing.assert_close(found.shift[k], drawn.shift[0] * less)
    assert 0 < shrunk < 60, "or there would be nothing to show"
