"""The sentences of mitterreiter2023, each as one claim about networks that name 99.2 % of held-out placed digits.

    torchcaps bench run mitterreiter2023/sentences --scale trained

Cost at `trained`: about nine hours of one core. All train on placed digits until the paper's accuracy and are looked
at on affine digits. The paper gives no first weights: claims are judged for N(0, 0.2), with which networks look like
its own, and once more for the library's start, as findings of our own. That capsules do not scale beyond toys is not
decidable here: the paper argues from data sets and depths that two cores cannot train. Expected: routing nearly
static, and deaths that depend on the start.
"""

from typing import Any

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import Claim, above, at_least, below, counted, every, gated, greater, rises
from torchcaps.bench.evidence import At
from torchcaps.bench.gates import reached
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid
from torchcaps.measures.sweep import FACTORS

LEVEL = 0.992
"""Validation accuracy at which networks stop, the paper's."""
STATIC, MANY = 2.0, 0.1
"""Targets of a capsule below which its routing counts as nearly static; the share of hidden capsules that is "many"."""
POINT, SHORTER, FALLEN = 0.005, 1.0, 0.02
"""The margin of accuracy, in orders of magnitude that of gradients, and that of a correlation."""
STARTS: dict[str, dict[str, Any]] = {"": {"init_std": 0.2}, "_library": {}}
SAID = {"": "N(0, 0.2)", "_library": "the library's start"}
MEASURES = (
    MeasureSpec("layers", {"count": 10_000}),
    MeasureSpec("invariance", {"count": 1000}),
    MeasureSpec("accuracy", {"view": "affine", "count": 10_000}),
    MeasureSpec("starvation"),
    MeasureSpec("course"),
)


def _row(name: str, title: str, start: str, **options: Any) -> Row:
    settings = {"options": {**STARTS[start], **options}}
    return Row(name + start, f"{title}, {SAID[start]}", settings, measures=MEASURES)


ROUTED = tuple(_row("rba", "routing by agreement", start) for start in STARTS)
UNIFORM = tuple(_row("uniform", "uniform coupling", start, routing="uniform") for start in STARTS)
DEPTHS = tuple(_row(f"depth_{n}", f"{n} layers", "", layers=n) for n in (3, 7))
ROWS = (Row("formulas", "theorems 1 and 2", None, measures=(MeasureSpec("formulas"),)), *ROUTED, *UNIFORM, *DEPTHS)


def _claims(start: str) -> dict[str, Claim]:
    rba, uniform = f"rba{start}", f"uniform{start}"
    learned, both = reached([rba], LEVEL), reached([rba, uniform], LEVEL)
    weak, strong = ([At(rba, f"{f}/{layer}/{s}") for f in FACTORS for layer in (2, 3, 4)] for s in (1, 5))
    static = every(*(below(At(rba, f"dys/{layer}"), STATIC) for layer in (2, 3)))
    varied = greater(weak, strong, smallest=FALLEN)
    found = {
        "static": gated(static, *learned),
        "not_invariant": gated(varied, *learned),
        "no_parse_tree": gated(every(static, varied), *learned),
        "starvation": gated(above(rba, MANY, "dead"), *learned),
        "uniform_no_worse": gated(at_least(uniform, rba, "affine", margin=POINT), *both),
        "vanishing": gated(above(rba, SHORTER, "gradient fall"), *learned),
        "vanishing_beside_uniform": gated(greater(rba, uniform, "gradient fall"), *both),
    }
    return {name + start: claim for name, claim in found.items()}


ARTEFACT = Artefact(
    id="mitterreiter2023/sentences",
    title="What mitterreiter2023 says of parse trees and of capsules that starve",
    kind="text",
    rows=ROWS,
    settings={
        "model": "mitterreiter2023/capsnet",
        "data": "placed_mnist",
        "batch_size": 128,
        "lr": 2e-3,
        "validation": 0.166666,
        "callbacks": {"starvation": {"every": 500}},
    },
    budgets={
        "smoke": Budget(
            minutes=0.5,
            seeds=1,
            settings={
                "options": {"conv_width": 0.1, "capsules": 4},
                "images": 240,
                "steps": 2,
                "callbacks": {"starvation": {"every": 1, "images": 16}},
            },
            measures={"layers": {"count": 20}, "invariance": {"count": 5}, "accuracy": {"count": 50}},
            cuts=("4 capsules in a layer, 2 steps, 50 test images, one seed",),
        ),
        "trained": Budget(
            minutes=550,
            seeds=5,
            settings={"options": {"conv_width": 0.25}, "steps": 8000, "until_accuracy": LEVEL, "judge_every": 250},
            cuts=("convolutions of the backbone 1/4", "networks of 3 and 7 layers with N(0, 0.2) alone"),
        ),
    },
    tables=(
        grid(
            ROWS[1:],
            [
                Column("affine", "affine"),
                Column("dead hidden capsules", "dead"),
                Column("validation", "validation"),
                *(Column(f"dys, layer {k}", f"dys/{k}", "number") for k in (1, 2, 3, 4)),
            ],
        ),
    ),
    claims={
        "gradients": every(*(counted(At("formulas", f"theorem {k}"), "<=", 1e-6) for k in (1, 2))),
        **_claims(""),
        "depth": gated(rises(["depth_3", "rba", "depth_7"], "dead"), *reached(["depth_3", "rba", "depth_7"], LEVEL)),
        **_claims("_library"),
    },
)
