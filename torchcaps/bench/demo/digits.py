"""Three networks, the same digits, three tests: what `torchcaps demo` trains and judges."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torchcaps.data import DataUnavailableError, Placed, Stored, load
from torchcaps.measures import Result, inspect, measure
from torchcaps.network import Model
from torchcaps.report import Curve, Row, dead_of, dynamics_of, parameters
from torchcaps.train import fit

CANVAS = 36  # what two digits of 28×28 share when each is moved by up to four pixels
TESTS = {
    "clean": "Digits as in training: as they are, at a random place of the canvas.",
    "affine": "Digits rotated, sheared, scaled and moved; no network saw any.",
    "overlap": "Two digits, one over the other; both must be named (chance: 1 in 45), and no network saw any.",
}
LOOKED_AT = ("activity", "dynamics", "parse_tree")
WANTED = "mnist"
INSTEAD = "MNIST cannot be had here: these are 'glyphs', digits drawn from fonts, and other figures than MNIST's."
Say = Callable[[str], None]


@dataclass(frozen=True)
class Contestant:
    """A network of the registry and how it is made small."""

    name: str
    model: str
    options: Mapping[str, Any]

    @property
    def detail(self) -> str:
        """Its name in the registry with its options."""
        return ", ".join([self.model, *(f"{key} {value}" for key, value in self.options.items())])


CONTESTANTS = (
    Contestant("CapsNet", "sabour2017/capsnet", {"width": 0.125}),
    Contestant("Inverted attention", "tsai2020/inverted_simple", {"width": 0.25}),
    Contestant("ConvNet", "gu2021/convnet_fc", {"width": 0.125, "units": (480, 192)}),
)


@dataclass(frozen=True)
class Plan:
    """How much is learned from and judged by, the same for every network."""

    train: int = 10_000
    validation: int = 1_000
    test: int = 2_000
    epochs: int = 4
    batch_size: int = 64
    lr: float = 5e-3
    seed: int = 0
    contestants: tuple[Contestant, ...] = CONTESTANTS


QUICK = Plan(
    train=256,
    validation=64,
    test=64,
    epochs=2,
    contestants=tuple(replace(c, options={"width": 0.06}) for c in CONTESTANTS),
)


@dataclass(frozen=True)
class Digits:
    """Stored digits to learn from, to validate and to test by, and the name of the set they come from."""

    name: str
    train: Stored
    validation: Stored
    test: Stored

    def told(self, plan: Plan) -> str:
        """What the networks learn from and are judged by, in a sentence or two."""
        called = "MNIST" if self.name == WANTED else self.name
        return (
            f"Three networks, each trained for {plan.epochs} epochs on the same {len(self.train):,} single digits of "
            f"{called}, placed at random on {CANVAS}×{CANVAS}, and judged on {len(self.test):,} others."
        )

    @property
    def warning(self) -> str:
        """What a reader must know if these are not the digits that were wanted."""
        return "" if self.name == WANTED else INSTEAD


@dataclass
class Outcome:
    """What the experiment leaves: rows of the table, training curves, networks and what was measured of each."""

    rows: list[Row] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    models: dict[str, Model] = field(default_factory=dict)
    found: dict[str, dict[str, Result]] = field(default_factory=dict)


def load_digits(plan: Plan, say: Say) -> Digits:
    """MNIST, or where it cannot be had the digits of fonts; as many as the plan wants, none of them twice."""
    name = WANTED
    try:
        train, test = load(name, "train", report=say), load(name, "test")
    except DataUnavailableError as error:
        say(f"{error}\n{INSTEAD}")
        name = "glyphs"
        train, test = load(name, "train"), load(name, "test")
    if not isinstance(train, Stored) or not isinstance(test, Stored):
        raise TypeError(f"{name} does not hold stored images")
    wanted = min(plan.train + plan.validation, len(train) - 1)
    if wanted < len(train) - 1:
        _, train = train.split(wanted, seed=plan.seed)
    learn, judge = train.split(min(plan.validation, wanted // 2), seed=plan.seed)
    if plan.test < len(test):
        _, test = test.split(plan.test, seed=plan.seed)
    return Digits(name, learn, judge, test)


def placed(data: Stored, seed: int) -> Placed:
    """Digits at random places of the canvas, other ones in every epoch."""
    return Placed(data, canvas=CANVAS, seed=seed)


def compete(plan: Plan, digits: Digits, say: Say, *, quiet: bool = False) -> Outcome:
    """Train every network on the same images in the same order, and judge all by the same tests."""
    outcome = Outcome()
    for k, entrant in enumerate(plan.contestants, 1):
        say(f"{k} of {len(plan.contestants)}: {entrant.name} ({entrant.detail})")
        began = time.perf_counter()
        run = fit(
            entrant.model,
            placed(digits.train, plan.seed),
            validation_data=placed(digits.validation, plan.seed + 1),
            options=dict(entrant.options),
            epochs=plan.epochs,
            batch_size=plan.batch_size,
            lr=plan.lr,
            lr_schedule="one_cycle",
            seed=plan.seed,
            quiet=quiet,
        )
        seconds = time.perf_counter() - began
        scores = measure(run.model, list(TESTS), placed(digits.test, plan.seed))
        own, beside = parameters(run.model)
        found = inspect(run.model, placed(digits.test, plan.seed), LOOKED_AT)
        dead, dynamics = dead_of(found["activity"]), dynamics_of(found["dynamics"])
        outcome.rows.append(Row(entrant.name, entrant.detail, own, beside, round(seconds, 1), scores, dead, dynamics))
        outcome.found[entrant.name] = found
        history = run.history
        outcome.curves.append(
            Curve(entrant.name, [e["loss"] for e in history], [e["validation_accuracy"] for e in history])
        )
        outcome.models[entrant.name] = run.model
    return outcome
