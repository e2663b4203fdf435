"""Going on with a training where it stopped, if nothing has changed meanwhile."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from torchcaps.data import NAMES, Inventory
from torchcaps.train import checkpoint
from torchcaps.train.fingerprint import changes
from torchcaps.train.log import forget_after
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS, RUN, read_run
from torchcaps.train.settings import Settings


def begin_or_resume(training: Training, folder: Path, inventory: Inventory | None, *, resume: bool) -> list[str]:
    """Stand where the last checkpoint was written, or at the beginning; what is later in the log is forgotten.

    Gives a line for each checkpoint that could not be read; settings or data that have changed are refused.
    """
    problems: list[str] = []
    if resume:
        found, problems = checkpoint.newest(folder / CHECKPOINTS)
        if found is not None:
            checkpoint.check_complete(folder / CHECKPOINTS, found)
        before = [read_run(folder).settings] if (folder / RUN).exists() else []
        before += [] if found is None else [Settings.from_json(found.record["settings"])]
        for settings in before:
            _refuse(folder, "with other settings", training.settings.differences(settings))
        _refuse(
            folder, "for its data has changed", changes(folder, inventory), ". Put it back, or begin in another folder"
        )
        if found is not None:
            training.restore(found)
    training.fabric.barrier()
    if training.fabric.is_global_zero:
        forget_after(folder, training.step)
    return problems


def otherwise(folder: Path, settings: Settings, now: dict[str, Any]) -> list[str]:
    """A line if a training that should give the same bits goes on with what gives others; it is no reason to refuse."""
    if not settings.deterministic or not (folder / RUN).is_file():
        return []
    before = read_run(folder).made_with
    changed = [
        f"{name} was {before[name]}, now {now[name]}" for name in now if before.get(name, now[name]) != now[name]
    ]
    return [f"from here on the bits are not those of a training left alone: {'; '.join(changed)}"] if changed else []


def _refuse(folder: Path, why: str, changed: list[str], advice: str = "") -> None:
    if changed:
        raise ValueError(f"{folder} cannot be resumed {why}: {'; '.join(changed)}{advice}")


def with_rule_of(settings: Settings, folder: Path) -> Settings:
    """Settings by which a training that the first version began goes on as it began."""
    if not (folder / RUN).is_file():
        return settings
    begun, names = read_run(folder).settings, {"rule": NAMES}
    if begun.data_options.get("rule") == NAMES:
        settings = replace(settings, data_options={**settings.data_options, **names})
    if begun.validation_options.get("rule") == NAMES:
        settings = replace(settings, validation_options={**settings.validation_options, **names})
    return settings
