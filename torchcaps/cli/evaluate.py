"""`torchcaps evaluate`: how good a trained network is, on clean, warped and overlapping test images."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from torchcaps._shown import shown_name
from torchcaps._telling import working
from torchcaps.cli._names import VIEWS, check_run, parts
from torchcaps.cli._say import say

if TYPE_CHECKING:
    from torchcaps.measures import AccuracyResult

MATRIX = 12  # classes up to which the whole confusion matrix is shown
KEPT = {"clean": "accuracy"}
"""What `torchcaps inspect` calls the accuracy on a view, where that is not the view's own name."""


def evaluate(
    run: Annotated[Path, typer.Argument(help="The directory of a training.")],
    on: Annotated[str, typer.Option(help="Views of the images, with commas: clean, affine, overlap.")] = "clean",
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Name the classes that score above this, instead of as many as an image shows. By default for data "
            "whose images show one object or two, and then as the loss reads scores."
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Images judged at once.")] = 256,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Judge a trained network by test images it has never seen; what was found is kept with the run.

    The accuracy of each class, and which are taken for which, are on the page of `torchcaps report` too.
    """
    names = parts(on, "view", VIEWS)
    if threshold is not None and not math.isfinite(threshold):
        raise ValueError(f"--threshold {threshold} is not allowed: give a number")
    check_run(run)
    with working("loading torch") as tell:
        from torchcaps.measures import check_views, judge
        from torchcaps.train import load_run, unfinished
        from torchcaps.train.findings import keep

        check_views(names)
        trained = load_run(run)
        data = trained.test_data()
        if tuple(data.classes) != tuple(trained.classes):
            raise ValueError(
                f"the network was trained to tell {', '.join(trained.classes)}, but the test images show "
                f"{', '.join(data.classes)}"
            )
        found = judge(trained.model, names, data, batch_size=batch_size, threshold=threshold, progress=tell)
    try:
        if threshold is None:
            keep(trained, {KEPT.get(name, name): result for name, result in found.items()})
    finally:  # what was found is shown even if it cannot be kept
        warning = unfinished(trained)
        if warning:
            say(f"torchcaps: {warning}", err=True)
        _show(found, as_json=as_json)


def _show(found: "dict[str, AccuracyResult]", *, as_json: bool) -> None:
    if as_json:
        say(json.dumps({name: _facts(result) for name, result in found.items()}, indent=2, ensure_ascii=False))
        return
    say("\n".join(_columns([("images", "accuracy", "95 % interval", "count"), *map(_row, found.items())])))
    for name, result in found.items():
        say("\n".join(["", f"{name}, class by class", *_by_class(result)]))


def _facts(result: "AccuracyResult") -> dict[str, Any]:
    score = result.score
    return {
        "accuracy": score.value,
        "count": score.count,
        "interval": list(score.interval),
        "by_class": {name: {"accuracy": one.value, "count": one.count} for name, one in result.by_class.items()},
        "classes": list(result.classes),
        "confusion": [list(row) for row in result.confusion],
    }


def _row(named: "tuple[str, AccuracyResult]") -> tuple[str, ...]:
    name, result = named
    low, high = result.score.interval
    return name, f"{result.score.value:.2%}", f"{low:.2%} – {high:.2%}", f"{result.score.count:,}"


def _by_class(result: "AccuracyResult") -> Iterator[str]:
    """Of each class its accuracy, and what it is taken for most; then all of it where there is room."""
    rows = [("class", "accuracy", "95 % interval", "count", "most often taken for")]
    for name, score in result.by_class.items():
        at = result.classes.index(name)
        wrong = {other: n for other, n in zip(result.classes, result.confusion[at], strict=True) if n and other != name}
        most = max(wrong, key=lambda other: wrong[other], default="")
        low, high = score.interval
        share, said = f"{score.value:.2%}", f"{most} ({wrong[most]:,})" if most else "–"
        rows.append((name, share, f"{low:.2%} – {high:.2%}", f"{score.count:,}", said))
    yield from _columns(rows)
    if len(result.classes) <= MATRIX:
        yield "\nshown ↓, named →"
        lines = [(name, *map(str, row)) for name, row in zip(result.classes, result.confusion, strict=True)]
        yield from _columns([("", *result.classes), *lines])


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Names to the left, numbers to the right; nothing is ever cut."""
    rows = [tuple(map(shown_name, row)) for row in rows]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [
        [f"{c:>{w}}" if k else f"{c:<{w}}" for k, (c, w) in enumerate(zip(row, wide, strict=True))] for row in rows
    ]
    return ["  ".join(row).rstrip() for row in cells]
