"""Train to a target, once for all who need it."""

import json
import shutil
from pathlib import Path
from typing import Any

from torchcaps._atomic import write_text
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

SUMMARY, ORIGIN = "summary.json", "origin"


class TrainingFailedError(RuntimeError):
    """A training that a judging needs has failed."""


def trained(training: Training, place: Place) -> Trained:
    """A training's network, trained now unless it is there; another process that is at it is waited for."""
    folder = place.weights(training)
    with place.lock(training.name, wait=True):
        if not (folder / SUMMARY).is_file():
            _train_or_give_up(training, place, folder)
        summary = json.loads((folder / SUMMARY).read_text())
        origin = summary.pop(ORIGIN, None) or place.origin()
        if not store.holds(place.results, training.name):  # new, or a process ended between the summary and the store
            shown = {name: value for name, value in summary.items() if name != "seen"}
            _store(training, place, {**origin, "state": store.DONE, **shown})
    return Trained(from_pretrained(folder / MODEL).eval(), training.settings, folder=folder, **summary)


def _store(training: Training, place: Place, line: dict[str, Any]) -> None:
    facts = {"job": "training", **training.to_json(), "seed": training.seed}
    store.append(place.file(training), {**facts, **line, "scale": place.scale})


def _train_or_give_up(training: Training, place: Place, folder: Path) -> None:
    """Train to the summary; what failed in this run is not tried again in it."""
    given_up, absent = (
        folder / f"failed-{place.run}",
        place.work / "absent" / f"{digest({place.run: training.data_hash})}",
    )
    if given_up.is_file():
        raise TrainingFailedError(given_up.read_text())
    if absent.is_file():  # asking all sources again takes long
        raise DataUnavailableError(absent.read_text())
    try:
        _train(training, place, folder)
    except DataUnavailableError as error:
        write_text(absent, str(error))
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        _store(training, place, {**place.origin(), "state": store.FAILED, "error": why})
        write_text(given_up, f"its training failed: {why}")
        raise TrainingFailedError(given_up.read_text()) from error


def _train(training: Training, place: Place, folder: Path) -> None:
    """Go on from the last checkpoint, if there is one, to the end, and leave a summary."""
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
        ORIGIN: place.origin(),
    }
    write_text(folder / SUMMARY, json.dumps(summary))
    shutil.rmtree(folder / CHECKPOINTS)  # the weights lie beside; an optimiser's moments are twice their size
