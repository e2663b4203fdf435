"""The AC-GAN: the paper's layers, one generator an epoch, the same from the same seed, and back from disk."""

import json

import pytest
import torch
from matplotlib.figure import Figure

from torchcaps.attacks import (
    Discriminator,
    Generator,
    drawn_by,
    load_generators,
    save_generators,
    sheet,
    train_acgan,
)
from torchcaps.data import Stored

TEN = tuple("0123456789")


@pytest.fixture(scope="module")
def shades():
    """Two classes that anybody can tell: dark images and light ones, with a little noise."""
    chance = torch.Generator().manual_seed(0)
    labels = torch.arange(400) % 2
    images = torch.randint(0, 40, (400, 1, 28, 28), generator=chance) + 200 * labels[:, None, None, None]
    return Stored(images.byte(), labels, ("dark", "light"))


@pytest.fixture(scope="module")
def generators(shades):
    told = []
    found = train_acgan(shades, epochs=3, width=0.2, batch_size=8, seed=1, progress=lambda *now: told.append(now))
    assert told[-1] == (1200, 1200)
    assert len(told) == 150
    return found


def test_the_papers_layers():
    shapes = []
    net = Generator(TEN)
    for layer in net.layers:
        layer.register_forward_hook(lambda _, __, out: shapes.append(tuple(out.shape[1:])))
    assert net(torch.zeros(1, 100), torch.tensor([3])).shape == (1, 1, 28, 28)
    assert [shape for k, shape in enumerate(shapes) if k in (2, 3, 6, 9)] == [
        (384, 3, 3),
        (192, 7, 7),
        (96, 14, 14),
        (1, 28, 28),
    ]
    maps = [layer.out_channels for layer in Discriminator(10).convs if isinstance(layer, torch.nn.Conv2d)]
    assert maps == [32, 64, 128, 256]


def test_it_learns_the_classes_and_keeps_every_epoch(generators):
    assert len(generators) == 3
    contrasts = []
    for net in generators:
        data = drawn_by(net, per_class=50)
        assert (len(data), data.classes) == (100, ("dark", "light"))
        dark, light = (data.images[data.labels == k].float().mean().item() for k in (0, 1))
        contrasts.append(light - dark)
        assert not any(p.requires_grad for p in net.parameters())
    assert contrasts == sorted(contrasts)
    assert contrasts[-1] > 100


def test_the_same_from_the_same_seed(shades):
    few = shades.select(torch.arange(64))
    torch.manual_seed(7)
    state = torch.random.get_rng_state()
    one, same, other = (train_acgan(few, epochs=1, width=0.05, batch_size=16, seed=seed)[0] for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.embed.weight, other.embed.weight)
    assert torch.equal(drawn_by(one, per_class=3).images, drawn_by(same, per_class=3).images)
    assert not torch.equal(drawn_by(one, per_class=3).images, drawn_by(one, per_class=3, seed=1).images)


def test_to_disk_and_back(generators, tmp_path):
    folder = save_generators(generators, tmp_path / "gan")
    assert sorted(file.name for file in folder.iterdir()) == [
        "acgan.json",
        *(f"epoch-{k}.safetensors" for k in (1, 2, 3)),
    ]
    again = load_generators(folder)
    for a, b in zip(generators, again, strict=True):
        assert torch.equal(drawn_by(a, per_class=4).images, drawn_by(b, per_class=4).images)
        assert a.classes == b.classes
    config = folder / "acgan.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "format": 9}))
    with pytest.raises(ValueError, match="this version reads format 1"):
        load_generators(folder)
    with pytest.raises(FileNotFoundError, match="holds no generators"):
        load_generators(tmp_path)
    with pytest.raises(ValueError, match="no generators to save"):
        save_generators([], tmp_path)


def test_the_sheet(generators):
    axes = Figure().add_subplot()
    sheet(axes, generators, each=2)
    [image] = axes.get_images()
    pixels = image.get_array()
    assert pixels.shape == (3 * 28, 4 * 28)
    drawn = drawn_by(generators[2], per_class=2).images
    assert (pixels[56:, 28:56] == drawn[2, 0].numpy()).all()  # the second dark one, beside the first
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["dark", "light"]


def test_other_sizes_are_refused():
    data = Stored(torch.zeros(2, 3, 32, 32, dtype=torch.uint8), torch.tensor([0, 1]), ("a", "b"))
    with pytest.raises(ValueError, match="draws images of 28×28, but those of the data are 32×32"):
        train_acgan(data)
    with pytest.raises(ValueError, match="epochs=0"):
        train_acgan(Stored(torch.zeros(2, 1, 28, 28, dtype=torch.uint8), torch.tensor([0, 1]), ("a", "b")), epochs=0)
