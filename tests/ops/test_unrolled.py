"""A convolution as one product is the direct one: values, gradients of both orders, every shape."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from torchcaps.layers import Convolution
from torchcaps.ops import spectral, unrolled


@st.composite
def cases(draw):
    pair = lambda low, high: (draw(st.integers(low, high)), draw(st.integers(low, high)))  # noqa: E731
    kernel, stride, padding = pair(1, 4), pair(1, 3), pair(0, 2)
    image = tuple(max(1, k - 2 * p) + extra for k, p, extra in zip(kernel, padding, pair(0, 6), strict=True))
    b, (c, o) = draw(st.integers(1, 3)), pair(1, 4)
    return (b, c, *image), (o, c, *kernel), stride, padding


def drawn(image, kernel, dtype=torch.float64):
    torch.manual_seed(0)
    return [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in (image, kernel, kernel[:1])]


@pytest.fixture
def everywhere(monkeypatch):
    monkeypatch.setattr(unrolled, "worth_unrolling", lambda *given: True)


@settings(max_examples=60, deadline=None)
@given(cases(), st.booleans())
def test_values_and_gradients_are_those_of_the_direct_convolution(case, biased):
    image, kernel, stride, padding = case
    inputs = drawn(image, kernel)[: 2 + biased]
    x, w, bias = (*inputs, None)[:3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unrolled, "worth_unrolling", lambda *given: True)
        found = unrolled.conv2d(x, w, bias, stride, padding)
    expected = F.conv2d(x, w, bias, stride, padding)
    g = torch.randn_like(expected)
    pairs = [(found, expected)]
    pairs += zip(*(torch.autograd.grad(y, inputs, g) for y in (found, expected)), strict=True)
    for mine, theirs in pairs:
        torch.testing.assert_close(mine, theirs)


@pytest.mark.usefixtures("everywhere")
def test_gradients_of_both_orders_and_only_those_wanted():
    x, w, bias = drawn((2, 3, 5, 6), (4, 3, 3, 2))
    convolve = lambda *inputs: unrolled.conv2d(*inputs, (2, 1), (1, 0))  # noqa: E731
    assert torch.autograd.gradcheck(convolve, (x, w, bias))
    assert torch.autograd.gradgradcheck(convolve, (x, w, bias))
    for wanted in (x, w):
        inputs = [t if t is wanted else t.detach() for t in (x, w, bias)]
        for again in (False, True):
            [found] = torch.autograd.grad(convolve(*inputs).square().sum(), [wanted], create_graph=again)
            [expected] = torch.autograd.grad(F.conv2d(*inputs, (2, 1), (1, 0)).square().sum(), [wanted])
            torch.testing.assert_close(found, expected)


def test_large_kernels_with_few_windows_are_unrolled():
    x, w = torch.empty(8, 1024, 18, 18, device="meta"), torch.empty(1024, 1024, 3, 3, device="meta")
    at = lambda x, w, stride=2, padding=0: unrolled.worth_unrolling(x, w, (stride,) * 2, (padding,) * 2)  # noqa: E731
    assert at(x, w)  # 512 windows
    assert not at(x, w, padding=1)  # 648
    assert not at(x, w, stride=1)
    assert not at(torch.cat([x, x[:1]]), w)
    assert not at(x, w[:, :400])  # a kernel that stays in a cache
    assert not at(x[:0], w)


def test_a_layer_takes_it_but_neither_the_textbook_nor_lower_precision(monkeypatch):
    taken = []
    conv2d = unrolled.conv2d
    monkeypatch.setattr(unrolled, "conv2d", lambda *given: taken.append(1) or conv2d(*given))
    layer, x = Convolution(4, 6, 3, stride=2, padding=1), torch.randn(2, 4, 7, 7)
    wanted = F.conv2d(x, layer.weight, layer.bias, 2, 1)
    torch.testing.assert_close(layer(x), wanted)
    assert len(taken) == 1
    with spectral.directly():
        layer(x)
    with torch.autocast("cpu", torch.bfloat16):
        layer(x)
    torch.func.functional_call(layer, dict(layer.named_parameters()), x)
    torch.func.vmap(layer)(x[None])
    torch.export.export(layer, (x,))
    assert len(taken) == 2
