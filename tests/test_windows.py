"""Windows against torch's own unfolding, for any grid, window, stride and padding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from torchcaps.layers import CapsuleLayer
from torchcaps.types import CapsShape, Capsules
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


@settings(max_examples=100, deadline=None)
@given(geometry())
def test_places_are_those_of_a_loop(g):
    """Every entry of a coupling, from the definition of a window; and the same entries again, child by child."""
    windows = Windows(g["grid"], g["n"], window=g["window"], stride=g["stride"], padding=g["padding"])
    l, (sh, sw), (ph, pw), n = g["window"][1], g["stride"], g["padding"], g["n"]
    coupling, places = torch.rand(2, *windows.grid_out, windows.i, 3), windows.places.tolist()
    reached = {(y, x, t): {} for y in range(g["grid"][0]) for x in range(g["grid"][1]) for t in range(n)}
    for h in range(windows.grid_out[0]):
        for w in range(windows.grid_out[1]):
            for i in range(windows.i):
                child = (h * sh - ph + i // n // l, w * sw - pw + i // n % l, i % n)
                if child not in reached:
                    child = (-1, -1, -1)
                else:
                    reached[child][h, w] = coupling[:, h, w, i]
                assert tuple(places[h][w][i]) == child
    rows, parents = windows.by_child(coupling), windows.parents
    assert parents.shape[2] == max(len(seen) for seen in reached.values()) == rows.shape[4]
    for (y, x, t), seen in reached.items():
        named = [tuple(p) for p in parents[y, x].tolist()]
        assert sorted(p for p in named if p != (-1, -1)) == sorted(seen)
        for p, parent in enumerate(named):
            assert torch.equal(rows[:, y, x, t, p], seen.get(parent, torch.zeros(2, 3)))


def test_a_layer_that_competes_across_the_grid_shares_each_child_once():
    """What `by_child` is for: the parents that a child reaches, summed over all the windows it is in."""
    layer = CapsuleLayer(CapsShape((5, 4), 2, 4), 3, 4, window=3, stride=2, padding=1, competition="grid")
    pose = torch.randn(2, 5, 4, 2, 4)
    [state] = layer.route(Capsules(pose, pose.norm(dim=-1)), "last")
    rows = layer.windows.by_child(state.coupling)
    torch.testing.assert_close(rows.sum((-2, -1)), torch.ones(2, 5, 4, 2))


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


def test_pair(no_shape_checks):
    assert pair((2, 3), "stride") == (2, 3)
    assert pair([2, 3], "stride") == (2, 3)  # as JSON has it
    for value in ((2,), "23", 2.5, (1.0, 2.0), None):
        with pytest.raises(ValueError, match=r"stride=.* is not allowed: give one integer, or two"):
            pair(value, "stride")


def test_parents_compete_across_the_grid_whatever_the_size_of_the_logits():
    """A child in the middle of three positions is in two windows: two parents of two sorts, and one wins."""
    windows = Windows((1, 3), 1, window=(1, 2))
    logits = torch.tensor([[1e4, -1e4], [0.0, -1e4]]), torch.tensor([[1e4, -1e4], [-1e4, -1e4]])
    c = windows.compete(torch.stack(logits)[None, None].double())
    expected = torch.tensor([[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]]]).double()
    torch.testing.assert_close(c[0, 0], expected)


def test_a_padded_window_of_the_grids_size_is_not_the_whole_grid():
    assert Windows((3, 3), 2).whole
    assert Windows((3, 3), 2, window=3).whole
    assert not Windows((3, 3), 2, window=3, padding=1).whole
    assert not Windows((3, 3), 2, window=2).whole
