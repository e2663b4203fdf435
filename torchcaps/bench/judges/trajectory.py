"""Views of the test images where a training came to chosen validation accuracies: networks are compared there."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

from torchcaps.bench.evidence import Number
from torchcaps.bench.judges.accuracy import accuracy
from torchcaps.bench.subject import Found, Subject
from torchcaps.train.trajectory import FOLDER, Point, weights_at


class Place(NamedTuple):
    """Where on the way a level was reached: between two points, by the weight of the second, or at one."""

    before: Point
    after: Point
    weight: float

    @property
    def accuracy(self) -> float:
        """The validation accuracy there."""
        return (1 - self.weight) * self.before.accuracy + self.weight * self.after.accuracy


def trajectory(
    subject: Subject,
    *,
    levels: Sequence[float] = (),
    views: Mapping[str, Mapping[str, Any]] | None = None,
    count: int = 0,
) -> Found:
    """Every view at each level, "{view}@{level:g}", and at the last weights, "{view}"; with "validation" in its place
    the validation accuracy there.

    Between two points outcomes are interpolated, image by image. The first weights stand for levels that they have
    already, and the last for those that were never reached, so that every seed has every number.

    Args:
        levels: validation accuracies.
        views: of each name the options of the judge `accuracy`; its `view` is the name if not given. Clean images alone
            if there is none.
        count: how many test images; 0 for all.
    """
    views = {"clean": {}} if views is None else views
    course = points(subject)
    places = {f"@{level:g}": place(course, level) for level in levels} | {"": Place(course[-1], course[-1], 0.0)}
    wanted = sorted({point for there in places.values() for point in (there.before, there.after)})
    seen = {point: _seen(at(subject, point), views, count) for point in wanted}
    numbers, details = {}, {}
    for name in views:
        for suffix, there in places.items():
            a, b = seen[there.before][name], seen[there.after][name]
            numbers[f"{name}{suffix}"] = a if there.before == there.after else Number.between(a, b, there.weight)
        details[name] = [[point.images, point.accuracy, seen[point][name].value] for point in wanted]
    numbers |= {f"validation{suffix}": Number(there.accuracy) for suffix, there in places.items()}
    return Found(numbers, {"trajectory": details})


def points(subject: Subject) -> list[Point]:
    """Where the training kept its weights."""
    found = [Point(*point) for point in subject.own.seen.get("trajectory", [])]
    if not found:
        raise ValueError("the training kept no weights on its way: its settings need the callback 'trajectory'")
    return found


def place(course: Sequence[Point], level: float) -> Place:
    """Where a level was first reached.

    >>> there = place([Point(1, 32, 6, 10), Point(2, 64, 8, 10)], 0.75)
    >>> round(there.weight, 3), round(there.accuracy, 3)
    (0.75, 0.75)
    """
    k = next((k for k, point in enumerate(course) if point.accuracy >= level), len(course))
    if k in (0, len(course)):
        only = course[min(k, len(course) - 1)]
        return Place(only, only, 0.0)
    before, after = course[k - 1], course[k]
    return Place(before, after, (level - before.accuracy) / (after.accuracy - before.accuracy))


def at(subject: Subject, point: Point) -> Subject:
    """The same row with the weights of a point."""
    model = deepcopy(subject.own.model)
    model.load_state_dict(weights_at(subject.own.folder / FOLDER, point))
    return replace(subject, trained=replace(subject.own, model=model))


def _seen(subject: Subject, views: Mapping[str, Mapping[str, Any]], count: int) -> dict[str, Number]:
    made = {name: {"view": name, "count": count, **options, "on": name} for name, options in views.items()}
    return {name: accuracy(subject, **options).numbers[name] for name, options in made.items()}
