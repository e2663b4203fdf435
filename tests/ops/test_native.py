"""The native library: how it is built, when it is loaded, and that threads change nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.ops.agreement import PASSES, draw
from torchcaps.ops import native
from torchcaps.ops.native._library import is_whole, sign, trust

pytestmark = pytest.mark.skipif(native.status() != "native", reason=f"here serves {native.status()}")


@pytest.mark.parametrize("name", PASSES)
def test_threads_change_nothing_from_run_to_run(name):
    torch.set_num_threads(2)
    inputs = draw(name, (40, 8, 1, 50, 10, 16), dtype=torch.float32)
    leaves = [t for t in inputs if t is not None]
    runs = [torch.autograd.grad([o.sum() for o in PASSES[name][0](*inputs, j=10)], leaves) for _ in range(3)]
    for run in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(run, runs[0], strict=True))


def run_python(code, *, check=True, **environment):
    environment = {**os.environ, "TORCHCAPS_PASSES": "", **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=check, env=environment)


STATUS = "from torchcaps import ops; print(ops.status())"


def test_it_can_be_turned_off_and_says_when_there_is_no_compiler():
    assert run_python(STATUS, TORCHCAPS_PASSES="plain").stdout.strip() == "plain torch: TORCHCAPS_PASSES=plain"
    without = run_python(STATUS, CXX="no-such-compiler")
    assert without.stdout.strip() == "plain torch: no C++ compiler"
    assert without.stderr.count("no C++ compiler found, so the plain torch passes serve") == 1


def test_where_it_is_wanted_that_it_cannot_be_had_is_an_error():
    """What makes a broken build fail the tests of continuous integration."""
    without = run_python(STATUS, check=False, TORCHCAPS_PASSES="native", CXX="no-such-compiler")
    assert without.returncode
    assert "TORCHCAPS_PASSES=native, but no C++ compiler" in without.stderr
    assert "choose one of" in run_python(STATUS, check=False, TORCHCAPS_PASSES="fast").stderr
    assert "export TORCHCAPS_PASSES=native" in Path(".ci/run").read_text()


def test_a_source_that_does_not_compile_is_an_error_where_it_is_wanted(tmp_path):
    shutil.copytree(native.HERE, tmp_path / "native")
    for source in (tmp_path / "native").glob("*.cpp"):
        source.write_text("this is no C++\n")
    code = f"""if True:
        from pathlib import Path
        from torchcaps import ops
        ops.native.HERE = Path({str(tmp_path / "native")!r})
        print(ops.status())
        """
    broken = run_python(code, check=False, TORCHCAPS_PASSES="native", XDG_CACHE_HOME=str(tmp_path))
    assert broken.returncode
    assert "TORCHCAPS_PASSES=native, but the native passes could not be had" in broken.stderr
    served = run_python(code, XDG_CACHE_HOME=str(tmp_path))
    assert served.stdout.startswith("plain torch: the native passes could not be had")


def test_denormal_numbers_survive_in_the_process():
    """-ffast-math at link time would flush them to zero for everyone."""
    code = f"import torch; {STATUS}; print(torch.tensor(1e-40).mul(1).item() > 0)"
    assert run_python(code).stdout.split() == ["native", "True"]


@pytest.fixture
def built(tmp_path):
    """A folder with a whole build in it, as the cache has one."""
    library = next(Path(path) for path in torch.ops.loaded_libraries if path.endswith("torchcaps_native.so"))
    folder = tmp_path / "build"
    folder.mkdir(mode=0o700)
    shutil.copy(library, folder)
    sign(folder / library.name)
    return folder / library.name


LOAD = """if True:
    import shutil
    from pathlib import Path
    import torch
    from torchcaps import ops
    from torchcaps.ops import native
    library, good = Path({library!r}), Path({good!r})
    def build(into):
        print("built")
        assert not library.exists()  # ninja would take it for made
        shutil.copy(good, into)
        torch.ops.load_library(str(library))  # as torch's own builder does
    native._build = build
    native._load(library.parent)
    print(torch.ops.torchcaps.attend(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 2), None, None, None, None, 2, False)[1])
    """


def load(library, tmp_path):
    """What a fresh process prints that loads the library; to build is to copy a good one."""
    good = tmp_path / "good" / library.name
    return run_python(LOAD.format(library=str(library), good=str(good))).stdout


def test_a_library_that_was_cut_is_built_again(built, tmp_path):
    (tmp_path / "good").mkdir()
    shutil.copy(built, tmp_path / "good")
    assert "built" not in load(built, tmp_path)
    with built.open("rb+") as file:
        file.truncate(built.stat().st_size // 2)
    assert not is_whole(built)
    assert load(built, tmp_path).startswith("built\ntensor")
    assert is_whole(built)
    data = bytearray(built.read_bytes())
    data[len(data) // 2] ^= 1
    built.write_bytes(data)
    assert load(built, tmp_path).startswith("built\ntensor")


def test_a_cache_that_cannot_be_written_serves(built, monkeypatch):
    def no_lock(*arguments):
        raise PermissionError("read-only")

    loaded = []
    monkeypatch.setattr(native, "FileLock", no_lock)
    monkeypatch.setattr(Path, "mkdir", no_lock)
    monkeypatch.setattr(torch.ops, "load_library", loaded.append)
    native._load(built.parent)
    assert loaded == [str(built)]


@pytest.mark.parametrize("which", ["folder", "library", "parent"])
def test_what_others_could_write_is_not_loaded(built, which, tmp_path, monkeypatch):
    loaded = []
    monkeypatch.setattr(torch.ops, "load_library", loaded.append)
    place = {"folder": built.parent, "library": built, "parent": tmp_path}[which]
    place.chmod(0o777)
    with pytest.raises(PermissionError, match="can be written by others"):
        native._load(built.parent)
    place.chmod(0o1777 if which == "parent" else 0o755)  # in a shared folder such as /tmp nobody moves what is ours
    native._load(built.parent)
    assert loaded == [str(built)]


def test_what_belongs_to_another_user_is_not_loaded(built, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    real = Path.stat

    def stat(path, **options):  # as if another user, not root, had made the folder
        found = list(real(path, **options))
        if path == built.parent:
            found[4] = 54321
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(PermissionError, match="belongs to another user"):
        trust(built)
