"""Our convolution is torch's, whatever its arguments."""

import pytest
import torch
from torch import nn

from torchcaps.layers import Convolution


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
