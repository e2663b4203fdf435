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

from benchmarks.mutants.fault import ROOT, Fault, FaultError

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
        self.folder, self.log = folder, folder.with_suffix(".log")
        shutil.rmtree(folder, ignore_errors=True)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
        for name in filter(None, listed.stdout.split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)

    def try_(self, fault: Fault) -> Outcome:
        """Plant it, run its tests, put the file back."""
        self._write(fault.file, fault.planted())
        try:
            if fault.file.endswith((".cpp", ".h")):
                self._build(fault)
            return self.test(fault.tests)
        finally:
            self._write(fault.file, (ROOT / fault.file).read_text())

    def test(self, tests: tuple[str, ...]) -> Outcome:
        """Run tests up to the first that fails."""
        started = time.monotonic()
        ended = self._forked(lambda: _pytest(tests))
        seconds = round(time.monotonic() - started, 1)
        if ended == 0:
            return Outcome("survived", "", seconds)
        if ended is None or ended < 0:
            return Outcome(
                "noticed", "its tests hang" if ended is None else f"its tests die of signal {-ended}", seconds
            )
        return Outcome("noticed", _first_failure(self.log), seconds)

    def _build(self, fault: Fault) -> None:
        """The native passes with the fault in them: tests that fail since nothing was built would have seen nothing."""
        if self._forked(_native) != 0:
            raise FaultError(f"{fault.file}: {fault.what}: cannot be built, see {self.log}")

    def _forked(self, work: Callable[[], int]) -> int | None:
        """What some work in a process of its own ended with; None if it hangs."""
        started, process = time.monotonic(), os.fork()
        if process == 0:
            _run(self.folder, work, self.log)
        return _wait(process, started)

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

    # Tests first: a module whose examples are collected before anything imports it would be there twice.
    ordered = sorted(tests, key=lambda path: path.startswith("torchcaps/"))
    return int(pytest.main(["-x", "-p", "no:xdist", "--tb=line", "-W", "ignore::pytest.PytestWarning", *ordered]))


def _native() -> int:
    from torchcaps.ops import native  # those of the copy

    print(found := native.status())
    return int(found != "native")


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
