"""The canvas of a network, what stands on it, and what each view shows, pixel by pixel."""

import pytest
import torch
from torch.nn import functional as F

from tests.measures.scripted import Eyes, specks
from torchcaps.data import Affine, Augmented, Overlapping, Placed, Sign
from torchcaps.measures import VIEWS, affine, overlap, swept
from torchcaps.measures._canvas import Framed, canvas, stored
from torchcaps.models import create_model


def shown(measure, data, **options):
    net = Eyes(len(data.classes))
    measure(net, data, **options)
    return torch.cat(net.seen)


def whole(data, epoch=0):
    return data.batch(torch.arange(len(data)), epoch).images


@pytest.mark.parametrize("size", [(20, 40), (40, 20), 20])
def test_a_canvas_must_hold_the_images_in_both_directions(size):
    data = specks(size=28)
    with pytest.raises(ValueError, match="the model takes images of"):
        canvas(Eyes(), data, data, size)


def test_the_size_is_the_arguments_the_recipes_or_the_datas():
    data = specks()
    built = create_model("gu2021/convnet_avg", width=0.02, image_size=(34, 36))
    usual = create_model("gu2021/convnet_avg", width=0.02)  # the paper's 40×40
    assert canvas(built, data, data) == (34, 36)
    assert canvas(usual, data, data) == (40, 40)
    assert canvas(Eyes(), Placed(data, canvas=12), data) == (12, 12)
    assert canvas(built, data, data, 20) == (20, 20)
    with pytest.raises(ValueError, match="the model takes images of 3 channels, but those of the data have 1"):
        canvas(create_model("gu2021/convnet_avg", width=0.02, in_chans=3), data, data)


def test_the_images_behind_a_data_set():
    data = specks()
    for drawn in (data, Placed(data), Affine(data), Overlapping(data), Augmented(Placed(data))):
        assert stored(drawn, "affine") is data
    with pytest.raises(ValueError, match="'affine' needs stored images, and Sign has none"):
        stored(Sign(count=2), "affine")


def test_framed_images_are_those_of_their_epoch():
    placed = Placed(specks(), canvas=12)
    data = Framed(placed, (15, 13))
    for epoch in (0, 1):
        torch.testing.assert_close(whole(data, epoch), F.pad(whole(placed, epoch), (0, 1, 1, 2)))
    assert not torch.equal(whole(data, 0), whole(data, 1))


def test_pairs_are_those_that_were_asked_for():
    """Number, size and seed of the pairs are the argument's; the data's own seed has no say."""
    data = specks(seed=7)
    found = shown(overlap, data, pairs=2, image_size=20, seed=3)
    expected = whole(Overlapping(specks(), pairs=2, seed=3))
    assert not torch.equal(expected, whole(Overlapping(specks(), pairs=2, seed=7)))
    torch.testing.assert_close(found, F.pad(expected, (2,) * 4))


def test_warps_are_those_that_were_asked_for():
    data = specks(seed=7)
    torch.testing.assert_close(shown(affine, data, image_size=20, seed=3), whole(Affine(data, canvas=20, seed=3)))


def test_the_views_by_name():
    data = specks()
    net = Eyes(3)
    torch.testing.assert_close(whole(VIEWS["clean"](net, data)), whole(data))
    torch.testing.assert_close(whole(VIEWS["affine"](net, data)), whole(Affine(data, canvas=8)))
    torch.testing.assert_close(whole(VIEWS["overlap"](net, data)), whole(Overlapping(data))[..., 4:-4, 4:-4])
    with pytest.raises(ValueError, match="at least 3 classes, not 2"):
        VIEWS["overlap"](net, specks(classes=2))


def test_single_transformations_on_a_larger_canvas():
    data = swept(("shift_x",), 3, image_size=33)(Eyes(3), specks())
    assert data.image_shape == (1, 33, 33)
    assert data.batch(torch.tensor([1])).images.shape == (1, 1, 33, 33)
