"""Images standardised one by one, against numpy, as TensorFlow's documentation has it."""

import numpy as np
import pytest
import torch

from torchcaps.layers.standardise import standardise


def by_numpy(image):
    """(x − mean) / max(deviation, 1/√N), N being the numbers of the image, all channels together."""
    return (image - np.mean(image)) / max(np.std(image), 1 / np.sqrt(image.size))


def test_all_channels_of_an_image_together_and_nothing_of_the_others():
    images = np.random.default_rng(0).random((4, 3, 5, 6)) * np.array([1.0, 5.0, 0.1, 1e-3])[:, None, None, None]
    images[:, 1] += 2.0  # a channel brighter than the others stays so
    expected = np.stack([by_numpy(image) for image in images])
    torch.testing.assert_close(standardise(torch.from_numpy(images)), torch.from_numpy(expected))


@pytest.mark.parametrize("channels", [1, 3])
def test_an_almost_flat_image_is_the_same_alone_and_among_others(channels):
    flat = torch.full((1, channels, 4, 4), 0.5, dtype=torch.double)
    flat[..., 0, 0] += 1e-3
    alone = standardise(flat)
    torch.testing.assert_close(alone, torch.from_numpy(by_numpy(flat[0].numpy()))[None])
    torch.testing.assert_close(standardise(flat.expand(7, -1, -1, -1))[3:4], alone)
    assert alone.abs().max() < 0.01  # noise is not blown up
