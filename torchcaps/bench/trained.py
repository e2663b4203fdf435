"""Train to a target, once for all who need it."""

import json
import shutil
from pathlib import Path
from typing import Any

from torchcaps.bench import store
from torchcaps.bench.jobs import Training, digest
from torchcaps.bench.place import Place
from torchcaps.bench.subject import Trained
from torchcaps.data import DataUnavailableError
from torchcaps.models import from_pretrained
from torchcaps.network import CONFIG
from torchcaps.train import checkpoint, fit
from torchcaps.train.allocator import keep_freed_memory
from torchcaps.train.run import CHECKPOINTS, MODEL

SUMMARY = "summary.json"


class TrainingFailedError(RuntimeError):
    """A training that a judging needs has failed."""


def trained(training: Training, place: Place) -> Trained:
    """A training's network, trained now unless it is there; another process that is at it is waited for."""
    folder = place.weights(training)
    with place.lock(training.name, wait=True):
        if not (folder / SUMMARY).is_file():
            _train_and_store(training, place, folder)
    summary = json.loads((folder / SUMMARY).read_text())
    return Trained(from_pretrained(folder / MODEL).eval(), training.settings, folder=folder, **summary)


def _train_and_store(training: Training, place: Place, folder: Path) -> None:
    given_up, absent = (
        folder / f"failed-{place.run}",
        place.work / "absent" / f"{digest({place.run: training.data_hash})}",
    )
    if given_up.is_file():
        raise TrainingFailedError(given_up.read_text())
    if absent.is_file():  # asking all sources again takes long
        raise DataUnavailableError(absent.read_text())
    line: dict[str, Any]
    try:
        summary = _train(training, folder)
        line = {"state": store.DONE, **{name: value for name, value in summary.items() if name != "seen"}}
    except DataUnavailableError as error:
        absent.parent.mkdir(parents=True, exist_ok=True)
        absent.write_text(str(error))
        raise
    except Exception as error:
        line = {"state": store.FAILED, "error": f"{type(error).__name__}: {error}"}
    facts = {"job": "training", **training.to_json(), "seed": training.seed, **place.origin()}
    store.append(place.file(training), {**facts, **line})
    if line["state"] == store.FAILED:
        folder.mkdir(parents=True, exist_ok=True)
        given_up.write_text(f"its training failed: {line['error']}")
        raise TrainingFailedError(given_up.read_text())


def _train(training: Training, folder: Path) -> dict[str, Any]:
    """Go on from the last checkpoint, if there is one, to the end."""
    keep_freed_memory()
    (folder / MODEL / CONFIG).unlink(missing_ok=True)  # the callbacks' state is needed too, which a checkpoint holds
    run = fit(**training.settings.to_json(), out=folder, resume=True, quiet=True)
    target, last = training.settings.until_accuracy, run.history[-1]
    kept, _ = checkpoint.newest(folder / CHECKPOINTS)
    summary = {
        "history": run.history,
        "seen": dict(kept.record["callbacks"]) if kept else {},
        "reached": None if target is None else last.get("validation_accuracy", 0.0) >= target,
        "steps": last["step"],
        "seconds": round(sum(entry["seconds"] for entry in run.history), 2),
    }
    unfinished = folder / f"{SUMMARY}.part"
    unfinished.write_text(json.dumps(summary))
    unfinished.replace(folder / SUMMARY)
    shutil.rmtree(folder / CHECKPOINTS)  # the weights lie beside; an optimiser's moments are twice their size
    return summary
