"""A folder of images: what its folders mean, what is skipped and why, and every kind of file at once."""

import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.data.pictures import SIZE, bytes_of, eight_bits, numbers, png, sixteen_bits
from torchcaps.data import _room, _tree, load, look_through
from torchcaps.data import folder as folder_module
from torchcaps.data._files import digest_of
from torchcaps.data.resize import fitted


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for label, name in enumerate(("cat", "dog", "owl")):
        (tmp_path / name).mkdir()
        for k in range(30):
            size = (int(rng.integers(5, 60)), int(rng.integers(5, 60)), 3)
            pixels = np.full(size, 80 * label + 10, np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{k}.{('png', 'jpg', 'JPEG')[k % 3]}")
    return tmp_path


def into(folder, *parts):
    """Move all classes into a part, or share them out among several by their files' numbers."""
    classes = [path for path in folder.iterdir() if path.is_dir()]
    for path in classes:
        for k, file in enumerate(sorted(path.iterdir())):
            target = folder / parts[k % len(parts)] / path.name
            target.mkdir(parents=True, exist_ok=True)
            file.rename(target / file.name)
        path.rmdir()


def test_classes_sizes_and_colours(folder):
    train, test = (load(folder, part, image_size=16, fit="squash") for part in ("train", "test"))
    assert train.classes == test.classes == ("cat", "dog", "owl")
    assert len(train) + len(test) == 90
    assert len(test) in range(10, 27)
    assert train.image_shape == (3, 16, 16)
    batch = train.batch(torch.arange(len(train)))
    assert torch.allclose(batch.images.mean((1, 2, 3)), (80 * train.labels + 10) / 255, atol=0.02)
    assert load(folder, "train", in_chans=1).image_shape == (1, 64, 64)
    judge, rest = (load(folder, part, validation=0.3) for part in ("validation", "train"))
    assert len(judge) + len(rest) == len(train)


def test_training_and_validation_are_named_once_looked_through(folder):
    own = look_through(folder)
    assert own.parts(0.1)["test"] == own.parts(0.5)["test"]
    with pytest.raises(ValueError, match="split='val' is not allowed: choose one of 'train', 'validation', 'test'"):
        own.load("val")


def test_parts_that_the_folder_has(folder):
    into(folder, "train", "Val", "test")
    counts = {part: len(load(folder, part)) for part in ("train", "validation", "test")}
    assert counts == {"train": 30, "validation": 30, "test": 30}
    assert all(f"{part}/" in item.name for item in look_through(folder).items for part in [item.name.split("/")[0]])


@pytest.mark.parametrize(("there", "absent"), [("train", "test"), ("test", "train")])
def test_a_missing_part_is_made_only_when_asked(folder, there, absent):
    into(folder, there)
    assert len(load(folder, there)) == 90
    with pytest.raises(ValueError, match=f"has a part for {there} and none for {absent}: .* make_missing=True"):
        load(folder, absent)
    train, test = (look_through(folder, make_missing=True).parts(0.0)[part] for part in ("train", "test"))
    assert len(train) + len(test) == 90
    assert 5 < len(test) < 40
    assert not {item.digest for item in train} & {item.digest for item in test}
    assert look_through(folder).classes == ("cat", "dog", "owl")


def test_classes_are_numbered_once_over_all_parts(folder):
    into(folder, "train", "test")
    shutil.rmtree(folder / "train" / "cat")
    shutil.rmtree(folder / "test" / "owl")
    train, test = load(folder, "train"), load(folder, "test")
    assert train.classes == test.classes == ("cat", "dog", "owl")
    assert sorted(train.labels.unique().tolist()) == [1, 2]
    assert sorted(test.labels.unique().tolist()) == [0, 1]


def test_images_of_another_part_are_left_out_of_training(folder):
    into(folder, "train", "val", "test")
    for part in ("val", "test"):
        for k in range(4):
            file = sorted((folder / part / "cat").iterdir())[k]
            shutil.copy(file, folder / "train" / "dog" / f"copy {part} {k}{file.suffix}")
    own = look_through(folder)
    parts = {part: {item.digest for item in found} for part, found in own.parts().items()}
    assert not parts["train"] & (parts["test"] | parts["validation"])
    assert not parts["test"] & parts["validation"]
    assert own.skipped_by_reason() == "8 skipped: 8 copies of images to judge by"


def test_a_class_may_be_called_train(folder):
    """Railways: a folder called train with images right in it, beside other classes."""
    (folder / "cat").rename(folder / "train")
    assert load(folder).classes == ("dog", "owl", "train")
    (folder / "train" / "steam").mkdir()
    for file in list((folder / "train").glob("*.png")):
        file.rename(folder / "train" / "steam" / file.name)
    with pytest.raises(ValueError, match=r"has train/ with folders in it, .* but also dog/, owl/"):
        load(folder)


def test_parts_without_classes_are_named(folder):
    shutil.rmtree(folder / "owl")
    (folder / "cat").rename(folder / "train")
    (folder / "dog").rename(folder / "test")
    with pytest.raises(ValueError, match="has images in test/, train/, but no classes: expected a sub-folder a class"):
        load(folder)


def test_test_images_without_classes_are_no_test_part(folder):
    """As competitions ship them."""
    into(folder, "train")
    (folder / "test").mkdir()
    shutil.copy(next((folder / "train" / "cat").iterdir()), folder / "test" / "unknown.png")
    own = look_through(folder)
    assert own.skipped_by_reason() == "1 skipped: 1 in no class's folder"
    with pytest.raises(ValueError, match="has a part for train and none for test"):
        own.load("test")


def test_what_is_no_class(folder):
    for name in (".git", "__MACOSX", "empty", "docs", ".hidden"):
        (folder / name).mkdir()
    for name in (".git", "__MACOSX", ".hidden"):
        shutil.copy(folder / "cat" / "0.png", folder / name / "0.png")
    (folder / "docs" / "notes.txt").write_text("hello")
    (folder / "docs" / "IMG_1.HEIC").write_bytes(b"\0\0\0\x18ftypheic")
    shutil.copy(folder / "cat" / "0.png", folder / "stray.png")
    (folder / "cat" / ".DS_Store").write_bytes(b"x")
    (folder / "dog" / "more").symlink_to(folder / "cat")
    (folder / "owl" / ".thumbnails").mkdir()
    shutil.copy(folder / "cat" / "0.png", folder / "owl" / ".thumbnails" / "0.png")
    (folder / "owl" / "barn").mkdir()
    shutil.copy(folder / "cat" / "0.png", folder / "owl" / "barn" / "0.png")
    own = look_through(folder)
    assert own.classes == ("cat", "dog", "owl")
    assert own.counts(own.items) == {"cat": 30, "dog": 30, "owl": 31}
    assert not any(".thumbnails" in item.name or "more" in item.name for item in own.items)
    assert {(skip.name, skip.reason) for skip in own.skipped} == {
        ("stray.png", "in no class's folder"),
        ("docs/notes.txt", "not PNG, JPEG, WebP, BMP, TIFF or GIF"),
        ("docs/IMG_1.HEIC", "not PNG, JPEG, WebP, BMP, TIFF or GIF"),
        ("dog/more", "links to folders"),
    }


def test_a_folder_of_everything(folder, tmp_path):
    """Each file is read as it is alone, or named with a reason; strict, the first trouble ends it."""
    rng, odd = np.random.default_rng(1), folder / "odd\nname"
    odd.mkdir()
    good = sixteen_bits(rng) | {f"b {name}": pair for name, pair in eight_bits(rng).items()}
    for name, (data, _) in good.items():
        (odd / f"{name}\n{name}").write_bytes(data)
    damaged = bytes_of(Image.fromarray(rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)), "JPEG")[:900]
    (odd / "corrupt.jpg").write_bytes(damaged)
    (odd / "bomb.png").write_bytes(png(numbers(rng, 1), 0, size=(60_000, 60_000)))
    (odd / "float.tif").write_bytes(bytes_of(Image.fromarray(np.full(SIZE, 7, np.float32)), "TIFF"))
    os.mkfifo(odd / "fifo.png")
    (odd / "zero.png").symlink_to("/dev/zero")
    (odd / "dangling.png").symlink_to("nowhere.png")
    own = look_through(folder, image_size=12)
    items = [item for item in own.items if item.label == own.classes.index("odd\nname")]
    images, kept = own.read(items)
    found = {item.name.split("/")[1]: image for item, image in zip(kept, images, strict=True)}
    assert set(found) == {f"{name}\n{name}" for name in good}
    for name, (_, pixels) in good.items():
        expected = np.moveaxis(np.asarray(fitted(Image.fromarray(pixels), (12, 12))), -1, 0)
        assert np.array_equal(found[f"{name}\n{name}"].numpy(), expected)
    assert {skip.name.split("/")[1]: skip.reason for skip in own.skipped} == {
        "corrupt.jpg": "damaged",
        "bomb.png": "too many pixels",
        "float.tif": "floats outside 0 to 1",
        "fifo.png": "a FIFO, socket or device",
        "zero.png": "a FIFO, socket or device",
        "dangling.png": "a link to nothing",
    }
    assert own.complaint().count("\n") == 6  # names with line breaks are quoted
    bad = {skip.name for skip in own.skipped}
    assert [item.name for item in own.sound()] == [item.name for item in own.items if item.name not in bad]
    assert len(own.sound()) == 90 + len(good)
    with pytest.warns(UserWarning, match=r"skipped: .*2 a FIFO, socket or device.*\n.*'odd\\nname/"):
        load(folder, "train")
    with pytest.raises(ValueError, match=r"skipped: .*2 a FIFO"):
        load(folder, "train", strict=True)


def test_contents_are_told_by_their_sha256(tmp_path):
    """By which an image keeps its part for ever: another checksum would move all of them."""
    (tmp_path / "cat").mkdir()
    file = tmp_path / "cat" / "a.png"
    file.write_bytes(bytes_of(Image.new("L", (3, 2), 9), "PNG"))
    [item] = look_through(tmp_path).items
    assert item.digest == digest_of(file) == hashlib.sha256(file.read_bytes()).digest()


@pytest.mark.parametrize("count", [1, 4, 5, 8])
def test_all_are_read_whatever_is_left_for_the_last_chunk(tmp_path, monkeypatch, count):
    monkeypatch.setattr("torchcaps.data.folder.CHUNK", 4)
    (tmp_path / "cat").mkdir()
    for k in range(count):
        Image.new("L", (2, 2), 20 * k).save(tmp_path / "cat" / f"{k}.png")
    own = look_through(tmp_path, image_size=2, in_chans=1)
    images, kept = own.read(own.items)
    assert images[:, 0, 0, 0].tolist() == [20 * k for k in range(count)]
    assert kept == own.items


def test_5000_files(tmp_path):
    said = []
    whole = bytes_of(Image.new("L", (4, 1)), "BMP")
    for k in range(5000):
        target = tmp_path / f"{k % 4}"
        target.mkdir(exist_ok=True)
        (target / f"{k}.bmp").write_bytes(whole[:-4] + k.to_bytes(4, "little"))
    own = look_through(tmp_path, image_size=4, in_chans=1, report=said.append, fit="squash")
    train, test = own.load("train"), own.load("test")
    assert len(train) + len(test) == 5000
    values = {bytes(image[0, 0].tolist()) for data in (train, test) for image in data.images}
    assert values == {k.to_bytes(4, "little") for k in range(5000)}
    assert any("files looked at" in line for line in said)
    assert any(" of " in line and "images read" in line for line in said)


def test_what_does_not_fit_memory_is_mapped(folder, tmp_path, monkeypatch):
    inside = load(folder, "train")
    monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(_room, "memory", lambda: 1000)
    outside = load(folder, "train")
    assert torch.equal(inside.images, outside.images)
    assert str(tmp_path / "cache") in Path("/proc/self/maps").read_text()
    assert list((tmp_path / "cache").iterdir()) == []  # the file has no name and goes with the process
    monkeypatch.setattr(_room, "MOST", 0)
    with pytest.raises(OSError, match=r"take .* GB, which fits neither into memory nor into .*--image-size"):
        _room.room_for((2**40, 3, 64, 64))


def test_mistakes_are_named(tmp_path, no_shape_checks):
    with pytest.raises(ValueError, match="holds no images: expected a sub-folder a class with files of PNG"):
        load(tmp_path)
    for option, rule in (("in_chans=2", "1 for grey"), ("background='red'", "'white', 'black'"), ("fit='x'", "'pad'")):
        name, _, value = option.partition("=")
        with pytest.raises(ValueError, match=f"{option} is not allowed: .*{rule}"):
            load(tmp_path, **{name: eval(value)})
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "a.png").write_bytes(b"\x89PNG\r\n\x1a\nnonsense")
    part = next(name for name, items in look_through(tmp_path).parts().items() if items)
    with pytest.raises(ValueError, match=r"none of 1 images can be read\n.*1 damaged"):
        load(tmp_path, part)
    other = "test" if part == "train" else "train"
    with pytest.raises(ValueError, match=f"has 1 images, and none of them is for {other}: add images"):
        load(tmp_path, other)


def test_what_may_not_be_opened_is_skipped_and_told(folder, monkeypatch):
    """Root may open everything, so the refusals are made up: of a file's contents, of its picture, of a folder."""

    def refuse(name, real):
        def opened(file, *rest, **options):
            if Path(file).name == name:
                raise PermissionError(13, "Permission denied", str(file))
            return real(file, *rest, **options)

        return opened

    monkeypatch.setattr(_tree, "digest_of", refuse("1.jpg", digest_of))
    monkeypatch.setattr(folder_module, "read_sized", refuse("2.JPEG", folder_module.read_sized))
    monkeypatch.setattr(os, "scandir", refuse("closed", os.scandir))
    (folder / "owl" / "closed").mkdir()
    own = look_through(folder)
    own.read(own.items)
    told = {skipped.name for skipped in own.skipped if skipped.reason == "cannot be opened"}
    kinds = ("cat", "dog", "owl")
    assert told == {f"{kind}/{file}" for kind in kinds for file in ("1.jpg", "2.JPEG")} | {"owl/closed"}
    assert all("Permission denied" in skipped.detail for skipped in own.skipped if skipped.reason == "cannot be opened")
    with pytest.raises(FileNotFoundError, match="there is no folder nowhere"):
        folder_module.Folder(Path("nowhere"))
