"""Classes of unequal size, each as often as the others."""

import pytest
import torch

from torchcaps.data import Balanced, Overlapping, Placed, Sign, Stored


def unequal(counts=(90, 9, 0, 1)):
    labels = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    images = torch.arange(len(labels), dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 1, 2, 2)
    return Stored(images, labels, tuple("abcd"))


def test_every_class_that_is_there_comes_equally_often():
    data = Balanced(unequal())
    assert len(data) == 100
    batch = data.batch(torch.arange(100))
    assert batch.labels[:, 0].bincount().tolist() == [34, 33, 0, 33]
    own = (batch.images[:, 0, 0, 0] * 255).round().long()
    assert torch.equal(data.data.labels[own], batch.labels[:, 0]), "every image keeps its label"
    assert len(own[batch.labels[:, 0] == 0].unique()) > 20
    assert Balanced(unequal((0, 1))).batch(torch.arange(1)).labels.tolist() == [[1]]


def test_drawn_anew_in_every_epoch_and_all_in_the_end():
    data, index = Balanced(unequal()), torch.arange(100)
    assert not torch.equal(data.batch(index, 0).images, data.batch(index, 1).images)
    assert torch.equal(data.batch(index[5:9], 3).images, data.batch(index, 3).images[5:9])
    seen = torch.cat([data.batch(index, epoch).images.flatten() for epoch in range(60)]).unique()
    assert len(seen) == 100


def test_generators_that_keep_one_label_an_image():
    placed = Balanced(Placed(unequal(), canvas=4))
    assert placed.batch(torch.arange(99)).labels[:, 0].bincount().tolist() == [33, 33, 0, 33]
    alone, index = Placed(unequal((1, 1, 1, 1)), canvas=9), torch.arange(4)
    epochs = [Balanced(alone).batch(index, epoch).images for epoch in (0, 3)]
    assert torch.equal(epochs[1], alone.batch(index, 3).images), "placed as this epoch has it"
    assert not torch.equal(*epochs)
    for data in (Overlapping(unequal()), Overlapping(unequal(), pairs=2), Sign(count=9)):
        with pytest.raises(ValueError, match=f"{type(data).__name__} cannot be balanced"):
            Balanced(data)
