"""Generated samples: statistics, ranges, no ink lost, and dependence on (seed, epoch, index) alone."""

import math

import kornia
import pytest
import torch
from PIL import Image, ImageDraw, ImageFont

from tests.elsewhere import DEVICE, Elsewhere, SecondDevice
from torchcaps.data import GENERATORS, Augmented, Balanced, Overlapping, Sign, Stored, Strength, glyphs, load, warp
from torchcaps.data._random import bits, integers, permutation, uniform
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
    places = []
    for other in (3, 2):  # how far down, how far right
        lit = [(images.amax((1, other)) > 0).float().argmax(-1) for images in (batch.images, digits.images)]
        places.append(lit[0] - lit[1])
        assert sorted(places[-1].unique().tolist()) == list(range(13))
    assert torch.stack(places).float().corrcoef()[0, 1].abs() < 0.15
    with pytest.raises(ValueError, match="canvas=20 is not allowed: the images are 28×28"):
        load("placed_mnist", source=digits, canvas=20)


def test_a_warp_that_does_nothing_does_nothing(digits):
    """However much room there is, a digit stays as large as it was, in the middle."""
    data = load("affine_mnist", source=digits, strength=Strength(0.0, 0.0, (1.0, 1.0), 0.0))
    batch = data.batch(torch.arange(50))
    torch.testing.assert_close(batch.images[..., 6:34, 6:34], digits.batch(torch.arange(50)).images)
    assert batch.images.sum().item() == pytest.approx(batch.images[..., 6:34, 6:34].sum().item())


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


def by_hand(rotation, shear, scale, shift, point):
    """Where one point goes, in numbers alone: scaled, slanted, turned, moved."""
    x, y = point[0] * scale[0], point[1] * scale[1]
    x, y = x + y * math.tan(math.radians(shear)), y
    cos, sin = math.cos(math.radians(rotation)), math.sin(math.radians(rotation))
    return [cos * x - sin * y + shift[0], sin * x + cos * y + shift[1]]


def test_a_warp_is_the_one_written_out_by_hand():
    drawn = torch.rand(20, 6, dtype=torch.double) - 0.5
    parts = [drawn[:, 0] * 90, drawn[:, 1] * 80, 1 + drawn[:, 2:4], drawn[:, 4:] * 9]
    chosen = warp.compose(*parts)
    for k in range(20):
        rotation, shear, scale, shift = (part[k].tolist() for part in parts)
        for point in ([1.0, 0.0], [0.0, 1.0], [-3.0, 2.0]):
            found = chosen.matrix[k] @ torch.tensor(point, dtype=torch.double) + chosen.shift[k]
            assert found.tolist() == pytest.approx(by_hand(rotation, shear, scale, shift, point))


def test_the_default_strength_and_what_is_drawn_apart():
    """That of the paper; rotation, shear, both scales and both shifts know nothing of each other."""
    assert Strength() == (20.0, 45.0, (0.8, 1.2), 8.0)
    seen, real = [], warp.compose
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warp, "compose", lambda *parts: seen.append(parts) or real(*parts))
        warp.draw(Strength(), 0, 0, torch.arange(20_000))
    [(rotation, shear, scale, shift)] = seen
    numbers = torch.stack([rotation, shear, *scale.unbind(-1), *shift.unbind(-1)])
    assert (numbers.corrcoef() - torch.eye(6)).abs().max() < 0.04
    widths = [40.0, 90.0, 0.4, 0.4, 16.0, 16.0]
    assert (numbers.amax(1) - numbers.amin(1)).tolist() == pytest.approx(widths, rel=0.01)
    assert numbers.mean(1).tolist() == pytest.approx([0, 0, 1, 1, 0, 0], abs=1)


def test_affine_digits_have_the_first_warp_that_keeps_their_ink(digits):
    """Each of eight tried in turn on the ink's own pixels; the last is shrunk if it does not keep it either."""
    data, index = load("affine_mnist", source=digits, canvas=34), torch.arange(60)
    chosen = data.warps(index, 2)
    tries = [warp.draw(Strength(), 0, 2, index, stream=k) for k in range(1, 9)]
    taken = []
    for k in range(60):
        rows, columns = digits.images[k, 0].nonzero().T
        sides = [(rows.min() - 14.5, rows.max() - 12.5), (columns.min() - 14.5, columns.max() - 12.5)]
        corners = torch.tensor([(x, y) for x in sides[1] for y in sides[0]])
        reach = [float((corners @ t.matrix[k].T + t.shift[k]).abs().max()) for t in tries]
        which = next((n for n, far in enumerate(reach) if far <= 17), 7)
        shrink = min(1.0, 17 / reach[which])
        torch.testing.assert_close(chosen.matrix[k], tries[which].matrix[k] * shrink)
        torch.testing.assert_close(chosen.shift[k], tries[which].shift[k] * shrink)
        taken.append((which, shrink < 1))
    assert {which for which, _ in taken} >= {0, 1, 2}
    assert (7, True) in taken


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


def test_objects_of_a_pair_are_what_their_labels_say_at_places_of_their_own():
    """Images that are told by their grey, in frames that are told by their corner."""
    greys = torch.arange(40, dtype=torch.uint8)[:, None, None, None] * 3 + 100
    squares = Stored(greys.expand(40, 1, 6, 6).contiguous(), torch.arange(40) % 4, tuple("abcd"))
    batch = Overlapping(squares, pairs=25, seed=2).batch(torch.arange(1000), 3)
    which = ((batch.singles.amax((2, 3, 4)) * 255 - 100) / 3).round().long()
    assert torch.equal(which[:, 0], torch.arange(1000) // 25)
    assert torch.equal(which % 4, batch.labels)
    assert all(len(row.unique()) > 10 for row in which[:, 1].reshape(40, 25)), "an image leads pairs of many kinds"
    lit = batch.singles[:, :, 0] > 0
    assert (lit.sum((2, 3)) == 36).all()
    places = [lit.any(3).float().argmax(-1), lit.any(2).float().argmax(-1)]
    numbers = torch.stack([place[:, k] for place in places for k in range(2)])
    assert all(sorted(row.unique().tolist()) == list(range(9)) for row in numbers)
    assert (numbers.float().corrcoef() - torch.eye(4)).abs().max() < 0.12


def test_diverse_pairs_hold_a_sixth_of_singles(digits):
    data = load("diverse_multi_mnist", source=digits, pairs=20)
    batch = data.batch(torch.arange(len(data)))
    lonely = batch.labels[:, 0] == batch.labels[:, 1]
    assert lonely.float().mean().item() == pytest.approx(1 / 6, abs=0.01)
    torch.testing.assert_close(batch.images[lonely], batch.singles[lonely][:, 0])
    half = load("diverse_multi_mnist", source=digits, pairs=20, single=0.5).batch(torch.arange(5000)).labels
    assert (half[:, 0] == half[:, 1]).float().mean().item() == pytest.approx(0.5, abs=0.02)


def test_pairs_that_are_no_singles_have_any_partner():
    """Whether an image is alone is drawn apart from who its partner would be."""
    source = Stored(torch.full((40, 1, 6, 6), 9, dtype=torch.uint8), torch.arange(40) % 10, tuple("abcdefghij"))
    labels = Overlapping(source, pairs=500, single=0.5).batch(torch.arange(20_000)).labels
    pairs = labels[labels[:, 0] != labels[:, 1]]
    for own in range(10):
        share = pairs[pairs[:, 0] == own, 1].bincount(minlength=10) / (pairs[:, 0] == own).sum()
        assert (share - (torch.arange(10) != own) / 9).abs().max() < 0.05


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
    assert not torch.equal(train.labels[:500], test.labels), "nor are the test's drawn as the training's"


@pytest.mark.parametrize("split", ["train", "test"])
def test_glyphs_are_the_digits_that_their_labels_say(split, monkeypatch):
    """Left as they were drawn, each is its label's digit in one of the fonts, and each digit comes in all fonts."""
    monkeypatch.setattr(glyphs, "MILD", Strength(0.0, 0.0, (1.0, 1.0), 0.0))
    data = load_glyphs(split, 1500)
    pictures = {}
    for font in glyphs.fonts(split):
        for digit in range(10):
            image = Image.new("L", (28, 28))
            ImageDraw.Draw(image).text((14, 14), str(digit), 255, ImageFont.truetype(str(font), 24), anchor="mm")
            pictures.setdefault(image.tobytes(), []).append((digit, font))
    found = [pictures[image.numpy().tobytes()] for image in data.images]
    assert all(
        {digit for digit, _ in known} == {label} for known, label in zip(found, data.labels.tolist(), strict=True)
    )
    every = {(digit, font) for digit in range(10) for font in glyphs.fonts(split)}
    assert {pair for known in found for pair in known} == every


def test_glyphs_are_turned_by_up_to_15_degrees():
    matrix = warp.draw(glyphs.MILD, 1, 0, torch.arange(5000)).matrix
    angle = torch.rad2deg(torch.atan2(matrix[:, 1, 0], matrix[:, 0, 0]))  # neither scale nor slant moves the x axis
    assert angle.abs().max().item() == pytest.approx(15, abs=0.1)


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


def moved(image, down, right, *, mirrored):
    """One image shifted, then mirrored, pixel by pixel."""
    h, w = image.shape[-2:]
    found = torch.zeros_like(image)
    for y in range(h):
        for x in range(w):
            if 0 <= y - down < h and 0 <= x - right < w:
                found[..., y, w - 1 - x if mirrored else x] = image[..., y - down, x - right]
    return found


def test_augmentation(digits):
    """All 18 moves by one pixel, with and without mirror, all drawn, and drawn anew for every image and epoch."""
    images = torch.randint(1, 256, (300, 1, 4, 5), dtype=torch.uint8)
    data = Augmented(Stored(images, torch.zeros(300).long(), ("a",), seed=5), shift=1, flip=True)
    moves = [(dy, dx, f) for dy in (-1, 0, 1) for dx in (-1, 0, 1) for f in (False, True)]
    epochs = []
    for epoch in range(3):
        found = (data.batch(torch.arange(300), epoch).images * 255).round().byte()
        candidates = torch.stack([moved(images, dy, dx, mirrored=f) for dy, dx, f in moves])
        hits = (candidates == found).flatten(2).all(-1)
        assert (hits.sum(0) == 1).all()
        epochs.append(torch.tensor(moves)[hits.float().argmax(0)].float())
        assert len(epochs[-1].unique(dim=0)) == 18
    numbers = torch.cat(epochs, 1).T
    assert (numbers.corrcoef() - torch.eye(9)).abs().max() < 0.2
    unmirrored = Augmented(Stored(images, torch.zeros(300).long(), ("a",)), shift=0)
    assert torch.equal((unmirrored.batch(torch.arange(300)).images * 255).round().byte(), images)
    assert torch.equal(data.batch(torch.arange(5, 9), 1).images, data.batch(torch.arange(300), 1).images[5:9])
    with pytest.raises(ValueError, match="are not augmented"):
        Augmented(Overlapping(digits)).batch(torch.arange(3))


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


def test_signs_are_named_and_the_same_in_every_epoch():
    data, index = Sign(count=200), torch.arange(200)
    numbers, labels, _ = data.batch(index)
    for number, label in zip(numbers.flatten().tolist(), labels[:, 0].tolist(), strict=True):
        assert data.classes[label] == ("negative" if number < 0 else "positive")
    assert torch.equal(data.batch(index, 5).images, numbers)
    assert numbers.min() < -0.9
    assert numbers.max() > 0.9
