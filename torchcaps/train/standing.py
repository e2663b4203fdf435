"""Which network a training's folder stands for: the final one once it has ended, else that of a checkpoint."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor

from torchcaps.models import read_weights
from torchcaps.network import CONFIG
from torchcaps.train import checkpoint
from torchcaps.train.average import judged_weights
from torchcaps.train.checkpoint import Checkpoint
from torchcaps.train.final import Entries, Final, is_end, read_final, read_older
from torchcaps.train.settings import CUSTOM, Settings

if TYPE_CHECKING:
    from torchcaps.train.run import Facts

CHECKPOINTS, MODEL, RUN = "checkpoints", "model", "run.json"


class Standing(NamedTuple):
    """Weights by the names of the network's `state_dict`, and what led to them."""

    weights: dict[str, Tensor]
    history: Entries


def standing(folder: Path, facts: "Facts") -> Standing:
    """What a training came to; a warning names what is damaged and what is read instead.

    A training that has ended is its final network, whatever its checkpoints hold. Where that is damaged, the last
    checkpoint holds the same; an older one is never taken for it.
    """
    place, damage = folder / MODEL, ""
    try:
        final = read_final(place, facts.settings)
    except (ValueError, OSError) as error:
        final, damage = None, str(error)
    if final is not None:
        return _of_final(folder, facts, final)
    return _without_final(folder, facts, damage)


def _without_final(folder: Path, facts: "Facts", damage: str) -> Standing:
    """Of a training that has not ended, that an older version ended, or whose final network is damaged."""
    place = folder / MODEL
    found, problems = checkpoint.newest(folder / CHECKPOINTS)
    ended = False
    if found is not None:
        checkpoint.check_complete(folder / CHECKPOINTS, found)
        ended = is_end(facts.settings, found.record["history"], found.record["images"])
    if damage and not ended:
        raise ValueError(_no_end(damage, found, problems))
    final = read_older(folder, place, facts.settings) if problems and not ended else None
    if final is not None:
        return _of_final(folder, facts, final)
    if found is not None:
        return _of_checkpoint(folder, facts, found, damage, problems)
    if (place / CONFIG).is_file():
        config, weights = read_weights(place)
        _compare(folder, facts, config, _other_recipe(facts.settings, config))
        return Standing(weights, [])
    raise ValueError("\n".join([f"{folder} holds no checkpoint that can be read yet", *problems]))


def _of_final(folder: Path, facts: "Facts", final: Final) -> Standing:
    changed = facts.settings.differences(final.ending.settings) or _other_recipe(facts.settings, final.config)
    _compare(folder, facts, final.config, changed)
    return Standing(final.weights, final.ending.history)


def _of_checkpoint(folder: Path, facts: "Facts", found: Checkpoint, damage: str, problems: list[str]) -> Standing:
    """What a checkpoint holds, with a warning of what is damaged beside it."""
    step = f"that of step {found.record['step']:,} is read instead"
    if damage:
        problems = [*problems, f"{damage}; the last checkpoint holds the same network"]
        step += f". Training on with --resume, which is soon done, writes {folder / MODEL} anew"
    elif problems:
        step += ". Training on with --resume goes on from there"
    if problems:
        warnings.warn(f"{'; '.join(problems)}; {step}", stacklevel=5)
    own = Settings.from_json(found.record["settings"])
    _compare(folder, facts, found.record, facts.settings.differences(own))
    return Standing(judged_weights(found), found.record["history"])


def _no_end(damage: str, found: Checkpoint | None, problems: list[str]) -> str:
    """What to say where the final network is damaged and no checkpoint holds it."""
    if found is None:
        return "; ".join([damage, "no whole checkpoint is left to read instead", *problems])
    step = f"the last whole checkpoint is of step {found.record['step']:,}, before the end of the training"
    return "; ".join([damage, *problems, f"{step}. Training on with --resume goes on from there"])


def _other_recipe(settings: Settings, config: dict[str, Any]) -> list[str]:
    """How the network of the weights differs from the one that the settings name."""
    if settings.model == CUSTOM:
        return []
    wanted = {"name": settings.model, "options": json.loads(json.dumps(settings.model_options))}
    return [f"{key} was {config[key]!r}, now {wanted[key]!r}" for key in wanted if config[key] != wanted[key]]


def _compare(folder: Path, facts: "Facts", beside: dict[str, Any], changed: list[str]) -> None:
    """Refuse a run.json that belongs to another training than what lies beside it, a checkpoint or weights."""
    for name in ("classes", "image_shape"):
        before, now = beside.get(name), list(getattr(facts, name))
        if before not in (None, now):
            changed = [*changed, f"{name} was {before}, now {now}"]
    if changed:
        raise ValueError(f"{folder / RUN} does not belong to the weights beside it: {'; '.join(changed)}")
