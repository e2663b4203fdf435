"""How a library comes to lie on disk, and what is not loaded from there; what is loaded here is a text."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from torchcaps.ops import native
from torchcaps.ops.native._library import is_whole, sign, trust

NAME = "torchcaps_native.so"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")


@pytest.fixture
def library(tmp_path):
    """A library that was signed, in folders that are ours alone."""
    folder = tmp_path / "cache" / "native" / "key"
    folder.mkdir(mode=0o700, parents=True)
    for place in (tmp_path / "cache", tmp_path / "cache" / "native"):
        place.chmod(0o700)
    (folder / NAME).write_text("code")
    sign(folder / NAME)
    return folder / NAME


@pytest.fixture
def loaded(monkeypatch):
    paths = []
    monkeypatch.setattr(torch.ops, "load_library", paths.append)
    monkeypatch.setattr(native, "check_kernels", lambda: None)
    return paths


@pytest.fixture
def builds(monkeypatch):
    """A compiler that writes a text, and what lay in the folder before."""
    found = []

    def build(folder):
        found.append(sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")))
        (folder / NAME).write_text("fresh code")

    monkeypatch.setattr(native, "_build", build)
    return found


def test_a_whole_library_is_trusted(library):
    trust(library)
    assert is_whole(library)
    assert library.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_library_that_a_group_or_others_may_write_is_refused(library, mode):
    library.chmod(mode)
    with pytest.raises(PermissionError, match="can be written by others"):
        trust(library)


@pytest.mark.parametrize("up", [0, 1, 2])
def test_a_folder_that_others_may_write_is_refused_however_far_up(library, up):
    library.parents[up].chmod(0o777)
    with pytest.raises(PermissionError, match="can be written by others"):
        trust(library)
    library.parents[up].chmod(0o1777)  # as /tmp: nobody moves there what is not theirs
    trust(library)


def test_what_a_link_leads_to_is_looked_at(library, tmp_path):
    (tmp_path / "own").mkdir(mode=0o700)
    link = tmp_path / "own" / NAME
    link.symlink_to(library)
    trust(link)
    library.parent.chmod(0o777)
    with pytest.raises(PermissionError, match="can be written by others"):
        trust(link)


def test_another_text_is_not_whole(library):
    library.write_text("code of somebody else")
    assert not is_whole(library)
    library.write_text("code")
    assert is_whole(library)
    library.with_suffix(".sha256").unlink()
    assert not is_whole(library)


def test_a_crash_while_it_is_signed_leaves_no_signature(library, monkeypatch):
    note = library.with_suffix(".sha256")
    note.unlink()

    def cut(path, data):
        with path.open("wb") as file:
            file.write(data[:10])
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "write_bytes", cut)
    with pytest.raises(OSError, match="full"):
        sign(library)
    assert not note.exists()


def test_the_folder_of_a_build_is_open_to_nobody_else(tmp_path, loaded, builds):
    folder, before = tmp_path / "key", os.umask(0)
    try:
        native._load(folder)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert builds == [[]]
    assert loaded == [str(folder / NAME)]
    assert is_whole(folder / NAME)


def test_a_broken_library_is_gone_before_it_is_built_again(library, loaded, builds):
    """Ninja would take it for built."""
    library.write_text("co")
    native._load(library.parent)
    assert builds == [[library.with_suffix(".sha256").name]]
    assert is_whole(library)
    native._load(library.parent)
    assert len(builds) == 1
    assert loaded == [str(library)] * 2


def test_who_waited_while_another_built_does_not_build(tmp_path, loaded, builds, monkeypatch):
    class Waited:
        def __init__(self, path):
            self.folder = Path(path).parent

        def __enter__(self):
            (self.folder / NAME).write_text("code of the other process")
            sign(self.folder / NAME)

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(native, "FileLock", Waited)
    native._load(tmp_path / "key")
    assert builds == []
    assert loaded == [str(tmp_path / "key" / NAME)]


def test_others_may_not_have_changed_what_is_loaded(library, loaded):
    library.chmod(0o777)
    with pytest.raises(PermissionError, match="can be written by others"):
        native._load(library.parent)
    assert loaded == []


@pytest.mark.parametrize("fails", [False, True])
def test_the_path_is_the_same_after_a_build(tmp_path, monkeypatch, fails):
    seen = []

    def load(*_, **__):
        seen.append(os.environ["PATH"])
        if fails:
            raise RuntimeError("no such header")

    monkeypatch.setattr("torch.utils.cpp_extension.load", load)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    try:
        native._build(tmp_path)
    except RuntimeError:
        assert fails
    assert os.environ["PATH"] == "/usr/bin:/bin"
    assert seen[0].endswith(":/usr/bin:/bin")


def test_a_build_is_kept_by_sources_headers_and_flags(tmp_path, monkeypatch):
    shutil.copytree(native.HERE, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(native, "HERE", tmp_path)
    keys = [native._key("c++")]
    for name in ("attend.cpp", "lanes.h", "votes.h", "another.h"):
        with (tmp_path / name).open("a") as file:
            file.write("// changed\n")
        keys.append(native._key("c++"))
    monkeypatch.setenv("TORCHCAPS_NATIVE_FLAGS", "-O1 -g")
    keys.append(native._key("c++"))
    keys.append(native._key("clang++"))
    assert len(set(keys)) == len(keys) == 7


BUILD = """if True:
    import sys
    from pathlib import Path
    from torchcaps.ops import native
    print(native.status(), flush=True)
    """
COMPILER = """#!/bin/sh
case " $* " in *" -o "*) ;; *) exec c++ "$@";; esac
echo $PPID >> "$STARTED"
exec sleep 600
"""
EMPTY = """#!/bin/sh
case " $* " in *" -o "*) ;; *) exec c++ "$@";; esac
case "$*" in *-shared*) shared=-shared;; esac
while [ "$1" != -o ]; do shift; done
echo 'int nothing;' > nothing.c
exec cc ${shared:--c} nothing.c -o "$2"
"""


def start(tmp_path, script, **more):
    """A process that builds with a compiler of ours, in a cache of its own."""
    compiler = tmp_path / "compiler"
    compiler.write_text(script)
    compiler.chmod(0o755)
    cache = tmp_path / "home"
    cache.mkdir(mode=0o700, exist_ok=True)
    own = {"CXX": str(compiler), "XDG_CACHE_HOME": str(cache), **more}
    environment = {
        name: value for name, value in os.environ.items() if name not in ("COVERAGE_PROCESS_CONFIG", "TORCHCAPS_PASSES")
    }
    return subprocess.Popen(
        [sys.executable, "-c", BUILD], env={**environment, **own}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def is_running(pid):
    """Whether a process lives; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone ties a process to its parent's life")
def test_a_build_that_is_killed_leaves_no_compiler_running(tmp_path):
    started = tmp_path / "started"
    process = start(tmp_path, COMPILER, STARTED=str(started), MAX_JOBS="1")
    try:
        while process.poll() is None and not (started.exists() and started.read_text().endswith("\n")):
            time.sleep(0.05)
        assert process.poll() is None, process.communicate()
    finally:
        process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        pipe.close()
    shell = int(started.read_text().split()[0])
    for _ in range(600):
        if not is_running(shell):
            return
        time.sleep(0.05)
    os.killpg(os.getpgid(shell), signal.SIGKILL)
    raise AssertionError("the compiler runs on")


def test_a_library_without_operators_is_not_believed(tmp_path):
    """The next process builds again."""
    for _ in range(2):
        said, warned = start(tmp_path, EMPTY).communicate()
        assert said.startswith("plain torch: the native passes could not be had (ImportError: the library"), warned
        assert "building the native passes" in warned
