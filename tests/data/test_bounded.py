"""Files that are damaged, or unpack to more than any data set has: named, soon, and in little memory."""

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zlib

import numpy as np
import pytest
from scipy.io import savemat

from tests.data.test_sources import GOOD, Fake, recipe, tar
from torchcaps.data import DataUnavailableError, _bounded, _matlab, load, obtain
from torchcaps.data._bounded import entries, members, unpacked
from torchcaps.data._sources import Directory, Web

NOISE = np.random.default_rng(0).integers(0, 256, 3000, dtype=np.uint8).tobytes()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path / "cache"))


def every_damage(data, count=150):
    """One bit changed, at places all over."""
    for k in np.linspace(0, 8 * len(data) - 1, count).astype(int).tolist():
        damaged = bytearray(data)
        damaged[k // 8] ^= 1 << k % 8
        yield bytes(damaged)


def complaints(read, damages):
    """What is said of each damaged file that is not read all the same."""
    found = []
    for damaged in damages:
        try:
            read(damaged)
        except ValueError as error:
            found.append(str(error))
    return found


def test_every_bit_of_a_gz_may_be_wrong():
    text = b"capsules " * 200 + NOISE[:200]
    found = complaints(lambda data: unpacked(io.BytesIO(data), "a.gz"), every_damage(gzip.compress(text)))
    assert len(found) > 100
    assert all(said.startswith("a.gz is truncated or damaged: ") for said in found)


def test_the_next_mirror_is_asked_whatever_the_first_one_sends(cache, tmp_path, monkeypatch):
    """As a checksum is wrong, and as a decompressor fails in any of its ways."""
    whole = gzip.compress(GOOD["b"] + NOISE)
    for k, damaged in enumerate(every_damage(whole, 60)):
        monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path / f"cache {k}"))
        (tmp_path / "a").write_bytes(GOOD["a"])
        (tmp_path / "b.gz").write_bytes(damaged)
        good = Fake(GOOD)
        assert obtain(recipe(Directory(tmp_path), good)) == GOOD
        assert good.asked == 1


def test_a_damaged_download_is_followed_by_the_next_mirror(cache, monkeypatch):
    def retrieve(url, *, path, **_):
        file = _bounded.Path(path, "download")
        file.write_bytes(b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 40)  # a sound header, and then no block there is
        return str(file)

    monkeypatch.setattr("pooch.retrieve", retrieve)
    assert obtain(recipe(Web("https://here/", ".gz"), Fake(GOOD))) == GOOD
    with pytest.raises(DataUnavailableError, match=r"https://here/: a\.gz is truncated or damaged: Error -3"):
        obtain(recipe(Web("https://here/", ".gz"))._replace(name="other"))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes], ids=lambda pack: pack.__module__)
def test_every_bit_of_an_archive_may_be_wrong(pack):
    whole = pack(gzip.decompress(tar(("x/a", NOISE), ("x/b.gz", gzip.compress(NOISE)))))
    assert members(whole, ["a", "b"]) == {"a": NOISE, "b": NOISE}
    found = complaints(lambda data: members(data, ["a", "b"]), every_damage(whole, 60))
    assert len(found) > (5 if pack is bytes else 40)
    assert all("is truncated or damaged: " in said for said in found)


@pytest.fixture
def little(monkeypatch):
    """As if no file had more than 2 MB, and no archive more than 4; gives the most that is taken of memory."""
    for module in (_bounded, _matlab):
        monkeypatch.setattr(module, "MOST", 2 << 20)
    monkeypatch.setattr(_bounded, "MOST_IN_ARCHIVE", 4 << 20)
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def sparse(size):
    """A gzipped archive of one file of zeros, made in little memory."""
    info = tarfile.TarInfo("x/a")
    info.size = size
    return gz_of(info.tobuf(), size + -size % 512 + 1024)


def gz_of(start, zeros):
    machine = zlib.compressobj(wbits=31)
    pieces = [machine.compress(start)]
    pieces += [machine.compress(bytes(min(1 << 20, zeros - k))) for k in range(0, zeros, 1 << 20)]
    return b"".join([*pieces, machine.flush()])


def header_bomb(size):
    """An archive whose first header says that a name of so many bytes follows."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, size
    return gz_of(info.tobuf(), size)


BIG = 40 << 20
BOMBS = {
    "gz": (lambda: unpacked(io.BytesIO(gz_of(b"", BIG)), "a.gz"), "a.gz holds more than 2,097,152 bytes"),
    "archive": (lambda: members(sparse(BIG), ["a"]), "a holds more than 2,097,152 bytes"),
    "beside what is wanted": (lambda: members(sparse(BIG), ["b"]), "it holds more than 4,194,304 bytes"),
    "gz in an archive": (
        lambda: members(tar(("a.gz", gz_of(b"", BIG))), ["a"]),
        "a.gz holds more than 2,097,152 bytes",
    ),
    "a name": (lambda: members(header_bomb(BIG), ["a"]), f"a header says that {BIG:,} bytes follow"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused_in_little_memory(name, little):
    read, said = BOMBS[name]
    with pytest.raises(ValueError, match=said):
        read()
    assert little() < 12 << 20


def test_a_file_that_is_too_large_is_refused_before_it_is_read(cache, tmp_path, little):
    with (tmp_path / "a").open("wb") as file:
        file.truncate(BIG)
    with pytest.raises(DataUnavailableError, match="a holds more than 2,097,152 bytes"):
        obtain(recipe(), root=tmp_path)
    assert little() < 12 << 20


def mat(folder, count=5):
    """An AffNIST file of a few digits, compressed."""
    rng = np.random.default_rng(1)
    digits = {"image": rng.integers(0, 256, (1600, count)).astype(np.uint8), "label_int": np.arange(count) % 10}
    (folder / "test").mkdir(exist_ok=True)
    savemat(folder / "test" / "1.mat", {"affNISTdata": digits}, do_compression=True)
    return folder / "test" / "1.mat"


def test_every_bit_of_a_mat_may_be_wrong(tmp_path):
    file = mat(tmp_path)
    assert len(load("affnist", "test", root=tmp_path)) == 5

    def read(data):
        file.write_bytes(data)
        load("affnist", "test", root=tmp_path)

    found = complaints(read, every_damage(file.read_bytes(), 70))
    assert len(found) > 40
    assert all("1.mat is not an AffNIST file: " in said for said in found)


def test_a_mat_that_unpacks_to_too_much_is_refused_in_little_memory(tmp_path, little):
    file = mat(tmp_path)
    element = zlib.compress(bytes(BIG))
    header = file.read_bytes()[:128]
    file.write_bytes(header + np.array([15, len(element)], "<u4").tobytes() + element)
    tracemalloc.reset_peak()
    with pytest.raises(ValueError, match=r"1\.mat is not an AffNIST file: .*unpacks to more than 2,097,152 bytes"):
        load("affnist", "test", root=tmp_path)
    assert little() < 12 << 20


def test_the_files_of_an_archive_come_in_its_order(tmp_path):
    (tmp_path / "some.tar.gz").write_bytes(tar(("x/b", b"2"), ("x/a", b"1")))
    assert [(name, stream.read()) for name, stream in entries(tmp_path / "some.tar.gz")] == [
        ("x/b", b"2"),
        ("x/a", b"1"),
    ]
