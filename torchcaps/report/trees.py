"""Parse trees: of the whole data set, and of a few images (mitterreiter2023, figures 2, 3 and 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.report._section import Section
from torchcaps.report._tree_svg import Picture


@dataclass(frozen=True)
class Example:
    """The tree of one image: what the image shows, the image as a data address, and the tree."""

    label: str
    image: str
    tree: Picture


@dataclass(frozen=True)
class NetworkTrees:
    """The trees of one network.

    Attributes:
        images: how many the mean and the deviation are over.
        mean, deviation: of couplings and activations over images.
        examples: a few images.
        differences: how much the trees of two examples differ, in words.
    """

    network: str
    images: int
    measure: str
    mean: Picture
    deviation: Picture
    examples: Sequence[Example]
    differences: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Trees(Section):
    """For each network of capsules the tree of the data set, and below it those of a few images."""

    template: ClassVar[str] = "trees.html"
    title: str = "How they parse an image"
    note: str = (
        "Capsules are dots, a layer a column; an edge is the darker the more of a capsule goes to the one above. Bars "
        "are activations, or lengths where a routing gives every capsule activation 1; dead capsules are red. A layer "
        "of more than 64 capsules is drawn as its types, each the mean over positions."
    )
    networks: Sequence[NetworkTrees]
