"""Where a training is kept: begun in a folder of its own, or gone on with, if nothing has changed meanwhile."""

from dataclasses import replace
from pathlib import Path

from torchcaps.data import NAMES, Inventory
from torchcaps.train import checkpoint
from torchcaps.train.fingerprint import changes
from torchcaps.train.log import forget_after
from torchcaps.train.loop import Training
from torchcaps.train.processes import is_first
from torchcaps.train.run import CHECKPOINTS, RUN, read_run
from torchcaps.train.settings import Settings


def begin_or_resume(training: Training, folder: Path, inventory: Inventory | None, *, resume: bool) -> list[str]:
    """Go back to the last checkpoint that can be read, if asked, and tell which could not; refuse what has changed."""
    problems: list[str] = []
    if resume and (folder / RUN).exists():
        changed = training.settings.differences(read_run(folder)[0])
        if changed:
            raise ValueError(f"{folder} cannot be resumed with other settings: {'; '.join(changed)}")
        changed = changes(folder, inventory)
        if changed:
            raise ValueError(
                f"{folder} cannot be resumed, for its data has changed: {'; '.join(changed)}. Put it back as it was, "
                f"or begin anew in another folder"
            )
    if resume:
        found, problems = checkpoint.newest(folder / CHECKPOINTS)
        if found is not None:
            training.restore(found)
    training.fabric.barrier()
    if training.fabric.is_global_zero:
        checkpoint.tidy(folder / CHECKPOINTS)
        forget_after(folder, training.step)
    return problems


def check_folder(folder: Path | None, *, resume: bool) -> None:
    """Nothing that is there already is written over; the first process looks, before any of them writes."""
    if folder is None or resume or not is_first():
        return
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: name a folder for the training")
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: go on with --resume (resume=True), or name another folder")


def with_rule_of(settings: Settings, folder: Path) -> Settings:
    """Settings by which a training that the first version began goes on as it began."""
    if not (folder / RUN).is_file():
        return settings
    begun, names = read_run(folder)[0], {"rule": NAMES}
    if begun.data_options.get("rule") == NAMES:
        settings = replace(settings, data_options={**settings.data_options, **names})
    if begun.validation_options.get("rule") == NAMES:
        settings = replace(settings, validation_options={**settings.validation_options, **names})
    return settings
