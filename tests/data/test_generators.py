"""Generated samples: statistics, ranges, no ink lost, and dependence on (seed, epoch, index) alone."""

import kornia
import pytest
import torch

from tests.elsewhere import DEVICE, Elsewhere, SecondDevice
from torchcaps.data import GENERATORS, Augmented, Balanced, Overlapping, Sign, Stored, Strength, load, warp
from torchcaps.data._random import bits, integers, permutation, uniform
from torchcaps.data.augment import shifted
from torchcaps.data.glyphs import load_glyphs
from torchcaps.train.near import near

ALL = {name: {} for name in GENERATORS} | {"sign": {}}


@pytest.fixture(scope="module")
def digits():
    return load_glyphs("train", 600)


def make(name, digits, **options):
    return Sign(count=600, **options) if name == "sign" else load(name, source=digits, **options)


@pytest.mark.parametrize("name", ALL)
def test_a_sample_depends_on_seed_epoch_and_index_alone(name, digits):
    data = make(name, digits, seed=3)
    index = torch.arange(40)
    whole = data.batch(index, 5)
    shuffled = data.batch(index.flip(0), 5)
    alone = data.batch(index[7:8], 5)
    assert torch.equal(whole.images, shuffled.images.flip(0))
    assert torch.equal(whole.images[7:8], alone.images)
    assert torch.equal(whole.labels[7:8], alone.labels)
    again = make(name, digits, seed=3).batch(index, 5)
    assert torch.equal(whole.images, again.images)
    assert not torch.equal(whole.images, make(name, digits, seed=4).batch(index, 5).images)
    if name != "sign":
        assert not torch.equal(whole.images, data.batch(index, 6).images)


@pytest.mark.parametrize("name", ALL)
def test_ranges_shapes_and_batches(name, digits):
    data = make(name, digits)
    seen = list(data.batches(128, shuffle=True))
    assert sum(len(batch.images) for batch in seen) == len(data)
    for batch in seen:
        assert batch.images.shape[1:] == data.image_shape
        assert batch.images.min() >= (-1 if name == "sign" else 0)
        assert batch.images.max() <= 1
        assert batch.labels.max() < len(data.classes)
    resumed = list(data.batches(128, shuffle=True, start=2))
    assert torch.equal(resumed[0].images, seen[2].images)


def test_placed_digits_are_whole_and_everywhere(digits):
    data = load("placed_mnist", source=digits)
    batch = data.batch(torch.arange(600))
    ink = digits.batch(torch.arange(600)).images.sum((1, 2, 3))
    torch.testing.assert_close(batch.images.sum((1, 2, 3)), ink)
    rows = (batch.images.amax((1, 3)) > 0).float().argmax(-1) - (digits.images.amax((1, 3)) > 0).float().argmax(-1)
    assert sorted(rows.unique().tolist()) == list(range(13))
    with pytest.raises(ValueError, match="canvas=20 is not allowed: the images are 28×28"):
        load("placed_mnist", source=digits, canvas=20)


def test_affine_digits_lose_no_ink(digits):
    """On a canvas so large that nothing could be lost, the same warps show the same ink."""
    data = load("affine_mnist", source=digits)
    index = torch.arange(600)
    small = data.batch(index).images.sum((1, 2, 3))
    images = digits.batch(index).images
    large = warp.apply(images, data.warps(index, 0), (100, 100)).sum((1, 2, 3))
    torch.testing.assert_close(small, large, rtol=1e-4, atol=1e-3)


def test_affine_strengths_are_as_stated(digits):
    def widest(**strength):
        still = {"rotation": 0.0, "shear": 0.0, "scale": (1.0, 1.0), "translation": 0.0}
        return warp.draw(Strength(**{**still, **strength}), 0, 0, torch.arange(20_000))

    turned = widest(rotation=20.0).matrix
    angle = torch.rad2deg(torch.atan2(turned[:, 1, 0], turned[:, 0, 0]))
    assert 19.9 < angle.max() <= 20.001
    assert -20.001 <= angle.min() < -19.9
    slope = torch.rad2deg(torch.atan(widest(shear=45.0).matrix[:, 0, 1]))
    assert 44.9 < slope.max() <= 45.001
    scale = widest(scale=(0.8, 1.2)).matrix.diagonal(dim1=1, dim2=2)
    assert 0.8 <= scale.min() < 0.801
    assert 1.199 < scale.max() <= 1.2001
    assert not torch.equal(scale[:, 0], scale[:, 1])
    shift = widest(translation=8.0).shift
    assert 7.99 < shift.abs().max() <= 8.0


def test_warps_agree_with_kornia(digits):
    images = digits.batch(torch.arange(50)).images
    chosen = warp.draw(Strength(), 0, 0, torch.arange(50))
    ours = warp.apply(images, chosen, (40, 44))
    # kornia maps pixel centres: x' = A (x − c) + c' + t, with c and c' the centres of image and canvas.
    centre, canvas = torch.tensor([13.5, 13.5]), torch.tensor([21.5, 19.5])
    offset = canvas + chosen.shift - chosen.matrix @ centre
    matrix = torch.cat([chosen.matrix, offset[..., None]], -1)
    theirs = kornia.geometry.transform.warp_affine(images, matrix, (40, 44), align_corners=True)
    torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=1e-3)


def test_overlapping_pairs(digits):
    data = Overlapping(digits, pairs=3)
    assert len(data) == 1800
    batch = data.batch(torch.arange(1800))
    assert (batch.labels[:, 0] != batch.labels[:, 1]).all()
    assert torch.equal(batch.labels[:, 0], digits.labels.repeat_interleave(3))
    torch.testing.assert_close(batch.images, batch.singles.sum(1).clamp(max=1))
    assert batch.images.shape == (1800, 1, 36, 36)
    ink = digits.batch(torch.arange(600)).images.sum((1, 2, 3)).repeat_interleave(3)
    torch.testing.assert_close(batch.singles[:, 0].sum((1, 2, 3)), ink)
    # Partners of a class are drawn from all other images alike.
    partners = torch.cat([data.batch(torch.arange(1800), e).labels[:, 1] for e in range(20)])
    share = partners.bincount(minlength=10) / len(partners)
    assert (share - 0.1).abs().max() < 0.03


def test_diverse_pairs_hold_a_sixth_of_singles(digits):
    data = load("diverse_multi_mnist", source=digits, pairs=20)
    batch = data.batch(torch.arange(len(data)))
    lonely = batch.labels[:, 0] == batch.labels[:, 1]
    assert lonely.float().mean().item() == pytest.approx(1 / 6, abs=0.01)
    torch.testing.assert_close(batch.images[lonely], batch.singles[lonely][:, 0])


def test_overlapping_needs_two_classes(digits):
    with pytest.raises(ValueError, match="at least two classes"):
        Overlapping(digits.select((digits.labels == 1).nonzero()[:, 0]))
    with pytest.raises(ValueError, match="pairs=0 is not allowed"):
        Overlapping(digits, pairs=0)


def test_training_and_test_glyphs_are_disjoint():
    train, test = load_glyphs("train", 3000), load_glyphs("test", 500)
    seen = {image.numpy().tobytes() for image in train.images}
    assert not any(image.numpy().tobytes() in seen for image in test.images)
    assert (train.images.flatten(1).amax(1) > 200).all()
    assert train.labels.bincount().min() > 200


def test_splits_are_disjoint_and_complete(no_shape_checks):
    numbered = Stored(torch.arange(200, dtype=torch.uint8).reshape(200, 1, 1, 1), torch.zeros(200).long(), ("a",))
    rest, held = numbered.split(0.25, seed=1)
    values = torch.cat([rest.images, held.images]).flatten().sort().values
    assert torch.equal(values, torch.arange(200, dtype=torch.uint8))
    assert len(held) == 50
    with pytest.raises(ValueError, match="held_out=200 is not allowed"):
        numbered.split(200)
    with pytest.raises(ValueError, match="there are 3 images but 2 labels"):
        Stored(torch.zeros(3, 1, 1, 1, dtype=torch.uint8), torch.zeros(2).long(), ("a",))


def test_augmentation(digits):
    data = Augmented(digits, shift=2, flip=True)
    index = torch.arange(600)
    plain, once = digits.batch(index).images, data.batch(index, 1).images
    moves = [(dy, dx, f) for dy in range(-2, 3) for dx in range(-2, 3) for f in (False, True)]
    candidates = torch.stack([
        (lambda s: s.flip(-1) if f else s)(shifted(plain, torch.tensor([[dy, dx]]).expand(600, 2), 2))
        for dy, dx, f in moves
    ])  # fmt: skip
    hits = (candidates == once).flatten(2).all(-1)
    assert hits.any(0).all()
    assert hits.any(1).all()
    assert torch.equal(once[5:9], data.batch(index[5:9], 1).images)
    with pytest.raises(ValueError, match="are not augmented"):
        Augmented(Overlapping(digits)).batch(index)


def test_random_numbers_are_uniform_and_independent():
    index = torch.arange(100_000)
    u, v = uniform(0, 0, index, 0), uniform(0, 0, index, 1)
    counts = (u * 100).long().bincount(minlength=100)
    assert ((counts - 1000).float() ** 2 / 1000).sum() < 160  # χ² with 99 degrees of freedom
    assert torch.corrcoef(torch.stack([u, v]))[0, 1].abs() < 0.02
    assert torch.corrcoef(torch.stack([u[:-1], u[1:]]))[0, 1].abs() < 0.02
    assert len(bits(0, 0, index, 0).unique()) == 100_000
    assert integers(1, 2, index, 3, 7).bincount().min() > 13_500
    assert torch.equal(permutation(0, 0, 50).sort().values, torch.arange(50))


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize("name", [*GENERATORS, "balanced", "augmented"])
def test_data_on_a_device_is_drawn_there(name):
    """All that it holds goes along, and a batch is the same; what does not fit stays where it is."""
    source = load_glyphs("train", 40)
    others = {"balanced": Balanced, "augmented": Augmented}
    data = others[name](source) if name in others else load(name, source=source)
    first = next(data.batches(8, epoch=1, shuffle=True))
    with SecondDevice():
        assert near(data, DEVICE, free=int(3.9 * data.nbytes)) is data
        there = near(data, DEVICE, free=int(4.1 * data.nbytes))
        batch = next(there.batches(8, epoch=1, shuffle=True))
    assert there.device == DEVICE
    assert data.device == torch.device("cpu")
    assert data.nbytes == there.nbytes >= source.images.nbytes
    for one, other in zip(batch, first, strict=True):
        assert (one is None) == (other is None)
        assert one is None or isinstance(one, Elsewhere)
        assert one is None or torch.allclose(one.inner, other, atol=1e-5)
