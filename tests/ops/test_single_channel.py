"""Convolutions of one channel in or out are right however images, kernels and capsules lie in memory."""

import pytest
import torch
from einops import rearrange
from torch import nn

from torchcaps.layers import CapsuleLayer, Convolution
from torchcaps.ops.single_channel import plain_strides
from torchcaps.routing import ROUTINGS, Uniform
from torchcaps.types import CapsShape, Capsules


def last(*shape):
    """Random numbers of which the channels are side by side, also where there is one."""
    b, c, h, w = shape
    return rearrange(torch.rand(b, h, w, c), "b h w c -> b c h w")


def test_numbers_that_lie_row_by_row_are_not_touched():
    image, kernel = torch.rand(4, 1, 5, 3), torch.rand(10, 1, 3, 3)
    assert all(a is b for a, b in zip(plain_strides(image, kernel), (image, kernel), strict=True))
    image, kernel = last(4, 2, 5, 3), last(10, 2, 3, 3)
    assert all(a is b for a, b in zip(plain_strides(image, kernel), (image, kernel), strict=True))


def test_of_one_channel_nothing_is_copied():
    image, kernel = last(4, 1, 5, 3), last(10, 1, 3, 3)
    found = plain_strides(image, kernel)
    assert [t.stride() for t in found] == [(15, 15, 3, 1), (9, 9, 3, 1)]
    assert [t.data_ptr() for t in found] == [image.data_ptr(), kernel.data_ptr()]
    alone, _ = plain_strides(image[0], kernel)
    assert alone.stride() == (15, 3, 1)


@pytest.mark.parametrize(
    "options", [{}, {"padding": (1, 0)}, {"dilation": (2, 1)}, {"padding_mode": "circular"}], ids=str
)
@pytest.mark.parametrize("turned", ["image", "kernel", "both"])
def test_one_channel_in(options, turned):
    """torch 2.13 is wrong by more than one here."""
    layer = Convolution(1, 10, 3, (1, 2), **options)
    x = last(4, 1, 7, 3) if turned != "kernel" else torch.rand(4, 1, 7, 3)
    if turned != "image":
        layer.to(memory_format=torch.channels_last)
    exact = nn.Conv2d(1, 10, 3, (1, 2), **options).double()
    exact.load_state_dict(layer.state_dict())
    torch.testing.assert_close(layer(x).double(), exact(x.double()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("routing", ["uniform", "self_attention"])
def test_one_type_of_one_number(routing):
    layer = CapsuleLayer(CapsShape((5, 3), 1, 1), 10, 1, window=3, stride=(1, 2), routing=ROUTINGS[routing])
    below = Capsules(torch.rand(4, 5, 3, 1, 1), torch.rand(4, 5, 3, 1))
    found = layer(below).pose
    expected = layer.double()(Capsules(*(t.double() for t in below))).pose
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-4)


def test_one_parent_of_one_column_has_gradients():
    layer = CapsuleLayer(CapsShape((3, 6), 3, 2), 1, 1, window=(1, 4), routing=Uniform)
    pose, act = torch.rand(1, 3, 6, 3, 2, requires_grad=True), torch.rand(1, 3, 6, 3)
    layer(Capsules(pose, act)).pose.sum().backward()
    found = [pose.grad, layer.weight.grad]
    exact = pose.detach().double().requires_grad_()
    layer.zero_grad()
    layer.double()(Capsules(exact, act.double())).pose.sum().backward()
    torch.testing.assert_close([g.double() for g in found], [exact.grad, layer.weight.grad], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("direct", ["0", "1"])
def test_kernels_may_be_channels_last(direct, monkeypatch):
    """As `net.to(memory_format=torch.channels_last)` leaves them; three times, for the second keeps spectra."""
    monkeypatch.setenv("TORCHCAPS_SPECTRAL", direct)
    layer = Convolution(3, 8, 5, 2)
    x, towards = last(2, 3, 12, 13), last(2, 8, 4, 5)
    exact = nn.Conv2d(3, 8, 5, 2).double()
    exact.load_state_dict(layer.state_dict())
    layer.to(memory_format=torch.channels_last)
    expected = exact(x.double())
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(layer(x).double(), expected, rtol=1e-4, atol=1e-5)
    found = torch.autograd.grad(layer(x), list(layer.parameters()), towards)
    wanted = torch.autograd.grad(expected, list(exact.parameters()), towards.double())
    torch.testing.assert_close([g.double() for g in found], list(wanted), rtol=1e-4, atol=1e-4)
