"""Three networks, the same digits, three tests: the small contest that `torchcaps demo` holds."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchcaps.bench.compare.contest import Contest, Entrant
from torchcaps.bench.compare.hold import hold, place_of
from torchcaps.bench.compare.outcome import Outcome
from torchcaps.bench.executors import make_executor
from torchcaps.data import DataUnavailableError, load

CANVAS = 36  # what two digits of 28×28 share when each is moved by up to four pixels
TESTS = {
    "clean": "Digits as in training: as they are, at a random place of the canvas.",
    "affine": "Digits rotated, sheared, scaled and moved; no network saw any.",
    "overlap": "Two digits, one over the other; both must be named (chance: 1 in 45), and no network saw any.",
}
WANTED = "mnist"
INSTEAD = "MNIST cannot be had here: these are 'glyphs', digits drawn from fonts, and other figures than MNIST's."
CONTESTANTS = (
    Entrant("CapsNet", "sabour2017/capsnet", {"width": 0.125}),
    Entrant("Inverted attention", "tsai2020/inverted_simple", {"width": 0.25}),
    Entrant("ConvNet", "gu2021/convnet_fc", {"width": 0.125, "units": [480, 192]}, capsules=False),
)
RATE = "one learning rate, tried on validation images for the two capsule networks only"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """How much is learned from and judged by, the same for every network.

    Args:
        options: of every network, over its own.
    """

    train: int = 10_000
    validation: int = 1_000
    test: int = 2_000
    epochs: int = 4
    seed: int = 0
    source: str = WANTED
    options: Mapping[str, Any] = field(default_factory=dict)

    def contest(self) -> Contest:
        """The demo as a comparison of one seed."""
        every = self.train + self.validation
        settings = {
            "data": "placed_mnist",
            "data_options": {"canvas": CANVAS, "source": self.source},
            "images": every,
            "validation": self.validation / every,
            "epochs": self.epochs,
            "batch_size": 64,
            "lr": 5e-3,
            "lr_schedule": "one_cycle",
        }
        entrants = tuple(Entrant(e.name, e.model, {**e.options, **self.options}, e.capsules) for e in CONTESTANTS)
        return Contest(self.source, entrants, settings, TESTS, seeds=1, first=self.seed, count=self.test, rate=RATE)

    @property
    def told(self) -> str:
        """What the networks learn from and are judged by, in a sentence or two."""
        called = "MNIST" if self.source == WANTED else self.source
        said = (
            f"Three networks, each trained for {self.epochs} epochs on the same {self.train:,} single digits of "
            f"{called}, placed at random on {CANVAS}×{CANVAS}, and judged on {self.test:,} others."
        )
        return said if self.source == WANTED else f"{said} {INSTEAD}"


QUICK = Plan(train=256, validation=64, test=64, epochs=2, options={"width": 0.06})


def source(say: Say) -> str:
    """MNIST or, where it cannot be had, the digits of fonts."""
    try:
        load(WANTED, "train", report=say)
    except DataUnavailableError as error:
        say(f"{error}\n{INSTEAD}")
        return "glyphs"
    return WANTED


def compete(plan: Plan, say: Say) -> Outcome:
    """Train every network on the same images in the same order, and judge all by the same tests, from the beginning."""
    with tempfile.TemporaryDirectory() as folder:
        return hold(plan.contest(), place_of(Path(folder)), make_executor(), say)
