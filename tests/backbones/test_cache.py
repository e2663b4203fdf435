"""Features on disk: whose they are, what a killed, a second or a stopped process leaves, and how much they may take."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.backbones.stand_in import trunk
from torchcaps.backbones import FeatureCache, Preprocessing, cache, clear, shelves
from torchcaps.backbones.shelf import INDEX, MAPS


def images(count=10, seed=0, side=32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(256, (count, 3, side, side), dtype=torch.uint8, generator=generator)


def maps(found):
    return found.maps[found.rows]


def wanted(own, given):
    with torch.no_grad():
        return own.eval()(given.float() / 255)


@pytest.fixture
def kept(tmp_path):
    return FeatureCache(tmp_path / "features", limit=10**9)


def test_they_are_what_the_backbone_gives_and_computed_once(kept):
    own, given = trunk(), images()
    first, again = kept.features(own, given), kept.features(own, given)
    assert (first.computed, again.computed, first.problem) == (10, 0, "")
    assert torch.allclose(maps(first), wanted(own, given), atol=1e-5)
    assert torch.equal(maps(first), maps(again))


def test_copies_of_an_image_and_another_order_need_nothing_new(kept):
    own, given = trunk(), images(6)
    whole = maps(kept.features(own, given))
    order = torch.tensor([5, 0, 0, 3])
    found = kept.features(own, given[order])
    assert found.computed == 0
    assert torch.equal(maps(found), whole[order])


def test_a_new_image_is_all_that_is_computed(kept):
    own = trunk()
    kept.features(own, images(6))
    more = torch.cat([images(2, seed=1), images(6)])
    found = kept.features(own, more)
    assert found.computed == 2
    assert torch.allclose(maps(found), wanted(own, more), atol=1e-5)


@pytest.mark.parametrize(
    "other",
    [
        trunk(Preprocessing(32, [0.4] * 3, [0.5] * 3)),
        trunk(Preprocessing(32, [0.5] * 3, [0.25] * 3)),
        trunk(Preprocessing(64, [0.5] * 3, [0.5] * 3)),
        trunk(seed=1),
    ],
    ids=["mean", "deviation", "size", "weights"],
)
def test_two_preprocessings_or_weights_are_never_mixed(kept, other):
    """The same images with the same backbone otherwise: each gets its own features, whichever came first."""
    own, given = trunk(), images()
    kept.features(own, given)
    found = kept.features(other, given)
    assert found.computed == 10
    assert torch.allclose(maps(found), wanted(other, given), atol=1e-5)
    assert torch.allclose(maps(kept.features(own, given)), wanted(own, given), atol=1e-5)


def test_images_of_another_size_are_others(kept):
    own = trunk()
    kept.features(own, images())
    assert kept.features(own, images(side=40)).maps.shape[2:] == (5, 5)


class KilledError(BaseException):
    """As a signal that nobody catches."""


@pytest.mark.parametrize("half", ["before", "maps", "index"])
def test_a_process_that_is_killed_loses_a_chunk_at_most(kept, half, monkeypatch):
    own, given = trunk(), images(20)
    monkeypatch.setattr(cache, "CHUNK", 8)
    write, calls = cache.Shelf.append, []

    def append(shelf, digests, found):
        calls.append(len(digests))
        if len(calls) == 2:
            if half != "before":
                write(shelf, digests, found)
                cut(shelf.folder / (INDEX if half == "index" else MAPS))
                if half == "maps":
                    cut(shelf.folder / INDEX, entries=len(digests))
            raise KilledError
        write(shelf, digests, found)

    monkeypatch.setattr(cache.Shelf, "append", append)
    with pytest.raises(KilledError):
        kept.features(own, given)
    monkeypatch.setattr(cache.Shelf, "append", write)
    found = kept.features(own, given)
    assert found.computed == {"before": 12, "maps": 12, "index": 5}[half]
    assert torch.allclose(maps(found), wanted(own, given), atol=1e-5)


def cut(file, entries=0):
    """The end is missing: of the last number, or of so many entries."""
    data = file.read_bytes()
    file.write_bytes(data[: len(data) - (36 * entries or 3)])


SLOW = """
import sys, time
from pathlib import Path
from tests.backbones.test_cache import images
from tests.backbones.stand_in import trunk
from torchcaps.backbones import FeatureCache, cache, compute
cache.CHUNK = 4
slow = compute.Computer.__call__
def call(self, places):
    time.sleep(0.05)
    return slow(self, places)
compute.Computer.__call__ = call
found = FeatureCache(Path(sys.argv[1]), limit=10**9).features(trunk(), images(60))
print(found.computed, found.problem)
"""


def running(folder):
    root = Path(__file__).parents[2]
    return subprocess.Popen([sys.executable, "-c", SLOW, str(folder)], stdout=subprocess.PIPE, text=True, cwd=root)


def test_kill_nine_loses_nothing_that_was_written(kept):
    process = running(kept.home)
    index = None
    while process.poll() is None:
        index = next(kept.home.glob(f"*/{INDEX}"), None)
        if index is not None and index.stat().st_size >= 36 * 8:
            process.kill()
            break
        time.sleep(0.01)
    process.communicate()
    before = index.stat().st_size // 36
    found = kept.features(trunk(), images(60))
    assert 8 <= before == 60 - found.computed
    assert torch.allclose(maps(found), wanted(trunk(), images(60)), atol=1e-5)


def test_two_processes_share_the_work(kept):
    both = [running(kept.home), running(kept.home)]
    told = [process.communicate(timeout=120)[0].split(maxsplit=1) for process in both]
    assert sum(int(count) for count, *_ in told) == 60
    found = kept.features(trunk(), images(60))
    assert found.computed == 0
    assert torch.allclose(maps(found), wanted(trunk(), images(60)), atol=1e-5)


def test_where_no_folder_can_be_made_there_is_no_cache(tmp_path):
    (tmp_path / "file").touch()
    own, given = trunk(), images()
    found = FeatureCache(tmp_path / "file" / "features", limit=10**9).features(own, given)
    assert "Not a directory" in found.problem
    assert torch.allclose(maps(found), wanted(own, given), atol=1e-5)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), PermissionError(13, "Permission denied")])
def test_a_full_or_locked_disk_means_no_cache(kept, error, monkeypatch):
    def refuse(*_):
        raise error

    monkeypatch.setattr("torchcaps.backbones.shelf._write", refuse)
    own, given = trunk(), images()
    found = kept.features(own, given[[3, 1, 3]])
    assert error.strerror in found.problem
    assert torch.allclose(maps(found), wanted(own, given[[3, 1, 3]]), atol=1e-5)


def test_without_disk_and_memory_there_are_none(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "memory", lambda: 1000)
    assert FeatureCache(tmp_path / "file", limit=10**9).features(trunk(), images()) is None


def test_damage_is_noticed_and_computed_again(kept):
    own, given = trunk(), images()
    kept.features(own, given)
    file = next(kept.home.glob(f"*/{MAPS}"))
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    found = kept.features(own, given)
    assert "was damaged" in found.problem
    assert torch.allclose(maps(found), wanted(own, given), atol=1e-5)
    assert kept.features(own, given).problem == ""


def test_what_was_not_used_for_longest_goes_first(kept):
    given, owns = images(), [trunk(seed=k) for k in range(3)]
    for k, own in enumerate(owns[:2]):
        kept.features(own, given)
        newest = kept.shelf(own, given.shape[1:], (12, 4, 4))
        os.utime(newest.folder / "shelf.json", (1000 - 10 * k, 1000 - 10 * k))
    kept.limit = int(2.5 * newest.size)
    kept.features(owns[2], given)
    left = {one["folder"] for one in shelves(kept.home)}
    assert left == {kept.shelf(owns[k], given.shape[1:], (12, 4, 4)).folder for k in (0, 2)}


def test_more_than_the_limit_is_not_kept(kept):
    kept.limit = 1000
    found = kept.features(trunk(), images())
    assert "TORCHCAPS_FEATURES_GB allows more" in found.problem
    assert shelves(kept.home) == []


def test_a_limit_that_is_no_number_is_told(monkeypatch):
    monkeypatch.setenv("TORCHCAPS_FEATURES_GB", "much")
    with pytest.raises(ValueError, match="TORCHCAPS_FEATURES_GB='much' is not allowed"):
        FeatureCache()


def test_cleared_it_is_empty_but_for_what_is_in_use(kept):
    given = images()
    kept.features(trunk(), given)
    kept.features(trunk(seed=1), given)
    with kept.shelf(trunk(), given.shape[1:], (12, 4, 4)).locked():
        free, busy = clear(kept.home)
    assert free > 0
    assert busy == 1
    assert clear(kept.home)[1] == 0
    assert shelves(kept.home) == []
    assert kept.features(trunk(), given).computed == 10
