"""Primary capsules against numpy: channels grouped, normalised, then squashed."""

import numpy as np
import pytest
import torch

from torchcaps.functional import squash
from torchcaps.layers import PrimaryCapsules


def by_numpy(channels, n, d):
    """Of one position: capsule by capsule layer norm, s = (x − mean) / deviation, and ‖s‖² / (1 + ‖s‖²) · s / ‖s‖."""
    capsules = []
    for k in range(n):
        own = channels[k * d : (k + 1) * d]
        s = (own - own.mean()) / np.sqrt(own.var() + 1e-5)
        long = np.sqrt((s * s).sum())
        capsules.append(long**2 / (1 + long**2) * s / long)
    return np.stack(capsules)


def test_poses_are_normalised_and_then_squashed():
    primary = PrimaryCapsules((6, 2, 3), n=2, d=3, kernel=None, norm=True, squash=squash)
    features = np.random.default_rng(0).normal(size=(4, 6, 2, 3)).astype(np.float32)
    found = primary(torch.from_numpy(features))
    for b, h, w in np.ndindex(4, 2, 3):
        expected = by_numpy(features[b, :, h, w].astype(float), 2, 3)
        np.testing.assert_allclose(found.pose[b, h, w].detach(), expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found.act[b, h, w].detach(), np.linalg.norm(expected, axis=-1), rtol=1e-4)


@pytest.mark.parametrize("activation", ["one", "learned"])
def test_activations_that_are_not_lengths(activation):
    primary = PrimaryCapsules((5, 4, 4), n=2, d=3, kernel=3, activation=activation)
    x = torch.randn(2, 5, 4, 4)
    act = primary(x).act
    if activation == "one":
        assert torch.equal(act, torch.ones(2, 2, 2, 2))
    else:
        by_torch = torch.nn.functional.conv2d(x, primary.presence.weight, primary.presence.bias).sigmoid()
        torch.testing.assert_close(act, torch.einsum("bnhw->bhwn", by_torch))
