"""The real data, from the web or the machine's package managers; skipped, with the reason, where it cannot be had."""

import pytest
import torch

from torchcaps.data import RECIPES, DataUnavailableError, cache_dir, load

EXPECTED = {
    "mnist": (60_000, 10_000, (1, 28, 28), [5, 0, 4, 1, 9]),
    "fashion_mnist": (60_000, 10_000, (1, 28, 28), [9, 0, 0, 3, 0]),
    "cifar10": (50_000, 10_000, (3, 32, 32), [6, 9, 9, 4, 1]),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", EXPECTED)
def test_real_data(name):
    try:
        train, test = load(name, "train"), load(name, "test")
    except DataUnavailableError as error:
        held = [file for file in RECIPES[name].files if (cache_dir() / name / file).is_file()]
        if held or "its checksum is wrong" in str(error):
            pytest.fail(f"files that were once right, or come from where they are published, are refused: {error}")
        pytest.skip(str(error))
    n_train, n_test, shape, first = EXPECTED[name]
    assert (len(train), len(test), train.image_shape) == (n_train, n_test, shape)
    assert train.labels[:5].tolist() == first
    assert train.labels.bincount().min() > 0.8 * n_train / 10
    batch = train.batch(torch.arange(3))
    assert batch.images.min() >= 0
    assert 0.9 < batch.images.max() <= 1
