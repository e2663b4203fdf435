"""From a network and the tree of a data set to the trees of a page."""

from collections.abc import Sequence
from dataclasses import replace

from jaxtyping import Int
from torch import Tensor

from torchcaps.data import Batch
from torchcaps.explain import Tree, arrange, difference, parse_trees, summarise
from torchcaps.explain.summary import is_large
from torchcaps.measures import ParseTreeResult
from torchcaps.network import Model
from torchcaps.report._png import png
from torchcaps.report._tree_svg import picture
from torchcaps.report.trees import NetworkTrees, TreeRow


def network_trees(
    name: str, model: Model, found: ParseTreeResult, batch: Batch, classes: Sequence[str]
) -> NetworkTrees:
    """The trees of a network, with three images of a batch as examples.

    Args:
        found: mean and deviation over a data set.
        batch: images to choose from.
    """
    shown = alike_and_other(batch.labels[:, 0])
    trees = parse_trees(model, batch.images[shown], classes)
    labels = [" and ".join(sorted({classes[k] for k in batch.labels[b].tolist()})) for b in shown]
    spread = max(float(s.max()) for s in found.deviation.strength)
    rows = [
        TreeRow(f"Mean over {found.images:,} images", picture(arrange(found.mean))),
        TreeRow(f"Deviation over {found.images:,} images", picture(arrange(found.deviation), longest=spread)),
        *(
            TreeRow(label, picture(arrange(_marked(tree, found))), png(batch.images[b]))
            for b, label, tree in zip(shown, labels, trees, strict=True)
        ),
    ]
    return NetworkTrees(name, found.mean.structure.layers[0].measure, rows, _differences(trees, labels))


def _marked(tree: Tree, found: ParseTreeResult) -> Tree:
    """An image's tree, with the capsules marked that are dead for all images, not those that are silent for this."""
    small = summarise(tree) if is_large(tree.structure) else tree
    return replace(small, dead=found.mean.dead)


def alike_and_other(labels: Int[Tensor, " b"]) -> list[int]:
    """The first image, the next of its class and the next of another, as far as there are.

    >>> alike_and_other(torch.tensor([7, 2, 1, 7]))
    [0, 3, 1]
    """
    same = labels == labels[0]
    alike, other = (row.nonzero().flatten().tolist() for row in (same, ~same))
    return [*alike[:2], *other[:1]]


def _differences(trees: Sequence[Tree], labels: Sequence[str]) -> str:
    if len(trees) < 2 or not any(link.shares for link in trees[0].structure.links):
        return ""
    said = []
    for tree, label in list(zip(trees, labels, strict=True))[1:]:
        which = "the second" if label == labels[0] else f"the {label}"
        said.append(f"{which} by {difference(trees[0], tree).value:.2f}")
    return f"The tree of the first {labels[0]} differs from that of {', from that of '.join(said)}."
