"""Ctrl-C and SIGTERM: a training ends with where it can go on."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from torchcaps.train import checkpoint


class Stopped(KeyboardInterrupt):
    """A training that was asked to stop.

    Attributes:
        code: what a process that ends for it returns.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class _Terminated(KeyboardInterrupt):
    """SIGTERM has come."""


@contextmanager
def stoppable(checkpoints: Path | None) -> Iterator[None]:
    """Inside, either signal raises `Stopped`, which says what step the last checkpoint is of.

    Args:
        checkpoints: where they are; None for a training that keeps none, whose signals are left alone.
    """
    if checkpoints is None:
        yield
        return
    # Only where nobody else listens: a program that trains may have its own plans for SIGTERM.
    listens = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if listens:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except KeyboardInterrupt as stop:
        asked = isinstance(stop, _Terminated)
        by, number = ("SIGTERM", signal.SIGTERM) if asked else ("Ctrl-C", signal.SIGINT)
        raise Stopped(f"stopped by {by}; {_last(checkpoints)}", 128 + number) from None
    finally:
        if listens:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise _Terminated


def _last(checkpoints: Path) -> str:
    kept = checkpoint.last_whole(checkpoints)
    if kept is None:
        return "there is no checkpoint yet, so --resume begins anew"
    return f"the last checkpoint is of step {checkpoint.step_of(kept)}"
