"""From what was measured of a network's capsules to the plain data of the sections about them."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from torchcaps.measures import ActivityResult, DynamicsResult, ParseTreeResult, Result
from torchcaps.measures.activity import LayerActivity
from torchcaps.report.activity import LayerLine, NetworkActivity
from torchcaps.report.health import Health, Sign

STATIC = 2.0  # targets; with fewer a route is mostly fixed (mitterreiter2023, section 4.1)


def dead_of(activity: Result | None) -> tuple[int, int] | None:
    """How many capsules are dead, and of how many it is known."""
    if not isinstance(activity, ActivityResult):
        return None
    known = [(layer.cds, layer.capsules) for layer in activity.layers if layer.cds is not None]
    return (sum(dead for dead, _ in known), sum(n for _, n in known)) if known else None


def dynamics_of(dynamics: Result | None) -> float | None:
    """dyr, the mean over layers: over living capsules where it is known which they are, else over all."""
    return _mean([dyr for dyr, _ in _dynamics(dynamics).values()])


def network_activity(name: str, found: Mapping[str, Result]) -> NetworkActivity | None:
    """The table of a network; None if nothing is known of its capsules."""
    activity, dynamics, trees = (found.get(what) for what in ("activity", "dynamics", "parse_tree"))
    routes, sizes = _dynamics(dynamics), dict[str, int]()
    known: dict[str, LayerActivity] = {}
    for result in (dynamics, activity, trees):
        if isinstance(result, DynamicsResult | ActivityResult | ParseTreeResult):
            sizes |= {layer.layer: layer.capsules for layer in result.layers}
    if isinstance(activity, ActivityResult):
        known = {layer.layer: layer for layer in activity.layers}
    whys = {one.layer: one.why for one in dynamics.layers} if isinstance(dynamics, DynamicsResult) else {}
    lines = []
    for layer, capsules in sizes.items():
        a = known.get(layer, LayerActivity(layer, capsules, whys.get(layer, "")))
        lines.append(LayerLine(layer, capsules, a.cnm, a.car, a.cdr, *routes.get(layer, (None, None)), a.why))
    return NetworkActivity(name, lines) if lines else None


def health(name: str, found: Mapping[str, Result]) -> Health | None:
    """The card of a network; None if nothing is known of its capsules."""
    table = network_activity(name, found)
    if table is None:
        return None
    signs = [Sign("capsules", f"{sum(line.capsules for line in table.layers):,}", f"in {len(table.layers)} layers")]
    dead = dead_of(found.get("activity"))
    if dead is None:
        signs.append(Sign("dead", "–", "they have no activation, so that nobody knows"))
    else:
        worst = max(table.layers, key=lambda line: line.dead or 0.0)
        where = f"most in {worst.layer}, {100 * (worst.dead or 0):.0f} %" if dead[0] else "every one is used"
        signs.append(Sign("dead", f"{dead[0]:,} of {dead[1]:,}", where, alarm=dead[0] > 0))
    active = _mean([line.active for line in table.layers])
    if active is not None:
        signs.append(Sign("active for an image", f"{100 * active:.0f} %", "mean over layers"))
    rate, targets = (_mean([getattr(line, part) for line in table.layers]) for part in ("dynamics", "targets"))
    if rate is not None and targets is not None:
        fixed = targets < STATIC
        detail = f"{targets:.1f} targets per capsule" + (": routes are mostly fixed" if fixed else "")
        signs.append(Sign("routing dynamics", f"{rate:.2f}", detail, alarm=fixed))
    return Health(name, signs)


def _dynamics(found: Result | None) -> dict[str, tuple[float | None, float | None]]:
    """By layer dyr and dys, over living capsules where it is known which they are, else over all."""
    if not isinstance(found, DynamicsResult):
        return {}
    parts = {layer.layer: layer.living or layer.printed for layer in found.layers}
    return {name: (part.dyr, part.dys) for name, part in parts.items() if part is not None}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
