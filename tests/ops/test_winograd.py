"""Kernels of three taps by Winograd's way are the direct convolution: values, gradients, precision; who takes it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from torchcaps.models import create_model
from torchcaps.ops import native, spectral
from torchcaps.ops.spectral.cost import Shape, Uses, transform

pytestmark = pytest.mark.skipif(native.status() != "native", reason=f"here serves {native.status()}")
OP = torch.ops.torchcaps
N = (6, 6)
KERNELS = {1: (3,), 2: (5, 6), 3: (7, 8, 9)}
"""By stride, those of which three taps are left in every phase."""


@st.composite
def cases(draw):
    """Any convolution that has three taps along both axes: channels in and out of vectors, tiles cut off anywhere."""
    number = lambda low, high: draw(st.integers(low, high))  # noqa: E731
    stride, padding = (number(1, 3), number(1, 3)), (number(0, 3), number(0, 3))
    kernel = tuple(draw(st.sampled_from(KERNELS[s])) for s in stride)
    image = tuple(number(max(1, k - 2 * p), k + 14) for k, p in zip(kernel, padding, strict=True))
    return (number(1, 3), number(1, 20), number(1, 20)), image, kernel, stride, padding


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([(torch.float32, 5e-6), (torch.float64, 1e-13)]))
def test_values_and_gradients_are_those_of_the_direct_convolution(case, precision):
    (b, c, o), image, kernel, stride, padding = case
    dtype, tolerance = precision
    torch.manual_seed(0)
    given = [
        torch.randn(b, c, *image, dtype=dtype),
        torch.randn(o, c, *kernel, dtype=dtype),
        torch.randn(o, dtype=dtype),
    ]
    kept = OP.spectral_kernel(*given[:2], stride, padding, N)
    again = OP.spectral(*given, kept, stride, padding, N)
    inputs, exact = [t.requires_grad_() for t in given], [t.detach().double().requires_grad_() for t in given]
    found, expected = OP.spectral(*inputs, None, stride, padding, N), F.conv2d(*exact, stride, padding)
    g = torch.randn_like(expected)
    pairs = [(found, expected), (again, expected)]
    pairs += zip(torch.autograd.grad(found, inputs, g.to(dtype)), torch.autograd.grad(expected, exact, g), strict=True)
    for mine, theirs in pairs:
        torch.testing.assert_close(mine.double(), theirs, rtol=0, atol=tolerance * max(1, theirs.abs().max().item()))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 5e-6), (torch.float64, 1e-13)])
@pytest.mark.parametrize(("b", "image"), [(7, (18, 22)), (30, (7, 3)), (1, (50, 41))])
def test_images_are_taken_in_blocks(b, image, dtype, tolerance):
    """Several images, parts of one, channels beyond the last panel: a block sees none of its neighbours."""
    torch.manual_seed(0)
    x, w, bias = (torch.randn(*size, dtype=dtype) for size in ((b, 70, *image), (37, 70, 3, 3), (37,)))
    frame, exact = ((1, 1), (1, 2)), [t.double().requires_grad_() for t in (x, w, bias)]
    expected = F.conv2d(*exact, *frame)
    g = torch.randn_like(expected)
    gradients = torch.autograd.grad(expected, exact, g)
    runs = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            inputs = [t.detach().requires_grad_() for t in (x, w, bias)]
            y = OP.spectral(*inputs, None, *frame, N)
            runs.append([y, *torch.autograd.grad(y, inputs, g.to(dtype))])
        finally:
            torch.set_num_threads(1)
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))
    for mine, theirs in zip(runs[0], (expected, *gradients), strict=True):
        torch.testing.assert_close(mine.double(), theirs, rtol=0, atol=tolerance * theirs.abs().max().item())


def test_gradcheck_of_both_orders():
    torch.manual_seed(0)
    given = [torch.randn(*s, dtype=torch.double, requires_grad=True) for s in ((2, 2, 6, 7), (3, 2, 3, 3), (3,))]
    call = lambda *inputs: OP.spectral(*inputs, None, (1, 1), (1, 0), N)  # noqa: E731
    assert torch.autograd.gradcheck(call, given)
    assert torch.autograd.gradgradcheck(call, given)


def test_a_bias_that_does_not_fit_is_refused():
    x, w = torch.zeros(1, 2, 8, 8), torch.zeros(3, 2, 3, 3)
    for wrong in (torch.zeros(2), torch.zeros(3, 1), torch.zeros(3, dtype=torch.double)):
        with pytest.raises(ValueError, match="bias is"):
            OP.spectral(x, w, wrong, None, (1, 1), (0, 0), N)
    bias = torch.arange(6.0)[::2]  # with gaps
    found = OP.spectral(x, w, bias, None, (1, 1), (0, 0), N)
    assert torch.equal(found, bias[None, :, None, None].expand(1, 3, 6, 6))


def test_it_has_fewer_slots_than_the_fourier_transform():
    """36 instead of 52; a kernel of four taps has no such short way."""
    x = torch.zeros(1, 1, 12, 12)
    slots = [len(OP.spectral_kernel(x, torch.zeros(1, 1, k, k), (1, 1), (0, 0), N)) for k in (3, 4)]
    assert slots == [36, 52]


@pytest.mark.parametrize(
    ("kernel", "n"), [((3, 4), N), ((4, 3), N), ((3, 2), N), ((2, 3), N), ((3, 3), (6, 7)), ((3, 3), (7, 6))]
)
def test_what_has_three_taps_and_six_points_along_one_axis_only_goes_by_fourier(kernel, n):
    x, w = torch.randn(2, 3, 11, 12, dtype=torch.double), torch.randn(4, 3, *kernel, dtype=torch.double)
    torch.testing.assert_close(OP.spectral(x, w, None, None, (1, 1), (0, 0), n), F.conv2d(x, w))


def test_points_are_such_that_little_is_lost():
    """Less than points 1 and 2 would lose (1.6e-6), and no more than six times what a direct sum loses."""
    torch.manual_seed(0)
    x, w = torch.randn(4, 64, 34, 34), torch.randn(64, 64, 3, 3)
    exact = F.conv2d(x.double(), w.double())
    lost = [
        (y - exact).square().mean().sqrt().item()
        for y in (OP.spectral(x, w, None, None, (1, 1), (0, 0), N), F.conv2d(x, w))
    ]
    assert lost[0] / exact.square().mean().sqrt().item() < 1e-6
    assert lost[0] < 6 * lost[1]


@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_the_same_to_the_last_bit(threads):
    torch.manual_seed(0)
    x, w = torch.randn(3, 20, 15, 15, requires_grad=True), torch.randn(18, 20, 3, 3, requires_grad=True)
    runs = []
    for count in (1, threads):
        torch.set_num_threads(count)
        try:
            y = OP.spectral(x, w, None, None, (1, 1), (1, 1), N)
            runs.append([y, *torch.autograd.grad(y.square().sum(), (x, w))])
        finally:
            torch.set_num_threads(1)
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


WIDE = Shape(128, 64, 64, (32, 32), (3, 3), (1, 1), (1, 1))
TRAIN, INFER, KEPT = (Uses(train, train, kept) for train, kept in ((True, False), (False, False), (False, True)))


def test_the_model_of_costs_takes_it_where_it_wins():
    """Shapes that were measured, on both sides of the border."""
    assert [transform(WIDE, uses) for uses in (TRAIN, INFER, KEPT)] == [N] * 3
    assert [transform(WIDE._replace(b=8), uses) for uses in (TRAIN, KEPT)] == [N] * 2
    assert transform(WIDE._replace(o=32), INFER) == N  # where transforms cost as much as the products
    assert transform(WIDE._replace(image=(64, 64)), TRAIN) == N  # sixteen tiles along each axis
    assert transform(WIDE._replace(b=1), KEPT) == N
    for b, side in ((4, 6), (1, 8)):  # few tiles and a large kernel, the spectra of which cost most
        few = WIDE._replace(b=b, c=256, o=256, image=(side, side))
        assert [transform(few, uses) for uses in (TRAIN, INFER, KEPT)] == [None, None, N]
    assert transform(WIDE._replace(c=3), TRAIN) is None
    assert transform(WIDE._replace(c=8, o=8), TRAIN) is None
    assert transform(WIDE._replace(b=1, image=(8, 8)), KEPT) is None
    assert transform(WIDE._replace(stride=(2, 2)), TRAIN) is None
    assert transform(WIDE._replace(kernel=(3, 5)), TRAIN) != N


@pytest.mark.parametrize(
    ("name", "size", "layers"), [("mitterreiter2023/capsnet", 40, 2), ("tsai2020/inverted_resnet", 32, 13)]
)
@torch.no_grad()
def test_networks_take_it_wherever_many_channels_meet_as_many(name, size, layers):
    net, x = create_model(name, in_chans=3, image_size=size).eval(), torch.rand(8, 3, size, size)
    net(x), net(x)
    kept = [layer._kept._last[1] for layer in net.modules() if getattr(layer, "_kept", None)]
    assert [len(spectra) for spectra in kept if spectra is not None] == [36] * layers
    found = net(x).scores
    with spectral.directly():
        torch.testing.assert_close(found, net(x).scores, rtol=0, atol=1e-4)
