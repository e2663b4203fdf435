"""A fault planted in a copy of the project, and its tests run there by a process forked from one that has torch."""

import importlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.mutants.fault import ROOT, Fault

LONGEST = 900.0
"""Seconds after which the tests hang: a fault that makes them was noticed."""
PRELOADED = ("torch", "numpy", "einops", "jaxtyping", "beartype", "hypothesis", "lightning_fabric", "PIL", "sklearn")
_ticks = itertools.count(1)


class Outcome(NamedTuple):
    """What came of it: "noticed" or "survived", the first test that failed, and the time it took."""

    state: str
    by: str
    seconds: float | int


class Copy:
    """A copy of all that git knows of the project, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
        for name in filter(None, listed.stdout.split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)

    def try_(self, fault: Fault) -> Outcome:
        """Plant it, run its tests, put the file back."""
        self._write(fault.file, fault.planted())
        try:
            return self.test(fault.tests)
        finally:
            self._write(fault.file, (ROOT / fault.file).read_text())

    def test(self, tests: tuple[str, ...]) -> Outcome:
        """Run tests up to the first that fails."""
        started, log = time.monotonic(), self.folder.with_suffix(".log")
        process = os.fork()
        if process == 0:
            _run(self.folder, tests, log)
        ended = _wait(process, started)
        seconds = round(time.monotonic() - started, 1)
        if ended is None:
            return Outcome("noticed", "its tests hang", seconds)
        if ended == 0:
            return Outcome("survived", "", seconds)
        return Outcome("noticed", _first_failure(log), seconds)

    def _write(self, file: str, text: str) -> None:
        path = self.folder / file
        path.write_text(text)
        stamp = path.stat().st_mtime + next(_ticks)  # else compiled code of the same second would serve
        os.utime(path, (stamp, stamp))


def preload() -> None:
    """Import what is slow to import and never changed."""
    for name in PRELOADED:
        importlib.import_module(name)


def _run(folder: Path, tests: tuple[str, ...], log: Path) -> None:
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
        import pytest  # it looks at the folder it is imported in

        code = int(pytest.main(["-x", "-p", "no:xdist", "--tb=line", "-W", "ignore::pytest.PytestWarning", *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)


def _wait(process: int, started: float) -> int | None:
    while time.monotonic() - started < LONGEST:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def _first_failure(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    failed = [line.split(" ")[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return failed[0] if failed else (lines[-1] if lines else "the process died")
