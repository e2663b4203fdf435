"""CIFAR-100 from pictures and from pickles: the same files, in the same order, or an error that says what is wrong."""

import hashlib
import io
import pickle
import tarfile

import numpy as np
import pytest
from PIL import Image

from torchcaps.data import DataUnavailableError, cifar100, obtain
from torchcaps.data.cifar100 import CIFAR100, RECORD, Given, load_cifar100

KINDS = ("apple", "bear", "cloud")
TINY = np.random.default_rng(0).integers(0, 256, (18, 3, 32, 32), dtype=np.uint8)
LABELS = [k % 3 for k in range(18)]
PARTS = {"train": range(12), "test": range(12, 18)}


def expected(split):
    whole = [bytes([LABELS[k]]) + TINY[k].tobytes() for k in PARTS[split]]
    return b"".join(sorted(whole, key=lambda record: hashlib.sha256(record).digest()))


def png(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels.transpose(1, 2, 0)).save(out, "PNG")
    return out.getvalue()


def pictures():
    return {f"{split}/{KINDS[LABELS[k]]}/{k:03}.png": png(TINY[k]) for split in PARTS for k in PARTS[split]}


def batches():
    rows = {split: {b"data": TINY[list(ks)].reshape(-1, 3072), b"fine_labels": [LABELS[k] for k in ks]}
            for split, ks in PARTS.items()}  # fmt: skip
    return {split: pickle.dumps(row, protocol=2) for split, row in rows.items()}


def laid(tmp_path, files, how):
    if how == "directory":
        for name, data in files.items():
            path = tmp_path / "given" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return tmp_path / "given"
    with tarfile.open(tmp_path / "given.tar", "w") as tar:
        for name, data in [("README.md", b"read me"), *reversed(files.items())]:
            info = tarfile.TarInfo(f"./all/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return tmp_path / "given.tar"


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """The recipe of the tiny set, which no web has."""
    monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path / "cache"))
    sums = {name: hashlib.md5(data).hexdigest() for name, data in batches().items()}
    monkeypatch.setattr(cifar100, "BATCHES", sums)
    files = {f"{split}.bin": hashlib.sha256(expected(split)).hexdigest() for split in PARTS}
    recipe = CIFAR100._replace(files=files, sources=())
    monkeypatch.setattr(cifar100, "CIFAR100", recipe)
    return recipe


@pytest.mark.parametrize("how", ["directory", "tar"])
@pytest.mark.parametrize("files", [pictures, batches])
def test_every_source_gives_the_same_files(how, files, tiny, tmp_path):
    found = obtain(tiny, laid(tmp_path, files(), how))
    assert found == {f"{split}.bin": expected(split) for split in PARTS}
    data = load_cifar100("test")
    assert (len(data), data.image_shape, len(data.classes)) == (6, (3, 32, 32), 100)
    first = expected("test")[:RECORD]
    assert data.labels[0].item() == first[0]
    assert data.images[0].numpy().tobytes() == first[1:]


def _other_pixel(files):
    name = next(iter(files))
    files[name] = png(TINY[0] ^ 1)


def _moved(files):
    files["train/bear/000.png"] = files.pop("train/apple/000.png")


def _torn(files):
    files["train/apple/000.png"] = files["train/apple/000.png"][:60]


def _grey(files):
    files["train/apple/000.png"] = _saved(Image.new("L", (32, 32)))


def _saved(image):
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_other_pixel, "train.bin is damaged or another file"),
        (_moved, "train.bin is damaged or another file"),
        (lambda files: files.pop("test/apple/012.png"), "test.bin is damaged or another file"),
        (_torn, "train/apple/000.png cannot be read"),
        (_grey, "it is L of 32×32, and should be RGB of 32×32"),
        (lambda files: files.clear(), "train is not there"),
        (lambda files: files.update({f"train/k{k}/0.png": png(TINY[0]) for k in range(98)}), "it has 101 classes"),
    ],
)
@pytest.mark.parametrize("how", ["directory", "tar"])
def test_what_is_not_the_whole_set_is_refused(spoil, said, how, tiny, tmp_path):
    files = pictures()
    spoil(files)
    (tmp_path / "given").mkdir()
    with pytest.raises(DataUnavailableError, match=said):
        obtain(tiny, laid(tmp_path, files, how))
    assert not list((tmp_path / "cache" / "cifar100").glob("*.bin"))


def test_a_wrong_batch_and_a_truncated_archive_are_named(tiny, tmp_path):
    with pytest.raises(DataUnavailableError, match="test is damaged or another file"):
        obtain(tiny, laid(tmp_path, {**batches(), "test": batches()["train"]}, "directory"))
    whole = laid(tmp_path, pictures(), "tar").read_bytes()
    (tmp_path / "half.tar").write_bytes(b"\0" * 3 + whole[: len(whole) // 2])
    with pytest.raises(DataUnavailableError, match="truncated or damaged"):
        obtain(tiny, tmp_path / "half.tar")
    with pytest.raises(DataUnavailableError, match="no such file or directory"):
        obtain(tiny, tmp_path / "nowhere")


def test_progress_is_told(monkeypatch, tmp_path):
    said = []
    monkeypatch.setattr(cifar100, "TOLD", 8)
    Given(laid(tmp_path, pictures(), "tar"), said.append).fetch([])
    assert said == ["8 pictures read", "16 pictures read"]
