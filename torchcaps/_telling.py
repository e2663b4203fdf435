"""How far some work is: a line that changes and goes at a terminal, a line every few seconds anywhere else."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from torchcaps._shown import shown

PATIENCE, EVERY = 1.5, 5.0  # seconds without a word, at first and later

Tell = Callable[..., None]
"""Called with a text, or with a text and how much of how much is done."""
_speaking: list[Tell] = []


@contextmanager
def working(text: str, *, quiet: bool = False) -> Iterator[Tell]:
    """Say what is being done, even while nothing comes back from it; what is quick passes without a word.

    >>> with working("counting") as tell:
    ...     tell("counting", 3, 10)

    Args:
        text: what is done first.
        quiet: say nothing.
    """
    if quiet:
        yield lambda *_: None
        return
    if _speaking:  # somebody further out speaks already
        _speaking[-1](text)
        yield _speaking[-1]
        return
    stop, state = threading.Event(), [text]
    speaker = threading.Thread(target=_speak, args=(stop, state), daemon=True)

    def tell(text: str, done: int | None = None, total: int | None = None) -> None:
        state[0] = text if done is None else f"{text}: {done:,}" + (f" of {total:,}" if total else "")

    _speaking.append(tell)
    speaker.start()
    try:
        yield tell
    finally:
        _speaking.remove(tell)
        stop.set()
        speaker.join()


def _speak(stop: threading.Event, state: list[str]) -> None:
    began, watched = time.monotonic(), sys.stderr.isatty()
    if stop.wait(PATIENCE):
        return
    with _line() if watched else nullcontext(_print) as show:
        while True:
            show(f"{state[0]} … {time.monotonic() - began:.0f} s")
            if stop.wait(0.2 if watched else EVERY):
                return


@contextmanager
def _line() -> Iterator[Callable[[str], None]]:
    """A line of a terminal that changes."""
    from rich.text import Text

    from torchcaps._console import Console

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(Text(text))


def _print(text: str) -> None:
    sys.stderr.write(f"{shown(text)}\n")
    sys.stderr.flush()
