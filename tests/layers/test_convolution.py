"""Our convolution is torch's, whatever its arguments."""

import pytest
import torch
from torch import nn

from torchcaps.layers import Convolution
from torchcaps.ops import spectral


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": (5, 7), "stride": (1, 2), "padding": (0, 2)},
        {"kernel_size": (7, 5), "stride": (2, 1), "padding": (3, 1)},
        {"kernel_size": 9, "bias": False},
        {"kernel_size": 5, "padding": 2, "padding_mode": "circular"},
        {"kernel_size": 5, "padding": "same"},
        {"kernel_size": 5, "dilation": (1, 2)},
        {"kernel_size": 5, "groups": 2},
    ],
    ids=str,
)
def test_values_and_gradients_are_torchs(options):
    ours, theirs = Convolution(4, 6, **options), nn.Conv2d(4, 6, **options)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3, 4, 14, 17)
    a, b = ours(x), theirs(x)
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    towards = torch.randn_like(b)
    found, wanted = (
        torch.autograd.grad((y * towards).sum(), list(net.parameters())) for y, net in ((a, ours), (b, theirs))
    )
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("size", [(5, 4), (5, 7)], ids=["whole map", "larger map"])
def test_one_kernel_per_channel_is_torchs_with_gradients_of_the_image_too(bias, size):
    """Where the kernel covers the map it is one product; a larger map must not be taken for one."""
    ours, theirs = (cls(6, 6, (5, 4), groups=6, bias=bias).double() for cls in (Convolution, nn.Conv2d))
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3, 6, *size, dtype=torch.float64, requires_grad=True)
    a, b = ours(x), theirs(x)
    torch.testing.assert_close(a, b)
    towards = torch.randn_like(b)
    found, wanted = (
        torch.autograd.grad((y * towards).sum(), [x, *net.parameters()]) for y, net in ((a, ours), (b, theirs))
    )
    torch.testing.assert_close(found, wanted)


def test_a_map_seen_whole_is_a_product_but_not_for_the_textbook(monkeypatch):
    taken = []
    monkeypatch.setattr(nn.Conv2d, "forward", lambda self, x: taken.append(tuple(x.shape)) or x[..., :1, :1])
    whole = Convolution(6, 6, (5, 4), groups=6)
    whole(torch.randn(3, 6, 5, 4))
    assert not taken
    with spectral.directly():
        whole(torch.randn(3, 6, 5, 4))
    with torch.autocast("cpu", torch.bfloat16):
        whole(torch.randn(2, 6, 5, 4))
    Convolution(6, 12, (5, 4), groups=6)(torch.randn(1, 6, 5, 4))
    assert taken == [(3, 6, 5, 4), (2, 6, 5, 4), (1, 6, 5, 4)]
