"""Doing the work: have it trained, judge it, store what was found. Whoever calls, on whatever machine, it happens here.

Finished work is skipped, a killed training goes on from its checkpoint, what fails is stored as failed. A lock for each
job keeps two processes from doing the same.
"""

import time
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from filelock import Timeout

from torchcaps.bench import store
from torchcaps.bench.jobs import Judging, told
from torchcaps.bench.judges import JUDGES
from torchcaps.bench.place import Place
from torchcaps.bench.subject import Found, Subject, Trained, to_json
from torchcaps.bench.trained import trained
from torchcaps.data import DataUnavailableError

RETRY_SECONDS = 0.5


def perform(jobs: Iterable[Judging], place: Place) -> Iterator[tuple[Judging, str]]:
    """Judge each, with all that must be done before, and tell how it ended: "done", "failed" or "unavailable".

    Jobs that other processes are at come last, and are only waited for.
    """
    waiting, refused = list(jobs), 0
    while waiting:
        job = waiting.pop(0)
        try:
            with place.lock(job.name, wait=False):
                state = _finished(job, place) or _judge_and_store(job, place)
        except Timeout:
            waiting.append(job)
            refused += 1
            time.sleep(RETRY_SECONDS if refused >= len(waiting) else 0)
            continue
        refused = 0
        yield job, state


def failure(job: Judging, place: Place, error: str) -> dict[str, Any]:
    """The line of a job whose process ended without a word."""
    return {**_facts(job, place), "state": store.FAILED, "error": error}


def _finished(job: Judging, place: Place) -> str:
    lines, _ = store.read(place.file(job))
    return store.DONE if any(line["name"] == job.name and line["state"] == store.DONE for line in lines) else ""


def _judge_and_store(job: Judging, place: Place) -> str:
    line: dict[str, Any]
    try:
        line = {"state": store.DONE, **_judge(job, place)}
    except DataUnavailableError as error:
        line = {"state": store.UNAVAILABLE, "error": str(error)}
    except Exception as error:  # whatever it is: this job is shown as failed, and the others go on
        line = {"state": store.FAILED, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
    store.append(place.file(job), {**_facts(job, place), **line})
    return str(line["state"])


def _judge(job: Judging, place: Place) -> dict[str, Any]:
    own = None if job.training is None else trained(job.training, place)
    subject = Subject(job.seed, own, tuple(trained(other, place) for other in job.others))
    line: dict[str, Any] = {"numbers": {}, "details": {}}
    began = time.perf_counter()
    for measure in job.measures:
        torch.manual_seed(job.seed)
        found: Found = JUDGES[measure.name](subject, **measure.options)
        line["numbers"] |= {name: to_json(number) for name, number in found.numbers.items()}
        line["details"] |= found.details
    return {**line, **_told(own), "seconds": round(time.perf_counter() - began, 2)}


def _told(own: Trained | None) -> dict[str, Any]:
    if own is None:
        return {}
    return {"reached": own.reached, "steps": own.steps, "training_seconds": own.seconds}


def _facts(job: Judging, place: Place) -> dict[str, Any]:
    own = job.training
    return {
        "job": "judging",
        "name": job.name,
        "artefact": job.artefact,
        "version": job.version,
        "row": job.row,
        "seed": job.seed,
        "measures": [list(measure) for measure in job.measures],
        "settings": None if own is None else told(own.settings),
        "data": None if own is None else own.data_hash,
        "trainings": [training.name for training in job.trainings],
        **place.origin(),
    }
