"""A training on disk: one safetensors file with JSON in its header, whole or not there at all."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from torchcaps._version import __version__
from torchcaps.train.migrate import FORMAT, migrated
from torchcaps.train.stamps import forget, remember, stamp, unchanged

AT_LEAST = 2  # while a training goes on: the last one may be damaged
NEEDED = {"settings": dict, "step": int, "history": list, "sums": dict, "optimiser": list, "images": int}
ENDING, UNFINISHED, ASIDE = ".safetensors", ".part", ".damaged"


class Checkpoint(NamedTuple):
    """Everything a training needs to go on: JSON of what it is and where it stands, and all its tensors."""

    record: dict[str, Any]
    tensors: dict[str, Tensor]


def save(folder: Path, step: int, checkpoint: Checkpoint, *, keep: int = AT_LEAST) -> Path:
    """Write under a temporary name, flush, rename, and let go of all but the last `keep` whole ones, two at least."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"step-{step:09d}{ENDING}"
    unfinished = target.with_suffix(UNFINISHED)
    tensors = {name: t.detach().cpu().contiguous() for name, t in checkpoint.tensors.items()}
    record = json.dumps({"format": FORMAT, "torchcaps": __version__, **checkpoint.record})
    header = {"torchcaps": record, "sha256": _digest(record, tensors)}
    try:
        save_file(tensors, unfinished, metadata=header)
        _flush(unfinished)
        os.replace(unfinished, target)
        _flush(folder)
    except (OSError, SafetensorError) as error:
        raise lost(folder, target.name, error) from error
    finally:
        unfinished.unlink(missing_ok=True)
    remember(target, stamp(target))
    # A later one does not count: what was just written stays.
    _let_go(folder, [path for path in listed(folder) if path <= target], max(keep, AT_LEAST), is_whole)
    return target


def prune(folder: Path, keep: int) -> list[str]:
    """Let go of all but the last that are whole; a line for each that is newer than one of these, and damaged.

    What it relies on is read again to the last bit, and nothing is when there are no more than `keep`.
    """
    problems: list[str] = []

    def whole(path: Path) -> bool:
        try:
            load(path)
        except (ValueError, OSError) as error:
            problems.append(str(error))
            return False
        return True

    paths = listed(folder)
    if len(paths) > keep:
        _let_go(folder, paths, keep, whole)
    return problems


def is_whole(path: Path) -> bool:
    """Whether a checkpoint can be read, as far as this process does not know it already."""
    if unchanged(path):
        return True
    try:
        load(path)
    except (ValueError, OSError):
        return False
    return True


def last_whole(folder: Path) -> Path | None:
    """The newest checkpoint that is not damaged."""
    return next(filter(is_whole, reversed(listed(folder))), None)


def set_aside(paths: Iterable[Path]) -> None:
    """Give damaged checkpoints a name under which none is looked for; later saves let go of them as of any old one."""
    for path in paths:
        with suppress(OSError):  # it is named anyhow
            path.replace(path.with_suffix(ASIDE))


def _let_go(folder: Path, paths: list[Path], keep: int, whole: Callable[[Path], bool]) -> None:
    """Of these, oldest first, everything that is older than the last `keep` whole ones."""
    found = 0
    for path in reversed(paths):
        if found < keep:
            found += whole(path)
            oldest = path
            continue
        with suppress(OSError):  # a folder of that name is not ours
            path.unlink(missing_ok=True)
        forget(path)
    if found == keep:
        for path in folder.glob(f"step-*{ASIDE}"):
            if path.stem < oldest.stem:
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def step_of(path: Path) -> int:
    """The step after which a checkpoint was written, by its name.

    >>> step_of(Path("step-000000042.safetensors"))
    42
    """
    return int(path.stem.removeprefix("step-"))


def listed(folder: Path) -> list[Path]:
    """The checkpoints of a folder, oldest first."""
    return sorted(folder.glob(f"step-*{ENDING}"))


def load(path: Path) -> Checkpoint:
    """A checkpoint, checked to the last bit. Nothing is ever unpickled, so a foreign file can do no harm."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no file, but a folder, FIFO, socket or device")
    try:
        seen = stamp(path)
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is not a safetensors file, or not a whole one: {error}") from error
    if "torchcaps" not in header:
        raise ValueError(f"{path} is a safetensors file, but not a torchcaps checkpoint")
    record = _record(path, header["torchcaps"])
    if header.get("sha256") != _digest(header["torchcaps"], tensors):
        raise ValueError(f"{path} is damaged: its checksum differs from the one it was saved with")
    remember(path, seen)
    return Checkpoint(record, tensors)


def newest(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The last checkpoint that can be read, if any, and a line for each later one that cannot."""
    found, damaged = search(folder)
    return found, list(damaged.values())


def search(folder: Path) -> tuple[Checkpoint | None, dict[Path, str]]:
    """As `newest`, with the file that each line is about."""
    damaged: dict[Path, str] = {}
    for path in reversed(listed(folder)):
        try:
            return load(path), damaged
        except (ValueError, OSError) as error:
            damaged[path] = str(error)
    return None, damaged


def check_complete(folder: Path, checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint, sound as a file, that does not hold what a training needs to go on or to be asked."""
    record = checkpoint.record
    missing = [key for key, kind in NEEDED.items() if not isinstance(record.get(key), kind) or record[key] == {}]
    if missing:
        raise ValueError(f"{folder} holds a checkpoint that is not complete: it has no {', '.join(missing)}")


def unpack_model(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """The network's part of a checkpoint, by the names of its `state_dict`."""
    return {name.removeprefix("model."): t for name, t in checkpoint.tensors.items() if name.startswith("model.")}


def pack_optimiser(optimiser: torch.optim.Optimizer) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """An optimiser's state as flat tensors, and its groups as JSON holds them."""
    state = optimiser.state_dict()
    tensors = {
        f"optimiser.{index}.{key}": torch.as_tensor(value)
        for index, entry in state["state"].items()
        for key, value in entry.items()
        if value is not None
    }
    return tensors, state["param_groups"]


def unpack_optimiser(
    optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], groups: list[dict[str, Any]]
) -> None:
    """Put back what `pack_optimiser` took. How the steps are computed depends on the machine, and stays."""
    groups = [{**group, "fused": own["fused"]} for group, own in zip(groups, optimiser.param_groups, strict=True)]
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "optimiser":
            index, _, key = rest.partition(".")
            state.setdefault(int(index), {})[key] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": groups})


def _record(path: Path, text: str) -> dict[str, Any]:
    try:
        record: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: its record is not JSON ({error})") from error
    if not isinstance(record, dict):
        raise ValueError(f"{path} is damaged: its record is no JSON object")
    try:
        record["settings"] = migrated(record.get("settings", {}), record.get("format"))
    except ValueError as error:
        raise ValueError(f"{path}, saved by torchcaps {record.get('torchcaps')}, cannot be read: {error}") from error
    return record


def _digest(record: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(record.encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}\n".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def lost(folder: Path, name: str, error: Exception) -> OSError:
    """What to raise when a file could not be written: what is still there, and what to do."""
    kept = last_whole(folder)
    rest = f"the checkpoint before it is whole: {kept}" if kept else "there is no earlier checkpoint"
    return OSError(f"{folder}: {name} could not be saved ({error}); {rest}. Make room and use --resume")
