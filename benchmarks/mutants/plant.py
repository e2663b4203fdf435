"""A fault planted in a copy of the project, and its tests run there by a process forked from one that has torch."""

import importlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.mutants.fault import ROOT, Fault
from benchmarks.mutants.near import near

HANGS = 180
"""Seconds after which one test hangs: a fault that makes it was noticed."""
PRELOADED = ("torch", "numpy", "einops", "jaxtyping", "beartype", "hypothesis", "lightning_fabric", "PIL", "sklearn")
_ticks = itertools.count(1)


class Outcome(NamedTuple):
    """What came of it: "noticed", "survived" or "left out"; the test that failed, or why it was left out."""

    state: str
    by: str = ""


class Copy:
    """A copy of the project as it is now, in which one file at a time is changed.

    Args:
        folder: where to; it must not be there.
        until: when to stop, by `time.monotonic`.
    """

    def __init__(self, folder: Path, until: float) -> None:
        self.folder, self.log, self.until = folder, folder.with_suffix(".log"), until
        self._sound: dict[str, bool] = {}
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def try_(self, fault: Fault) -> Outcome:
        """Plant it, run its tests up to the first that fails, put the file back; that test must pass without it."""
        self._write(fault.file, fault.planted())
        try:
            ended = self._test(near(fault.file))
        finally:
            self._write(fault.file, fault.text)
        if ended is None:
            return Outcome("left out", "no time left")
        if ended == 0:
            return Outcome("survived")
        if ended < 0:
            return Outcome("noticed", f"its tests die of signal {-ended}")
        failed = _first_failure(self.log)
        if failed is None:
            return Outcome("left out", f"pytest ends with {ended}: {_last_line(self.log)}")
        if failed not in self._sound:
            if (alone := self._test((failed,))) is None:
                return Outcome("left out", "no time left")
            self._sound[failed] = alone == 0
        return (
            Outcome("noticed", failed) if self._sound[failed] else Outcome("left out", f"without it {failed} fails too")
        )

    def _test(self, tests: tuple[str, ...]) -> int | None:
        return self._forked(lambda: _pytest(tests))

    def _forked(self, work: Callable[[], int]) -> int | None:
        """What some work in a process of its own ended with; None if the time is up."""
        process = os.fork()
        if process == 0:
            _run(self.folder, work, self.log)
        return _wait(process, self.until)

    def _write(self, file: str, text: str) -> None:
        path = self.folder / file
        path.write_text(text)
        stamp = path.stat().st_mtime + next(_ticks)  # else compiled code of the same second would serve
        os.utime(path, (stamp, stamp))


def preload() -> None:
    """Import what is slow to import and never changed."""
    for name in PRELOADED:
        importlib.import_module(name)


def _run(folder: Path, work: Callable[[], int], log: Path) -> None:
    """The forked process: never returns."""
    code = 70
    try:
        os.setsid()
        with log.open("w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        os.chdir(folder)
        os.environ |= {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "TORCHCAPS_PASSES": "native"}
        for name in [name for name in sys.modules if name.partition(".")[0] in ("torchcaps", "benchmarks", "tests")]:
            del sys.modules[name]
        sys.path[:] = [str(folder), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT)]
        code = work()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _pytest(tests: tuple[str, ...]) -> int:
    import pytest  # it looks at the folder it is imported in

    options = ["-x", "-p", "no:xdist", "--tb=line", "-o", f"timeout={HANGS}", "-W", "ignore::pytest.PytestWarning"]
    return int(pytest.main([*options, *tests]))


def _wait(process: int, until: float) -> int | None:
    try:
        while time.monotonic() < until:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
    except KeyboardInterrupt:
        _end(process)
        raise
    _end(process)
    return None


def _end(process: int) -> None:
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)


def _first_failure(log: Path) -> str | None:
    lines = log.read_text(errors="replace").splitlines()
    failed = [line.split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].partition(" - ")[0] if failed else None


def _last_line(log: Path) -> str:
    return (log.read_text(errors="replace").splitlines() or ["nothing was printed"])[-1]
