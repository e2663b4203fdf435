"""What a training says: a progress bar for people, JSON lines for programs, TensorBoard if asked."""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from torchcaps._atomic import write_text
from torchcaps._console import Console

LOG, TENSORBOARD = "log.jsonl", "tensorboard"
EVERY = 5  # seconds between lines where there is no bar


class Log:
    """Lines of a training. Of several processes only the first speaks.

    Args:
        folder: where the lines go; None for nowhere.
        total: steps in all, for the time left.
        quiet: no progress on the terminal.
        speaks: whether this process is the one.
        tensorboard: whether to write its event files too.
    """

    def __init__(
        self, folder: Path | None, total: int, *, quiet: bool, speaks: bool, tensorboard: bool = False
    ) -> None:
        self.writer = _writer(folder) if tensorboard and folder is not None and speaks else None
        self.file = (folder / LOG).open("a") if folder is not None and speaks else None
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.console = Console(stderr=True)
        self.progress = Progress(*columns, console=self.console, disable=quiet or not speaks)
        self.task, self.total = self.progress.add_task("", total=total), total
        self.began, self.images, self.shown = time.perf_counter(), 0, 0.0
        self.said = self.began

    def __enter__(self) -> "Log":
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()
        for sink in (self.file, self.writer):
            if sink is not None:
                with suppress(OSError):  # the disk is full, which `_write` or a checkpoint has said already
                    sink.close()

    def resumed(self, step: int) -> None:
        """Begin the bar where a checkpoint left off."""
        self.progress.update(self.task, completed=step)

    def step(self, step: int, images: int, values: dict[str, Any]) -> None:
        """A step is done; `values` are the loss and accuracy since the last entry of the history."""
        self.images += images
        self._write({"event": "step", "step": step, **values})
        now = time.perf_counter()
        self.progress.update(self.task, completed=step)
        if now - self.shown > 0.2:
            self.shown = now
            where = f"epoch {values['epoch'] + 1}  loss {values['loss']:.4f}  accuracy {values['accuracy']:.2%}"
            self.progress.update(self.task, description=f"{where}  {self.rate():.0f} images/s")
            if not self.console.is_terminal and now - self.said > EVERY:
                self.say(f"step {step:,} of {self.total:,}: {where}  {self.rate():.0f} images/s")

    def entry(self, values: dict[str, Any], *, whole: bool) -> None:
        """An entry of the history is complete: a whole epoch, or a part that ended with a judging."""
        self._write({"event": "epoch" if whole else "judging", **values})
        judged = values.get("validation_accuracy")
        tail = "" if judged is None else f"  validation {judged:.2%}"
        where = f"epoch {values['epoch'] + 1}" if whole else f"step {values['step']}"
        self.say(
            f"{where}: loss {values['loss']:.4f}  accuracy {values['accuracy']:.2%}{tail}  "
            f"{values['images_per_second']:.0f} images/s"
        )

    def say(self, text: str) -> None:
        """A line above the bar, for people."""
        self.said = time.perf_counter()
        if not self.progress.disable:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def rate(self) -> float:
        """Images a second since this process began."""
        return self.images / max(1e-9, time.perf_counter() - self.began)

    def _write(self, line: dict[str, Any]) -> None:
        if self.file is not None:
            try:
                self.file.write(json.dumps(line) + "\n")
                self.file.flush()
            except OSError as error:
                raise OSError(
                    f"{self.file.name} could not be written ({error}); the checkpoints are whole. Make room and use "
                    f"--resume"
                ) from error
        if self.writer is not None:
            for name, value in line.items():
                if isinstance(value, float):
                    self.writer.add_scalar(f"{line['event']}/{name}", value, line["step"])


def forget_after(folder: Path, step: int) -> None:
    """Forget the lines after a step, which will be written again; so does a line that does not say its step."""
    path = folder / LOG
    if not path.exists():
        return
    kept = []
    for line in path.read_text().splitlines():
        try:
            at = json.loads(line)["step"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(at, int) and at <= step:
            kept.append(line)
    write_text(path, "".join(f"{line}\n" for line in kept))


def _writer(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError:
        raise ValueError("TensorBoard is not installed: pip install 'torchcaps[track]'") from None
    return SummaryWriter(str(folder / TENSORBOARD))
