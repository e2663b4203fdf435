"""All sections that can be written about networks from what was measured of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from torchcaps.attacks import Robustness
from torchcaps.data import Batch
from torchcaps.measures import (
    AccuracyResult,
    AffineCurvesResult,
    CompactnessResult,
    Nothing,
    ParseTreeResult,
    Result,
    Table,
)
from torchcaps.measures.sweep import UNITS
from torchcaps.network import Model
from torchcaps.report._gather_health import health, network_activity
from torchcaps.report._gather_trees import network_trees
from torchcaps.report._section import Section
from torchcaps.report.activity import ActivityByLayer
from torchcaps.report.compactness import Compact, CompactnessTable
from torchcaps.report.confusion import Confusion
from torchcaps.report.health import HealthCards
from torchcaps.report.robustness import RobustnessCurves, Sweep
from torchcaps.report.tables import Tables
from torchcaps.report.trees import Trees

TOLD = ("accuracy", "affine", "overlap", "activity", "dynamics", "parse_tree", "affine_curves", "compactness")
"""Measures that have a section of their own, or a column in the table."""


@dataclass(frozen=True)
class Network:
    """A trained network, what was measured of it by name, and a few images it is shown."""

    name: str
    model: Model
    found: Mapping[str, Result]
    batch: Batch
    classes: Sequence[str]


def about(networks: Sequence[Network]) -> list[Section]:
    """The sections for which something was measured, in the order of a page."""
    makers = (_confusion, _health, _activity, _trees, _robustness, _compactness)
    made = (make(networks) for make in makers)
    return [section for section in made if section is not None]


def others(networks: Sequence[Network]) -> list[Section]:
    """What was measured and has no section of its own, as tables."""
    rest = [(one.name, dict(_rest(one))) for one in networks]
    tables = [(name, found) for name, found in rest if found]
    return [Tables(networks=tables)] if tables else []


def _confusion(networks: Sequence[Network]) -> Section | None:
    found = [(one.name, one.found.get("accuracy")) for one in networks]
    known = [(name, result) for name, result in found if isinstance(result, AccuracyResult)]
    return Confusion(networks=known) if known else None


def _health(networks: Sequence[Network]) -> Section | None:
    cards = [health(one.name, one.found) for one in networks]
    known = [card for card in cards if card is not None]
    return HealthCards(cards=known) if known else None


def _activity(networks: Sequence[Network]) -> Section | None:
    tables = [network_activity(one.name, one.found) for one in networks]
    known = [table for table in tables if table is not None]
    return ActivityByLayer(networks=known) if known else None


def _trees(networks: Sequence[Network]) -> Section | None:
    known = [
        network_trees(one.name, one.model, found, one.batch, one.classes)
        for one in networks
        if isinstance(found := one.found.get("parse_tree"), ParseTreeResult)
    ]
    return Trees(networks=known) if known else None


def _robustness(networks: Sequence[Network]) -> Section | None:
    sweeps: dict[tuple[str, str, tuple[float, ...]], dict[str, list[float]]] = {}
    for one in networks:
        for heading, across, values, shares in _curves(one):
            sweeps.setdefault((heading, across, values), {})[one.name] = shares
    made = [Sweep(*key, shares) for key, shares in sweeps.items()]
    return RobustnessCurves(networks=[one.name for one in networks], sweeps=made) if made else None


def _curves(one: Network) -> Iterator[tuple[str, str, tuple[float, ...], list[float]]]:
    """Heading, axis, values and accuracies of every curve that is known of a network."""
    for found in one.found.values():
        if isinstance(found, AffineCurvesResult):
            for curve in found.curves:
                name, unit = curve.factor.replace("_", " "), UNITS[curve.factor].strip()
                across = f"{name} ({unit})" if unit else name
                yield name.capitalize(), across, curve.values, [hits / found.images for hits in curve.hits]
        if isinstance(found, Robustness):
            for name, points in found.curves.items():
                places = tuple(point.at for point in points)
                shares = [point.found.score.value for point in points]
                if found.axis == "eps":
                    places, shares = (0.0, *places), [found.clean.score.value, *shares]
                yield f"Attack: {name}", f"{found.axis} ({found.bound})", places, shares


def _compactness(networks: Sequence[Network]) -> Section | None:
    rows, factors = [], dict[str, None]()
    for one in networks:
        found = one.found.get("compactness")
        if isinstance(found, CompactnessResult):
            values = {
                f.factor.replace("_", " "): None if f.mean is None or f.deviation is None else (f.mean, f.deviation)
                for f in found.factors
            }
            factors |= dict.fromkeys(values)
            rows.append(Compact(one.name, math.log(found.dims), values))
    return CompactnessTable(factors=list(factors), rows=rows) if rows else None


def _rest(one: Network) -> Iterator[tuple[str, Table]]:
    for name, found in one.found.items():
        if name not in TOLD and not isinstance(found, Robustness | Nothing):
            yield name.replace("_", " "), found.table()
