"""Getting data on a bad day: every failure is named, and nothing half-done stays behind."""

import errno
import gzip
import io
import multiprocessing
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from torchcaps.data import DataUnavailableError, obtain
from torchcaps.data._cache import cache_dir, write_whole
from torchcaps.data._sources import Apt, Npm, Recipe, Web, members

GOOD = {"a": b"alpha", "b": b"beta"}
SUMS = {
    "a": "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8",
    "b": "f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753",
}


class Fake:
    """A source in memory that counts how often it is asked."""

    def __init__(self, files=None, error=None, label="a fake"):
        self.files, self.error, self.label, self.asked = files, error, label, 0

    def fetch(self, names):
        self.asked += 1
        if self.error is not None:
            raise self.error
        return dict(self.files)


def recipe(*sources):
    return Recipe("toy", SUMS, sources, "none", 1)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def left_over(cache):
    return sorted(p.name for p in (cache / "toy").iterdir() if p.name != ".lock")


def test_fetched_once_and_then_from_the_cache(cache):
    source = Fake(GOOD)
    assert obtain(recipe(source)) == GOOD
    assert obtain(recipe(source)) == GOOD
    assert source.asked == 1
    assert left_over(cache) == ["a", "b"]


def test_sources_are_asked_in_order(cache):
    said = []
    broken, good, unused = Fake(error=OSError("no route to host"), label="the web"), Fake(GOOD), Fake(GOOD)
    obtain(recipe(broken, good, unused), report=said.append)
    assert [s.asked for s in (broken, good, unused)] == [1, 1, 0]
    assert said[0] == "toy: trying the web"


def test_a_directory_of_the_user_comes_first(cache, tmp_path):
    (tmp_path / "a").write_bytes(GOOD["a"])
    (tmp_path / "b.gz").write_bytes(gzip.compress(GOOD["b"]))
    source = Fake(GOOD)
    assert obtain(recipe(source), root=tmp_path) == GOOD
    assert source.asked == 0


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Fake({"a": b"alpha", "b": b"beto"}), "b is damaged or another file: its checksum is wrong"),
        (Fake({"a": b"alpha"}), "b is not there"),
        (Fake(error=OSError("no route to host")), "no route to host"),
        (Fake(error=ValueError("the archive is truncated or damaged: unexpected end")), "truncated"),
    ],
    ids=["wrong hash", "missing file", "no network", "truncated"],
)
def test_failures_say_what_was_tried_and_what_to_do(cache, source, said):
    with pytest.raises(DataUnavailableError) as error:
        obtain(recipe(source))
    for part in ("toy cannot be had here", "a fake", said, "root=", "'glyphs'"):
        assert part in str(error.value)
    assert left_over(cache) == []


def test_a_damaged_cache_is_fetched_again(cache):
    source = Fake(GOOD)
    obtain(recipe(source))
    (cache / "toy" / "a").write_bytes(b"alphx")
    assert obtain(recipe(source)) == GOOD
    assert source.asked == 2


def test_a_full_disk_leaves_no_half_file(cache, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"no space left for 5 bytes in .*TORCHCAPS_DATA"):
        obtain(recipe(Fake(GOOD)))
    assert left_over(cache) == []


def test_another_error_of_the_disk_is_not_hidden(cache, monkeypatch):
    """Or a file that was never written would be taken for one that is there."""

    def broken(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error"):
        obtain(recipe(Fake(GOOD)))
    assert left_over(cache) == []


@pytest.mark.parametrize(("there", "said"), [(False, "no such directory"), (True, "b.gz is truncated or damaged")])
def test_what_is_wrong_with_the_users_directory_is_told(cache, tmp_path, there, said):
    root = tmp_path / "mine"
    if there:
        root.mkdir()
        (root / "a").write_bytes(GOOD["a"])
        (root / "b.gz").write_bytes(gzip.compress(GOOD["b"])[:-10])
    with pytest.raises(DataUnavailableError, match=said):
        obtain(recipe(Fake(error=OSError("no route to host"))), root=root)


def test_files_are_for_everyone_to_read(tmp_path):
    """A cache may be shared, and temporary files are their maker's alone."""
    write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_a_tilde_is_the_users_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TORCHCAPS_DATA", "~/images")
    assert cache_dir() == tmp_path / "images"


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("source", "tool"), [(Npm("nothing@1"), "npm"), (Apt("nothing"), "apt-get")])
def test_a_missing_package_manager_is_named(source, tool, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match=f"{tool} is not installed"):
        source.fetch(["a"])


def test_a_failing_package_manager_is_quoted(tmp_path, monkeypatch):
    fake = tmp_path / "npm"
    fake.write_text("#!/bin/sh\necho 'npm error 404 not found' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(OSError, match="npm pack nothing@1 --silent failed: npm error 404 not found"):
        Npm("nothing@1").fetch(["a"])


def test_no_web_is_an_oserror_that_the_next_source_follows(cache, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert obtain(recipe(Web("https://127.0.0.1:9/"), Fake(GOOD))) == GOOD


def test_a_package_manager_that_hangs_is_followed_by_the_next_source(cache):
    hanging = Fake(error=subprocess.TimeoutExpired(["npm", "pack"], 900), label="npm")
    assert obtain(recipe(hanging, Fake(GOOD))) == GOOD


def test_downloads_are_unpacked_by_their_names(monkeypatch):
    """One address a file, each fetched as it lies there; what ends in .gz is unpacked, what does not is left alone."""
    asked = []

    def retrieve(url, *, path, **_):
        asked.append(url)
        data = GOOD[url.removeprefix("https://here/").removesuffix(".gz")]
        file = Path(path, "download")
        file.write_bytes(gzip.compress(data) if url.endswith(".gz") else data)
        return str(file)

    monkeypatch.setattr("pooch.retrieve", retrieve)
    assert Web("https://here/", ".gz").fetch(["a", "b"]) == GOOD
    assert Web("https://here/").fetch(["b"]) == {"b": b"beta"}
    assert asked == ["https://here/a.gz", "https://here/b.gz", "https://here/b"]


def tar(*entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in entries:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_archives_cannot_write_outside(tmp_path, monkeypatch):
    """Members are read by name into memory: a path that climbs out has nowhere to go."""
    monkeypatch.chdir(tmp_path)
    evil = tar(("../../a", b"alpha"), ("/etc/b", b"beta"), ("../evil.sh", b"rm"))
    assert members(evil, ["a", "b"]) == GOOD
    assert list(tmp_path.iterdir()) == []
    assert not (tmp_path.parent / "evil.sh").exists()


def test_links_in_archives_are_not_followed():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        link = tarfile.TarInfo("a")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert members(out.getvalue(), ["a"]) == {}


@pytest.mark.parametrize("keep", [0.02, 0.5, 0.9])
def test_truncated_archives_are_named(keep):
    whole = tar(("x/a", os.urandom(4000)), ("x/b.gz", gzip.compress(b"beta")))
    with pytest.raises(ValueError, match="truncated or damaged"):
        members(whole[: int(keep * len(whole))], ["a", "b"])


class Slow(Fake):
    def __init__(self, log):
        super().__init__(GOOD)
        self.log = log

    def fetch(self, names):
        with Path(self.log).open("a") as log:
            log.write("fetched\n")
        return dict(GOOD)


def _ask(cache, log, barrier):
    os.environ["TORCHCAPS_DATA"] = cache
    barrier.wait()
    obtain(recipe(Slow(log)))


def test_two_processes_fetch_once(cache, tmp_path):
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    log = tmp_path / "log"
    jobs = [context.Process(target=_ask, args=(str(cache), str(log), barrier)) for _ in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0]
    assert log.read_text() == "fetched\n"
