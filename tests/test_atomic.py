"""Atomic writes: whole or not at all, with the permissions of `open`, and errors that name the file."""

import errno
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.full_disk import WHY, room_for
from torchcaps._atomic import NotWrittenError, replaced, write_bytes, write_text, writing


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_that_is_cut_leaves_the_one_before(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "before")
    with room_for(10), pytest.raises(NotWrittenError) as full:
        write_text(path, "x" * 100)
    assert str(full.value) == f"{path} could not be written: {WHY}"
    assert full.value.errno == errno.EFBIG
    assert path.read_text() == "before"
    assert names(tmp_path) == ["a.txt"]


def test_what_safetensors_cannot_write_is_named_too(tmp_path):
    path = tmp_path / "a.safetensors"
    said = r"a\.safetensors could not be written: .*File too large"
    with pytest.raises(NotWrittenError, match=said), room_for(10), replaced(path) as part:
        save_file({"x": torch.zeros(100)}, part)
    assert names(tmp_path) == []


def test_a_device_that_is_full_is_written_directly():
    """Nothing takes the place of a device, not even for root."""
    with pytest.raises(NotWrittenError, match="/dev/full could not be written: No space left on device"):
        write_text("/dev/full", "x")
    assert Path("/dev/full").is_char_device()


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path, told, sync, rename = tmp_path / "a.txt", [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (told.append(os.fstat(handle).st_size), sync(handle)))
    monkeypatch.setattr(os, "replace", lambda *paths: (told.append("named"), rename(*paths)))
    write_text(path, "whole")
    assert told[:2] == [5, "named"]
    assert len(told) == 3  # the folder is flushed too


def _fail(part, error):
    part.write_text("half")
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_block_that_fails_leaves_nothing(error, tmp_path):
    (tmp_path / "a.txt").write_text("before")
    with pytest.raises(error), replaced(tmp_path / "a.txt") as part:
        _fail(part, error)
    assert (tmp_path / "a.txt").read_text() == "before"
    assert names(tmp_path) == ["a.txt"]


def test_permissions_are_those_of_open(tmp_path):
    """Of a new file the usual ones, whatever the writer made; of one that is there its own."""
    before = os.umask(0o027)
    try:
        with replaced(tmp_path / "new") as part:
            save_file({"x": torch.zeros(1)}, part)  # makes files for their owner alone
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new").chmod(0o604)
    write_text(tmp_path / "new", "other")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o604


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("before")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    with pytest.raises(NotWrittenError, match=r"a\.txt could not be written: Permission denied"):
        write_text(path, "after")
    assert path.read_text() == "before"


def test_a_link_stays_one(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    for text in ("new", "newer"):
        write_text(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "there" / "file").read_text() == text


@pytest.mark.parametrize(("place", "why"), [("folder", "Is a directory"), ("file/a.txt", "Not a directory")])
def test_places_where_nothing_can_be_written(place, why, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWrittenError) as refused:
        write_bytes(tmp_path / place, b"x")
    assert str(refused.value) == f"{tmp_path / place} could not be written: {why}"
    assert names(tmp_path) == ["file", "folder"]


def test_the_longest_name_that_a_file_may_have(tmp_path):
    write_text(tmp_path / ("ü" * 127), "x")
    assert names(tmp_path) == ["ü" * 127]


def test_two_writers_do_not_meet(tmp_path):
    with replaced(tmp_path / "a") as one, replaced(tmp_path / "a") as other:
        one.write_text("one")
        other.write_text("other")
        assert one != other
    assert (tmp_path / "a").read_text() == "one"  # the last to end
    assert names(tmp_path) == ["a"]


def test_an_error_names_its_first_file_and_travels():
    """Between processes it is pickled."""
    with pytest.raises(NotWrittenError) as found, writing("out"), writing("in"):
        raise OSError(errno.EROFS, "Read-only file system")
    same = pickle.loads(pickle.dumps(found.value))
    assert (str(same), same.errno) == ("in could not be written: Read-only file system", errno.EROFS)


def test_a_killed_writer_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    killed = "import os, sys; from torchcaps._atomic import replaced\n"
    killed += "with replaced(sys.argv[1]) as part: part.write_text('half'); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", killed, path]).returncode == 9
    assert path.read_text() == "before"
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [".txt", ".part"]
