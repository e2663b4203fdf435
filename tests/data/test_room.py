"""Room for images: in memory up to half of what is free, beyond that in a file without a name."""

import errno
import os
from pathlib import Path

import pytest

from torchcaps.data import _room


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A thousand bytes of memory, and a folder for the rest."""
    monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(_room, "memory", lambda: 1000)
    return tmp_path / "cache"


def maps(cache):
    """What of the folder is mapped: how, and under which name."""
    lines = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    return [line[1] for line in lines if len(line) == 6 and line[5].startswith(str(cache))]


def test_half_of_the_memory_and_no_more(cache):
    inside = _room.room_for((5, 1, 10, 10))
    assert inside.shape == (5, 1, 10, 10)
    assert not cache.exists()
    outside = _room.room_for((6, 1, 10, 10))
    assert outside.shape == (6, 1, 10, 10)
    assert maps(cache) == ["rw-s"], "pages that were written go to the file, not to the memory there is too little of"
    assert list(cache.iterdir()) == []


def test_without_a_call_to_claim_the_disk(cache, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    images = _room.room_for((6, 1, 10, 10))
    images[:] = 7
    assert images.sum() == 4200


def test_the_disk_is_claimed_before_anything_is_written(cache, monkeypatch):
    """A full one is told of at once, where a page that finds no room would end the process."""

    def full(handle, offset, size):
        assert (offset, size) == (0, 600)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="fits neither into memory nor into"):
        _room.room_for((6, 1, 10, 10))
    assert list(cache.iterdir()) == []


def test_another_error_of_the_disk_stays_what_it_is(cache, monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "posix_fallocate", broken, raising=False)
    with pytest.raises(OSError, match="Input/output error"):
        _room.room_for((6, 1, 10, 10))
    assert list(cache.iterdir()) == []
