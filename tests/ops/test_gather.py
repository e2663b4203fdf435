"""Children of windows, gathered in one step: each number in its place, and its gradient back where it came from."""

from functools import partial

import pytest
import torch

from tests.ops.test_product import twice
from torchcaps import ops
from torchcaps.layers import CapsuleLayer
from torchcaps.ops import native
from torchcaps.routing import Dynamic
from torchcaps.types import CapsShape, Capsules
from torchcaps.windows import Windows

pytestmark = pytest.mark.skipif(native.status() != "native", reason=f"here serves {native.status()}")
# grid, types, window, stride, padding, rows, numbers of a pose, images
CASES = [
    ((6, 5), 3, 3, 2, 1, 2, 8, 4),
    ((4, 4), 1, 2, 1, 0, 1, 5, 1),
    ((5, 7), 2, (3, 2), (1, 2), (0, 1), 4, 16, 9),
    ((3, 3), 2, 3, 1, 2, 1, 23, 37),
    ((7, 7), 5, 1, 3, 0, 3, 12, 16),
    ((4, 4), 2, 3, 1, 1, 2, 6, 0),
]


def naive(windows, pose, rows):
    """A loop over everything."""
    images, _, _, n, d = pose.shape
    (h, w), x = windows.grid_out, d // rows
    found = pose.new_zeros(windows.i, x, rows, h, w, images)
    for (r, c, i), (row, col, kind) in zip(
        ((r, c, i) for r in range(h) for c in range(w) for i in range(windows.i)),
        windows.places.reshape(-1, 3).tolist(),
        strict=True,
    ):
        if row >= 0:
            found[i, :, :, r, c] = pose[:, row, col, kind].reshape(images, rows, x).permute(2, 1, 0)
    assert n == windows.n
    return found.flatten(3)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_number_finds_its_place_and_its_gradient_the_way_back(case):
    grid, n, window, stride, padding, rows, d, images = case
    windows = Windows(grid, n, window=window, stride=stride, padding=padding)
    pose = torch.randn(images, *grid, n, d, dtype=torch.float64)
    assert windows.columns(pose.requires_grad_(), rows).grad_fn.name() == "_GatheredBackward"
    pose = pose.detach()
    assert torch.equal(windows.columns(pose, rows), naive(windows, pose, rows))
    weight = torch.rand(windows.columns(pose, rows).shape, dtype=torch.float64)
    leaf = pose.clone().requires_grad_()  # padding, which is zero, has a gradient too, and nowhere to go
    torch.testing.assert_close(
        *(torch.autograd.grad(made, leaf, weight) for made in (windows.columns(leaf, rows), naive(windows, leaf, rows)))
    )
    found = twice(lambda pose: windows.columns(pose, rows) * weight, pose)
    for a, b in zip(found, twice(lambda pose: naive(windows, pose, rows) * weight, pose), strict=True):
        torch.testing.assert_close(a, b)
    with ops.plainly():
        assert windows.columns(pose.clone().requires_grad_(), rows).grad_fn.name() != "_GatheredBackward"
        for a, b in zip(found, twice(lambda pose: windows.columns(pose, rows) * weight, pose), strict=True):
            torch.testing.assert_close(a, b)


def test_threads_change_nothing():
    windows = Windows((9, 9), 7, window=3)
    pose = torch.randn(5, 9, 9, 7, 8, requires_grad=True)
    found = []
    for count in (1, 2):
        torch.set_num_threads(count)
        columns = windows.columns(pose, 2)
        found.append((columns, *torch.autograd.grad(columns.sin().sum(), pose)))
    for a, b in zip(*found, strict=True):
        assert torch.equal(a, b)


def test_capsules_need_not_lie_in_order():
    windows = Windows((4, 5), 2, window=2)
    pose = torch.randn(3, 5, 4, 2, 6).transpose(1, 2)
    assert torch.equal(windows.columns(pose, 1), windows.columns(pose.contiguous(), 1))
    g = torch.randn(8, 1, 6, 36).transpose(1, 2)
    found = torch.ops.torchcaps.ungathered(g, windows.index, pose.shape, 1)
    assert torch.equal(found, torch.ops.torchcaps.ungathered(g.contiguous(), windows.index, pose.shape, 1))


def test_what_does_not_fit_is_refused():
    windows = Windows((4, 4), 2, window=2)
    pose = torch.zeros(1, 4, 4, 2, 6)
    with pytest.raises(RuntimeError, match="a pose of 6 numbers cannot have 4 rows"):
        torch.ops.torchcaps.gathered(pose, windows.index, 4)
    with pytest.raises(RuntimeError, match="must be \\(b h w n d\\)"):
        torch.ops.torchcaps.gathered(pose[0], windows.index, 1)
    with pytest.raises(RuntimeError, match="gradients are \\[8, 6, 1, 10\\]"):
        torch.ops.torchcaps.ungathered(torch.zeros(8, 6, 1, 10), windows.index, pose.shape, 1)


def test_a_transform_sees_through_it():
    windows = Windows((4, 4), 2, window=2)
    pose = torch.randn(2, 4, 4, 2, 6)
    slope = torch.func.grad(lambda pose: windows.columns(pose, 1).square().sum())(pose)
    counts = torch.zeros(16).index_add(0, windows.index.flatten(), torch.ones(windows.index.numel()))
    torch.testing.assert_close(slope, 2 * pose * counts.reshape(1, 4, 4, 1, 1))


@pytest.mark.parametrize("padding", [0, 1])
def test_without_gradients_the_first_iteration_asks_the_columns_of_the_next(padding, monkeypatch):
    """It gives what the convolution gives that it takes the place of."""
    below = CapsShape((6, 6), 3, 8)
    layer = CapsuleLayer(below, 4, 8, rows=2, window=3, padding=padding, vote_bias=True, routing=Dynamic).double()
    children = Capsules(torch.randn(20, 6, 6, 3, 8).double(), torch.rand(20, 6, 6, 3).double())
    asked = []
    real = ops.fold_columns
    monkeypatch.setattr(ops, "fold_columns", lambda *args, **options: asked.append(1) or real(*args, **options))
    convolved = layer(children).pose
    assert asked == []
    with torch.no_grad():
        torch.testing.assert_close(layer(children).pose, convolved)
    assert asked == [1] * (not padding)  # where children are missing, each has a weight
    single = CapsuleLayer(below, 4, 8, rows=2, window=3, routing=partial(Dynamic, iters=1)).double()
    with torch.no_grad():
        single(children)
    assert len(asked) == (not padding)
