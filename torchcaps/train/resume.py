"""Going on with a training where it stopped, if nothing has changed meanwhile."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from torchcaps.data import NAMES, Inventory
from torchcaps.network import CONFIG
from torchcaps.train import checkpoint
from torchcaps.train.checkpoint import ASIDE, Checkpoint
from torchcaps.train.final import Final, is_end, read_final, read_older
from torchcaps.train.fingerprint import changes
from torchcaps.train.log import forget_after
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS, MODEL, RUN, read_run
from torchcaps.train.settings import Settings


def begin_or_resume(training: Training, folder: Path, inventory: Inventory | None, *, resume: bool) -> list[str]:
    """Stand where the last whole checkpoint was written, or at the beginning; what is later in the log is forgotten.

    Gives what to say of damage, if there is any; settings or data that have changed are refused. A training that has
    ended is not trained again for a damaged checkpoint: it stands at its end, with the final network.
    """
    remarks: list[str] = []
    damaged: dict[Path, str] = {}
    if resume:
        found, damaged = checkpoint.search(folder / CHECKPOINTS)
        if found is not None:
            checkpoint.check_complete(folder / CHECKPOINTS, found)
        final, remarks = _final_instead(training.settings, folder, found, list(damaged.values()))
        before = [read_run(folder).settings] if (folder / RUN).exists() else []
        before += [] if found is None else [Settings.from_json(found.record["settings"])]
        before += [] if final is None else [final.ending.settings]
        for settings in before:
            _refuse(folder, "with other settings", training.settings.differences(settings))
        _refuse(
            folder, "for its data has changed", changes(folder, inventory), ". Put it back, or begin in another folder"
        )
        if final is not None:
            training.restore_final(final)
        elif found is not None:
            training.restore(found)
        remarks = _remarks(damaged, remarks, training.step, ended=final is not None)
    training.fabric.barrier()
    if training.fabric.is_global_zero:
        checkpoint.set_aside(damaged)
        forget_after(folder, training.step)
    return remarks


def _final_instead(
    told: Settings, folder: Path, found: Checkpoint | None, problems: list[str]
) -> tuple[Final | None, list[str]]:
    """The final network of a training that has ended, where no checkpoint holds the same; or a line of what is wrong.

    A training never begins anew where that would replace a network.
    """
    place = folder / MODEL
    if found is not None and is_end(told, found.record["history"], found.record["images"]):
        return None, []
    try:
        final = read_final(place, told)
        if final is None and problems:
            final = read_older(folder, place, told)
    except (ValueError, OSError) as error:
        if found is not None:
            return None, [str(error)]
        problems = [str(error), *problems]
        final = None
    if final is None and found is None and (place / CONFIG).is_file():
        _refuse(
            folder,
            "without a whole checkpoint",
            problems or [f"{folder / CHECKPOINTS} holds none"],
            f". A training from the beginning would replace the network in {place}: begin in another folder",
        )
    return final, []


def _remarks(damaged: dict[Path, str], others: list[str], step: int, *, ended: bool) -> list[str]:
    """What is damaged, what becomes of it, and from where the training goes on."""
    said = [f"passed over: {why}; set aside as {path.with_suffix(ASIDE).name}" for path, why in damaged.items()]
    said += [f"passed over: {why}" for why in others]
    if ended:
        return [*said, "the training has ended, and its network is whole: nothing is trained again"]
    where = f"goes on from step {step:,}, the last whole checkpoint" if step else "begins anew"
    return [*said, f"the training {where}"] if said else []


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
