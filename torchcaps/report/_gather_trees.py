"""From a network and the tree of a data set to the trees of a page."""

from collections.abc import Sequence

from jaxtyping import Int
from torch import Tensor

from torchcaps.data import Batch
from torchcaps.explain import Tree, arrange, difference, parse_trees
from torchcaps.measures import ParseTreeResult
from torchcaps.network import Model
from torchcaps.report._png import png
from torchcaps.report._tree_svg import picture
from torchcaps.report.trees import Example, NetworkTrees


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
    spread = max(float(c.max()) for c in found.deviation.couplings)
    return NetworkTrees(
        network=name,
        images=found.images,
        measure=found.mean.structure.layers[0].measure,
        mean=picture(arrange(found.mean)),
        deviation=picture(arrange(found.deviation, full=spread)),
        examples=[
            Example(label, png(batch.images[b]), picture(arrange(tree)))
            for b, label, tree in zip(shown, labels, trees, strict=True)
        ],
        differences=_differences(trees, labels),
    )


def alike_and_other(labels: Int[Tensor, " b"]) -> list[int]:
    """The first image, the next of its class and the next of another, as far as there are.

    >>> alike_and_other(torch.tensor([7, 2, 1, 7]))
    [0, 3, 1]
    """
    same = labels == labels[0]
    alike, other = (row.nonzero().flatten().tolist() for row in (same, ~same))
    return [*alike[:2], *other[:1]]


def _differences(trees: Sequence[Tree], labels: Sequence[str]) -> list[str]:
    if not any(link.shares for link in trees[0].structure.links):
        return []
    firsts = [f"The tree of the first {labels[0]} differs from that of"]
    for tree, label in list(zip(trees, labels, strict=True))[1:]:
        which = "the second" if label == labels[0] else f"the {label}"
        firsts.append(f"{which} by {difference(trees[0], tree).value:.2f}")
    return [f"{firsts[0]} {', of '.join(firsts[1:])}."] if len(firsts) > 1 else []
