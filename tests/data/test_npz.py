"""NumPy archives: every way to write images and labels, honest parts, and a clear word about what is wrong."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch

from torchcaps.data import _npy, load, look_through, npz

RNG = np.random.default_rng(0)


@pytest.fixture
def archive(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "d.npz", **arrays)
        return tmp_path / "d.npz"

    return write


def noise(n, *shape):
    return RNG.integers(0, 256, (n, *(shape or (6, 6)))).astype(np.uint8)


def all_of(file, **options):
    own = look_through(file, **options)
    parts = own.parts()
    return {part: own.read(items)[0] for part, items in parts.items() if items}, parts, own


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3), (3, 9, 7), (9, 7, 1), (9, 7, 4)], ids=str)
@pytest.mark.parametrize("kind", ["bytes", "floats", "words", "long", "bool"])
def test_shapes_and_kinds_of_numbers(archive, shape, kind):
    x = noise(8, *shape)
    off = RNG.uniform(-0.45, 0.45, x.shape)  # as numbers lie between two bytes, and nearer to one
    given = {
        "bytes": x,
        "floats": ((x + off) / 255).clip(0, 1),
        "words": ((x + off) * 257).round().clip(0, 65535).astype(np.uint16),
        "long": x.astype(np.int64),
        "bool": x > 100,
    }[kind]
    expected = (x > 100) * np.uint8(255) if kind == "bool" else x
    data = load(archive(x_train=given, y_train=np.array(["b", "a"] * 4)))
    assert data.classes == ("a", "b")
    assert data.labels.tolist() == [1, 0] * 4
    expected = expected[:, None] if len(shape) == 2 else expected
    expected = np.moveaxis(expected, -1, 1) if shape[-1] in (1, 3, 4) else expected
    assert torch.equal(data.images, torch.from_numpy(expected.copy()))


@pytest.mark.parametrize("shape", [(3, 5, 4), (1, 5, 3), (3, 4, 1)], ids=str)
def test_narrow_images_with_channels_first_are_not_turned(archive, shape):
    """Their width could be taken for channels too; 1 or 3 in front of it settles that."""
    x = noise(4, *shape)
    data = load(archive(x_train=x, y_train=[0, 1, 0, 1]))
    assert data.image_shape == shape
    assert np.array_equal(data.images.numpy(), x)


@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("images", "labels"), ("x", "labels")])
def test_arrays_without_parts_are_parted_by_contents(archive, x, y):
    images, labels = noise(200), RNG.integers(0, 3, 200)
    images[100:110] = images[:10]  # copies
    found, parts, own = all_of(archive(**{x: images, y: labels}))
    assert sum(map(len, found.values())) == 200
    assert 20 < len(found["test"]) < 60
    seen = {part: {image.numpy().tobytes() for image in data} for part, data in found.items()}
    assert not seen["train"] & seen["test"]
    where = {item.name: (part, own.classes[item.label]) for part, items in parts.items() for item in items}
    assert all(where[f"{x}[{k}]"][0] == where[f"{x}[{k + 100}]"][0] for k in range(10))
    assert all(where[f"{x}[{k}]"][1] == str(labels[k]) for k in range(200))
    order = RNG.permutation(200)
    _, again, _ = all_of(archive(**{x: np.concatenate([noise(50), images[order]]), y: np.zeros(250, int)}))
    moved = {item.digest: part for part, items in again.items() for item in items}
    assert all(moved[item.digest] == part for part, items in parts.items() for item in items)


def test_parts_of_its_own_and_classes_numbered_once(archive):
    file = archive(x_train=noise(6), y_train=[0, 1] * 3, x_val=noise(2), y_val=[[1], [3]],
                   x_test=noise(4), y_test=[2, 3, 3, 2])  # fmt: skip
    train, judge, test = (load(file, part) for part in ("train", "validation", "test"))
    assert train.classes == judge.classes == test.classes == ("0", "1", "2", "3")
    assert (train.labels.tolist(), judge.labels.tolist(), test.labels.tolist()) == ([0, 1] * 3, [1, 3], [2, 3, 3, 2])


def test_a_missing_part_is_made_only_when_asked(archive):
    file = archive(images_train=noise(100), labels_train=np.arange(100) % 2)
    with pytest.raises(ValueError, match=r"d\.npz has a part for train and none for test: .*make_missing=True"):
        load(file, "test")
    assert len(load(file, "train")) == 100
    assert len(load(file, "train", make_missing=True)) + len(load(file, "test", make_missing=True)) == 100


LABELS = {
    "numbers": (np.array([2, 0, 2]), ("0", "2"), [1, 0, 1]),
    "floats": (np.array([2.0, 0.0, 2.0]), ("0", "2"), [1, 0, 1]),
    "a column": (np.array([[2], [0], [2]], np.uint8), ("0", "2"), [1, 0, 1]),
    "one-hot": (np.eye(4)[[2, 0, 2]], ("0", "1", "2", "3"), [2, 0, 2]),
    "one-hot bool": (np.eye(4)[[2, 0, 2]] > 0, ("0", "1", "2", "3"), [2, 0, 2]),
    "words": (np.array(["cat", "owl", "cat"]), ("cat", "owl"), [0, 1, 0]),
    "byte words": (np.array([b"cat", b"owl", b"cat"]), ("cat", "owl"), [0, 1, 0]),
    "byte words with accents": (np.array(["thé".encode(), "âne".encode(), b"cat"]), ("cat", "thé", "âne"), [1, 2, 0]),
    "truth": (np.array([True, False, True]), ("False", "True"), [1, 0, 1]),
    "ten and two": (np.array([10, 2, 10]), ("2", "10"), [1, 0, 1]),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_as_people_write_them(archive, name):
    given, classes, numbers = LABELS[name]
    data = load(archive(x_train=noise(3), y_train=given))
    assert data.classes == classes
    assert data.labels.tolist() == numbers


X = noise(3)
WRONG = {
    "NaN": ({"x": X, "y": [0, np.nan, 1]}, r"y\[1\] is nan, which is no class: .* leave out"),
    "fractions": ({"x": X, "y": [0, 0.5, 1]}, r"y\[1\] is 0\.5"),
    "infinite": ({"x": X, "y": [0, 1, np.inf]}, r"y\[2\] is inf"),
    "negative": ({"x": X, "y": [0, 1, -1]}, r"y\[2\] is -1, which is no class"),
    "empty word": ({"x": X, "y": ["a", "", "b"]}, r"y\[1\] is ''"),
    "not one-hot": ({"x": X, "y": np.ones((3, 2))}, "not a single 1 in each row: it is not one-hot"),
    "complex": ({"x": X, "y": np.zeros(3, complex)}, "holds complex128: whole numbers or words"),
    "dates": ({"x": X, "y": np.zeros(3, "M8[D]")}, "whole numbers or words"),
    "a scalar label": ({"x": X, "y": 3}, r"y has the shape \(\)"),
    "a scalar image": ({"x": 3, "y": [1]}, r"x has the shape \(\): \(n, h, w\)"),
    "no labels": ({"x": X}, "has x, but no labels for it: y or labels is needed"),
    "no labels for one": ({"x_train": X, "y_train": [0, 1, 0], "x_test": X}, "has x_test, but no labels"),
    "no images": ({"pictures": X}, "has pictures: for the images x or images, or x_train and x_test, is needed"),
    "nothing": ({}, "has nothing in it"),
    "too few labels": ({"x": X, "y": [0, 1]}, "x has 3 images, but there are 2 labels"),
    "empty": ({"x": X[:0], "y": []}, r"shape \(0, "),
    "empty images": ({"x": np.zeros((3, 0, 4), np.uint8), "y": [0, 1, 0]}, r"shape \(3, 1, 0, 4\)"),
    "flat": ({"x": np.zeros((2, 3)), "y": [0, 1]}, r"shape \(2, 3\): \(n, h, w\)"),
    "floats to 7": ({"x": np.full((2, 3, 3), 7.0), "y": [0, 1]}, r"from 7\.0 to 7\.0 of float64: bytes from 0 to 255"),
    "NaN pixels": ({"x": np.full((2, 3, 3), np.nan), "y": [0, 1]}, "from nan to nan"),
    "whole numbers to 1": ({"x": np.ones((2, 3, 3), int), "y": [0, 1]}, "from 1 to 1 of int64"),
    "negative pixels": ({"x": np.full((2, 3, 3), -1), "y": [0, 1]}, "from -1 to -1"),
    "words for pixels": ({"x": np.full((2, 3, 3), "x"), "y": [0, 1]}, "images are numbers"),
    "two shapes": (
        {"x_train": X, "y_train": [0, 1, 0], "x_test": noise(2, 5, 5), "y_test": [0, 1]},
        "images of different shapes",
    ),
    "two kinds": ({"x_train": X, "y_train": [0, 1, 0], "x_test": X, "y_test": list("abc")}, "do not go together"),
    "parts and none": ({"x": X, "y": [0, 1, 0], "x_test": X, "y_test": [0, 1, 0]}, "has x beside x_test: name its"),
    "twice": ({"x": X, "images": X, "y": [0, 1, 0]}, "has both x and images"),
    "pickled": ({"x": np.array([{"a": 1}], dtype=object), "y": np.zeros(1)}, "allow_pickle"),
    "pickled labels": ({"x": X, "y": np.array([0, None, 1], dtype=object)}, "allow_pickle"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(archive, name, no_shape_checks):
    arrays, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        load(archive(**arrays))


HEADERS = {
    "more than there is": (
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000, 28, 28), }",
        "but 12 are",
    ),
    "less than there is": ("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 2), }", "4 bytes, but 12 are"),
    "negative": ("{'descr': '|u1', 'fortran_order': False, 'shape': (-3, 2, 2), }", "which no array has"),
    "nonsense": ("{'descr': 'x', 'shape': 3}", "is no array of NumPy's"),
    "code": ("__import__('os').system('true')", "is no array of NumPy's"),
    "deep": ("(" * 5000, "is no array of NumPy's"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_absurd_headers(tmp_path, name):
    header, message = HEADERS[name]
    text = header.encode().ljust(118 + 64 * (len(header) // 64), b" ") + b"\n"
    stream = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(12)
    labels = io.BytesIO()
    np.save(labels, np.arange(3))
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as file:
        file.writestr("x.npy", stream)
        file.writestr("y.npy", labels.getvalue())
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "d.npz")


def test_damaged_files(tmp_path, archive, monkeypatch):
    file = tmp_path / "d.npz"
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load(file)
    file.write_bytes(b"PK nonsense")
    with pytest.raises(ValueError, match="is not a NumPy archive"):
        load(file)
    whole = bytearray(archive(x=noise(50), y=np.arange(50) % 2).read_bytes())
    whole[200:400] = bytes(200)
    file.write_bytes(whole)
    with pytest.raises(ValueError, match=r"d\.npz: x is .*: Bad CRC"):
        load(file)
    archive(x=noise(50), y=np.arange(50) % 2)
    monkeypatch.setattr(_npy, "memory", lambda: 100)
    with pytest.raises(ValueError, match="more than fits into memory"):
        load(file)
    archive(x=np.zeros((2, 3, 3)), y=np.zeros(2, np.uint8))  # 18 numbers of 8 bytes
    with pytest.raises(ValueError, match=r"x says .* 3, 3\) of float64, .* more than fits into memory"):
        load(file)


def test_what_is_damaged_behind_its_header_is_named(tmp_path, archive):
    """A checksum is known to be wrong at the end only; and a list of contents may be nonsense."""
    file = archive(x=noise(5000), y=np.arange(5000) % 2)
    whole = bytearray(file.read_bytes())
    whole[100_000] ^= 1
    file.write_bytes(whole)
    with pytest.raises(ValueError, match=r"d\.npz: x is damaged: Bad CRC"):
        load(file)
    file.write_bytes(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 46, 0, 0))
    with pytest.raises(ValueError, match=r"d\.npz is not a NumPy archive: "):
        load(file)


def test_a_later_version_of_the_format_is_not_guessed_at(tmp_path):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as file:
        for name, array in {"x": noise(2), "y": np.arange(2)}.items():
            with file.open(f"{name}.npy", "w") as stream:
                np.lib.format.write_array(stream, array, version=(3, 0))
    with pytest.raises(ValueError, match=r"no array of NumPy's: version \(3, 0\) of the format is not read"):
        load(tmp_path / "d.npz")


def packed(file, **arrays):
    """As np.savez_compressed writes them, but each from pieces, so that none is ever whole."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (shape, kind, piece) in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array_header_1_0(
                    stream, {"descr": kind, "fortran_order": False, "shape": shape}
                )  # fmt: skip
                left = int(np.prod(shape)) * np.dtype(kind).itemsize
                while left > 0:
                    stream.write(piece[:left])
                    left -= len(piece)
    return file


def test_what_is_nearly_nothing_in_the_file_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_npy, "SWOLLEN", 1 << 20)
    zeros = ((50, 200, 200), "|u1", bytes(1 << 16)), ((50,), "|u1", bytes([0, 1] * 25))
    file = packed(tmp_path / "d.npz", x=zeros[0], y=zeros[1])
    read = []
    monkeypatch.setattr(np.lib.format, "read_array", lambda *_, **__: read.append(1))
    with pytest.raises(ValueError, match=r"d\.npz: x unpacks from [\d,]+ to 2,000,128 bytes, \d+ times as many"):
        _npy.Arrays(file)["x"]
    assert not read
    monkeypatch.setattr(_npy, "SWOLLEN", 1 << 21)
    _npy.Arrays(file)["x"]
    assert read


def test_a_header_that_says_it_is_endless_is_not_read(tmp_path):
    start = b"\x93NUMPY\x02\x00" + (40 << 20).to_bytes(4, "little") + b"{"
    with zipfile.ZipFile(tmp_path / "d.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", start + b" " * (40 << 20))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"x is no array of NumPy's: its header says that it is 41,943,040 bytes long"):
        _npy.Arrays(tmp_path / "d.npz")["x"]
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", [np.float64, np.uint16], ids=str)
def test_numbers_become_bytes_in_little_more_than_both_take(kind):
    images = np.ones((100, 1, 200, 200), kind)
    tracemalloc.start()
    found = npz.as_bytes(images, "x")
    assert tracemalloc.get_traced_memory()[1] < found.nbytes + 4 * npz.PIECE
    tracemalloc.stop()


def test_what_the_decompressor_complains_of_is_named(tmp_path):
    """One bit of the length of a block that deflate stores as it is, as it does noise."""
    np.savez_compressed(tmp_path / "d.npz", x=noise(5000), y=np.arange(5000) % 2)
    whole = bytearray((tmp_path / "d.npz").read_bytes())
    blocks = (k for k in range(20_000, len(whole) - 4) if whole[k] ^ whole[k + 2] == whole[k + 1] ^ whole[k + 3] == 255)
    whole[next(k for k in blocks if whole[k - 1] == 0)] ^= 1
    (tmp_path / "d.npz").write_bytes(whole)
    with pytest.raises(
        ValueError, match=r"d\.npz: x is damaged: Error -3 while decompressing data: invalid stored block"
    ):
        load(tmp_path / "d.npz")


def test_an_encrypted_array_is_named(tmp_path, archive):
    whole = bytearray(archive(x=noise(4), y=np.arange(4) % 2).read_bytes())
    for at in (6, whole.rindex(b"PK\1\2", 0, whole.index(b"y.npy", whole.index(b"PK\1\2"))) + 8):
        whole[at] |= 1
    whole[whole.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "d.npz").write_bytes(whole)
    with pytest.raises(ValueError, match=r"d\.npz: [xy] is damaged: .*encrypted"):
        load(tmp_path / "d.npz")
