"""The card of a network: its measures in a few lines, computed once and kept; those of shipped weights ship too."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torchcaps._atomic import write_text
from torchcaps.explorer.gallery import Exhibit
from torchcaps.measures import (
    AccuracyResult,
    ActivityResult,
    DynamicsResult,
    Nothing,
    Result,
    SymmetryResult,
    inspect,
)
from torchcaps.report import dead_of, dynamics_of, interval, percent
from torchcaps.train.findings import keep_if_possible, kept

SHIPPED = Path(__file__).parent / "findings"
NAMES = {
    "accuracy": "accuracy",
    "affine": "affine accuracy",
    "activity": "dead capsules",
    "dynamics": "routing dynamics",
    "symmetry": "symmetry",
}
WHAT = tuple(NAMES)
IMAGES = 500  # as `torchcaps inspect` takes them
NEGATED = "scores of negated images"
Row = dict[str, str]


def card(exhibit: Exhibit) -> dict[str, Any]:
    """Accuracy, affine images, dead capsules, routing dynamics and symmetry, each with a word on what it says."""
    with exhibit.lock:
        if exhibit.findings is None:
            exhibit.findings = _found(exhibit)
        found = exhibit.findings
    accuracy = found["accuracy"]
    images = accuracy.count if isinstance(accuracy, AccuracyResult) else 0
    return {"rows": [row for row in map(_row, found, found.values()) if row], "note": f"By {images:,} test images."}


def shipped(name: str) -> dict[str, Result] | None:
    """What was measured of weights that ship, when they were made."""
    path = SHIPPED / f"{name.replace('/', '--')}.json"
    if not path.is_file():
        return None
    return {what: Result.from_json(stored) for what, stored in json.loads(path.read_text()).items()}


def ship(name: str, found: Mapping[str, Result]) -> None:
    """Write what was measured of weights that are to ship."""
    stored = {what: result.to_json() for what, result in found.items()}
    write_text(SHIPPED / f"{name.replace('/', '--')}.json", json.dumps(stored) + "\n")


def _found(exhibit: Exhibit) -> dict[str, Result]:
    """What ships, or was kept with the run; what is missing is measured, and kept."""
    known = (shipped(exhibit.id) or {}) if exhibit.run is None else kept(exhibit.run)
    missing = [what for what in WHAT if what not in known]
    if missing:
        data = exhibit.samples if exhibit.run is None else exhibit.run.test_data(IMAGES)
        measured = inspect(exhibit.model, data, missing)
        known = {**known, **measured}
        if exhibit.run is not None and exhibit.run.directory is not None:
            keep_if_possible(exhibit.run, measured)
    return {what: known[what] for what in WHAT}


def _row(what: str, found: Result) -> Row | None:
    """A line of the card; None where there is nothing to say."""
    if isinstance(found, Nothing):
        return _said(NAMES[what], "–", found.why)
    if isinstance(found, AccuracyResult):
        return _said(NAMES[what], percent(found.score), interval(found.score))
    if isinstance(found, ActivityResult):
        dead = dead_of(found)
        return _said(
            NAMES[what], "–" if dead is None else f"{dead[0]:,} of {dead[1]:,}", f"for {found.images:,} images"
        )
    if isinstance(found, DynamicsResult):
        rate = dynamics_of(found)
        return _said(NAMES[what], "–" if rate is None else f"{rate:.2f}", "1 is the most possible")
    if isinstance(found, SymmetryResult):
        even = next((part.even for part in found.parts if part.what == NEGATED), None)
        return _said(NAMES[what], "–" if even is None else f"{even:.2f}", "change of the scores for the negative image")
    return None


def _said(name: str, value: str, note: str) -> Row:
    return {"name": name, "value": value, "note": note}
