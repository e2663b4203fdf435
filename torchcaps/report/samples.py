"""Sample predictions: the same images before every network, mistakes first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from torchcaps.report._png import png
from torchcaps.report._section import Section


@dataclass(frozen=True)
class Guess:
    """What one network made of an image: as many classes as it shows objects, and its most probable ones."""

    network: str
    classes: tuple[str, ...]
    probabilities: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Sample:
    """An image (channels, height, width; 0 to 1), the classes it shows, and what the networks said."""

    image: Tensor
    truth: tuple[str, ...]
    guesses: tuple[Guess, ...]

    def right(self, guess: Guess) -> bool:
        """Whether a guess names all the classes shown."""
        return sorted(guess.classes) == sorted(self.truth)

    @property
    def mistakes(self) -> int:
        """How many networks were wrong."""
        return sum(not self.right(guess) for guess in self.guesses)

    @property
    def picture(self) -> str:
        """The image as a data address."""
        return png(self.image)


@dataclass(frozen=True)
class Group:
    """Samples of one test, with a line that says where they come from."""

    title: str
    note: str
    samples: Sequence[Sample]

    @property
    def ordered(self) -> list[Sample]:
        """Mistakes first, those of most networks before all."""
        return sorted(self.samples, key=lambda sample: -sample.mistakes)


@dataclass(frozen=True, kw_only=True)
class Samples(Section):
    """Cards, grouped by test."""

    template: ClassVar[str] = "samples.html"
    title: str = "What they saw"
    note: str = (
        "The same images before every network, mistakes first. The bars are the most probable classes: the softmax of "
        "logits, or the lengths of class capsules as shares of their sum."
    )
    groups: Sequence[Group]
