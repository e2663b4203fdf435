"""Who competes, on which images, by which tests: all of it plain data, from which an artefact is made."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.subject import images
from torchcaps.data import Dataset
from torchcaps.measures.views import VIEWS
from torchcaps.train import Settings

PGD = "pgd"
TESTS = {
    "clean": "Images as in training, none of which a network saw.",
    "affine": "Rotated, sheared, scaled and moved; no network saw any.",
    "overlap": "Two images, one over the other; both must be named, and no network saw any.",
    PGD: "Changed by up to 0.1 in every pixel, 20 steps of projected gradient descent, so that the network errs.",
}
"""What a network can be put to, and what that is."""
ATTACKED = 200
"""Of the test images; an attack takes as long as a training otherwise."""


@dataclass(frozen=True)
class Entrant:
    """A network of the registry, and how it is made.

    Args:
        name: for people; no two are alike.
        capsules: whether it is a capsule network, and not what these are compared with.
    """

    name: str
    model: str
    options: Mapping[str, Any]
    capsules: bool = True

    @property
    def detail(self) -> str:
        """Its name in the registry with its options."""
        return ", ".join([self.model, *(f"{key} {value}" for key, value in self.options.items())])

    @property
    def id(self) -> str:
        """As the bench calls its row.

        >>> Entrant("inverted attention", "sabour2017/capsnet", {}).id
        'inverted_attention'
        """
        return re.sub(r"\W+", "_", self.name.lower())


@dataclass(frozen=True)
class Contest:
    """Networks that learn the same images with equal budgets, and are judged by the same others.

    Args:
        title: what the images are called.
        settings: of every training: data, how long, how fast.
        tests: by name, with what each is.
        seeds: trainings of each network.
        first: the first of the seeds.
        count: of the test images; 0 for all.
        rate: how the learning rate was chosen, for whoever would read more into the table than it shows.
    """

    title: str
    entrants: tuple[Entrant, ...]
    settings: Mapping[str, Any]
    tests: Mapping[str, str] = field(default_factory=lambda: {test: TESTS[test] for test in ("clean", "affine")})
    seeds: int = 3
    first: int = 0
    count: int = 0
    rate: str = "one learning rate for all"

    def artefact(self, minutes: float = 0.0) -> Artefact:
        """The contest as the bench knows it; scales mean nothing to it, and it has the one that is for real.

        Args:
            minutes: expected for all of it, on one core.
        """
        measures = tuple(self._measure(test) for test in self.tests)
        rows = tuple(
            Row(entrant.id, entrant.name, {"model": entrant.model, "options": dict(entrant.options)})
            for entrant in self.entrants
        )
        return Artefact(
            id=f"compare/{re.sub(r'[^a-z0-9]+', '_', self.title.lower())}",
            title=self.title,
            kind="table",
            rows=rows,
            settings=self.settings,
            measures=measures,
            budgets={"cpu": Budget(minutes=minutes, seeds=self.seeds)},
            claims={},
            first_seed=self.first,
        )

    def training(self, entrant: Entrant) -> Settings:
        """The settings of a network's first training."""
        options = {**self.settings.get("options", {}), **entrant.options}
        return Settings.from_json({**self.settings, "model": entrant.model, "options": options, "seed": self.first})

    def images(self) -> Dataset:
        """The test images, as they are."""
        return images(self.training(self.entrants[0]), self.count)

    def _measure(self, test: str) -> MeasureSpec:
        if test in VIEWS:
            return MeasureSpec("accuracy", {"view": test, "count": self.count})
        return MeasureSpec("descent", {"count": min(self.count, ATTACKED) or ATTACKED})


def check_tests(names: list[str]) -> dict[str, str]:
    """The tests of these names, with what each is.

    >>> list(check_tests(["pgd", "clean"]))
    ['pgd', 'clean']
    """
    for name in names:
        if name not in TESTS:
            raise ValueError(f"test {name!r} is not allowed: choose from {', '.join(TESTS)}")
    if not names:
        raise ValueError(f"no test is given: choose from {', '.join(TESTS)}")
    return {name: TESTS[name] for name in names}
