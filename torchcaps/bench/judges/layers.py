"""Layer by layer: how much routes differ, how active capsules are, how many are dead (mitterreiter2023, section 4)."""

from typing import Any

from torchcaps.bench.evidence import Number
from torchcaps.bench.judges._images import shown
from torchcaps.bench.subject import Found, Subject
from torchcaps.measures import Activity, ActivityResult, DynamicsResult, RoutingDynamics, walk

ACTIVITY = ("cnm", "cns", "car", "cas", "cdr", "cds")


def layers(subject: Subject, *, view: str = "affine", count: int = 0, **options: Any) -> Found:
    """For each layer, from 1 up, the numbers of the paper's tables 1 and 2, "alive" being how many are not dead.

    "dyr" and "dys" are over living capsules, "dyr_all" and "dys_all" as printed; "dead" is the share of dead capsules
    in all layers between the primary and the class capsules, "living" that of the others. Where a routing's couplings
    or activations mean nothing, its numbers are left out, or not defined.
    """
    model = subject.own.model
    dynamics, activity = walk(model, shown(subject, view, count, **options), [RoutingDynamics(), Activity()])
    numbers = {"dead": Number(None), "living": Number(None)}
    if isinstance(dynamics, DynamicsResult):
        numbers |= _dynamics(dynamics)
    if isinstance(activity, ActivityResult):
        numbers |= _activity(activity)
    return Found(numbers, {"activity": activity.to_json()})


def _dynamics(found: DynamicsResult) -> dict[str, Number]:
    numbers: dict[str, Number] = {}
    for k, layer in enumerate(found.layers, 1):
        for name in ("dyr", "dys"):
            numbers[f"{name}/{k}"] = Number(None if layer.living is None else getattr(layer.living, name))
            numbers[f"{name}_all/{k}"] = Number(None if layer.printed is None else getattr(layer.printed, name))
    return numbers


def _activity(found: ActivityResult) -> dict[str, Number]:
    every = list(enumerate(found.layers, 1))
    numbers = {f"{name}/{k}": Number(getattr(layer, name)) for k, layer in every for name in ACTIVITY}
    numbers |= {f"alive/{k}": Number(None if a.cds is None else a.capsules - a.cds) for k, a in every}
    hidden = found.layers[1:-1]
    if not hidden or hidden[0].why:
        return numbers
    share = sum(layer.cds or 0 for layer in hidden) / sum(layer.capsules for layer in hidden)
    return {**numbers, "dead": Number(share), "living": Number(1 - share)}
