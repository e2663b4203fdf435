"""A worker as the driver sees it: a process that is asked and answers."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from benchmarks.paired.trees import Tree

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class AnswerError(RuntimeError):
    """What a tree cannot do."""


class Process:
    """The worker of a tree; `definitions` is the tree whose workloads it runs."""

    def __init__(self, tree: Tree, definitions: Path, *, quick: bool = False) -> None:
        self.tree = tree
        start = definitions / "benchmarks/paired/start.py"
        command = [sys.executable, str(start), str(tree.folder), str(definitions), *["--quick"] * quick]
        environment = {**os.environ, **ONE_THREAD}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.about: dict[str, str] = self._answer()

    def ask(self, method: str, *arguments: Any) -> Any:
        """A method of `Worker`; `AnswerError` with what the tree said if it failed there."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([method, *arguments]) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise AnswerError(answer["error"])
        return answer["found"]

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.tree.name} ended with {self._process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()  # it has nothing to save
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


class Setting(NamedTuple):
    """The trees, and the one whose workloads are run."""

    old: Tree
    new: Tree
    definitions: Path
    quick: bool

    @contextmanager
    def processes(self, *, new_first: bool = False) -> Iterator[tuple[Process, Process]]:
        """Of the old and of the new tree, whichever is started first."""
        with ExitStack() as stack:
            order = (self.new, self.old) if new_first else (self.old, self.new)
            one, other = (stack.enter_context(Process(tree, self.definitions, quick=self.quick)) for tree in order)
            yield (other, one) if new_first else (one, other)
