"""Windows against torch's own unfolding, for any grid, window, stride and padding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from torchcaps.windows import Windows, pair


@st.composite
def geometry(draw):
    grid = (draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    padding = (draw(st.integers(0, 2)), draw(st.integers(0, 2)))
    window = tuple(draw(st.integers(p + 1, max(p + 1, g + 2 * p))) for g, p in zip(grid, padding, strict=True))
    window = tuple(min(k, g + 2 * p) for k, g, p in zip(window, grid, padding, strict=True))
    return {
        "grid": grid,
        "window": window,
        "stride": (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        "padding": padding,
        "n": draw(st.integers(1, 3)),
    }


@settings(max_examples=100, deadline=None)
@given(geometry())
def test_gather_is_unfold(g):
    windows = Windows(g["grid"], g["n"], window=g["window"], stride=g["stride"], padding=g["padding"])
    t = torch.randn(2, *g["grid"], g["n"], 3)
    channels = t.flatten(3).movedim(3, 1)
    unfolded = F.unfold(channels, g["window"], padding=g["padding"], stride=g["stride"])
    k = g["window"][0] * g["window"][1]
    expected = unfolded.reshape(2, g["n"], 3, k, *windows.grid_out).permute(0, 4, 5, 3, 1, 2).flatten(3, 4)
    assert torch.equal(windows.gather(t), expected)
    assert windows.i == k * g["n"]
    if windows.missing is not None:
        assert not expected[:, windows.missing].any()


@settings(max_examples=50, deadline=None)
@given(geometry())
def test_grid_competition_shares_each_child_once(g):
    windows = Windows(g["grid"], g["n"], window=g["window"], stride=g["stride"], padding=g["padding"])
    j = 2
    logits = torch.randn(2, *windows.grid_out, windows.i, j, dtype=torch.double) * 10
    c = windows.compete(logits)
    names = torch.arange(1, g["grid"][0] * g["grid"][1] * g["n"] + 1, dtype=torch.double)
    who = windows.gather(names.reshape(1, *g["grid"], g["n"]))[0]
    for b in range(2):
        for child in who.unique():
            if child > 0:
                mine = who == child
                torch.testing.assert_close(c[b][mine], logits[b][mine].flatten().softmax(0).reshape(-1, j))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 5}, r"window=\(5, 5\) is larger than the grid \(4, 4\) with padding=\(0, 0\)"),
        ({"window": (3, 0)}, r"window=\(3, 0\) is not allowed: each number must be at least 1"),
        ({"stride": 0}, r"stride=\(0, 0\) is not allowed"),
        ({"window": 3, "padding": -1}, r"padding=\(-1, -1\) is not allowed"),
        ({"window": 2, "padding": 2}, "would give parents that see no child"),
        ({"window": (2, 2, 2)}, r"window=\(2, 2, 2\) is not allowed: give one integer, or two"),
    ],
)
def test_impossible_geometry_is_named(options, message, no_shape_checks):
    with pytest.raises(ValueError, match=message):
        Windows((4, 4), 2, **options)


def test_pair():
    assert pair((2, 3), "stride") == (2, 3)
