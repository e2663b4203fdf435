"""Parse trees: of the whole data set, and of a few images (mitterreiter2023, figures 2, 3 and 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.report._section import Section
from torchcaps.report._tree_svg import Picture


@dataclass(frozen=True)
class TreeRow:
    """A tree and what it is of: statistics over images, or an image, which is there as a data address."""

    what: str
    tree: Picture
    image: str = ""


@dataclass(frozen=True)
class NetworkTrees:
    """The trees of one network.

    Attributes:
        measure: what its bars are: activations, or lengths.
        rows: mean and deviation over images, then a few images.
        differences: how much the trees of those images differ, in words.
    """

    network: str
    measure: str
    rows: Sequence[TreeRow]
    differences: str


@dataclass(frozen=True, kw_only=True)
class Trees(Section):
    """For each network of capsules the tree of the data set, and below it those of a few images."""

    template: ClassVar[str] = "trees.html"
    title: str = "How they parse an image"
    note: str = (
        "Capsules are dots, a layer a column; an edge is the darker the more of a capsule goes to the one above. Bars "
        "are activations, or lengths where a routing gives every capsule activation 1; dead capsules are red. A layer "
        "of more than 64 capsules is drawn as its types, each the mean over positions. Two trees differ by 0 if every "
        "capsule goes the same ways in both, and by 1 if none does."
    )
    networks: Sequence[NetworkTrees]
