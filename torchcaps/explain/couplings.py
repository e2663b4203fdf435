"""How much of every capsule goes to one class, layer by layer, and how much would if couplings were uniform."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from einops import einsum, rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.explain.structure import Structure
from torchcaps.explain.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAR, TICKS = 4.0, (0.25, 0.5, 1.0, 2.0, 4.0)  # times more or less than uniform where the colours end, and some between


@dataclass(frozen=True)
class Into:
    """What leads from the capsules of a layer to a class.

    Attributes:
        layer: its name.
        weight: of each capsule (h w n) the couplings on all ways to the class, multiplied along a way and summed. For
            the layer below the classes these are the couplings themselves.
        uniform: the same with couplings that are all alike; None where a child does not share itself out, so that there
            is no such value.
    """

    layer: str
    weight: Float[Tensor, "h w n"]
    uniform: Float[Tensor, "h w n"] | None


def into_class(tree: Tree, label: int) -> list[Into]:
    """For each layer below the classes, the nearest first, what leads from it to a class.

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("sabour2017/capsnet", width=0.25), torch.rand(1, 1, 28, 28))
    >>> [primary] = into_class(tree, label=7)
    >>> primary.layer, tuple(primary.weight.shape), round(primary.uniform.mean().item(), 3)
    ('primary', (6, 6, 8), 0.1)
    """
    layers, links = tree.structure.layers, tree.structure.links
    weight = torch.zeros(1, 1, layers[-1].types, dtype=torch.double) if layers else torch.zeros(0, 0, 0)
    weight[..., label : label + 1] = 1.0
    uniform: Tensor | None = weight
    found = []
    for link in reversed(range(len(links))):
        coupling = tree.couplings[link]
        alike = torch.full_like(coupling, 1 / coupling.shape[-1])
        weight = _below(tree.structure, link, coupling, weight)
        uniform = _below(tree.structure, link, alike, uniform) if uniform is not None and links[link].shares else None
        found.append(Into(layers[link].name, weight, uniform))
    return found


def _below(
    structure: Structure, link: int, coupling: Float[Tensor, "h w i j"], above: Float[Tensor, "h w j"]
) -> Float[Tensor, "h2 w2 n"]:
    """From what leads to a class from the parents to what leads to it from their children."""
    children, layer = structure.children(link), structure.layers[link]
    part = einsum(coupling, above, "h w i j, h w j -> h w i").masked_fill(children < 0, 0.0)
    total = part.new_zeros(layer.grid[0] * layer.grid[1] * layer.types)
    total.index_add_(0, children.clamp_min(0).flatten(), part.flatten())
    return rearrange(total, "(h w n) -> h w n", h=layer.grid[0], w=layer.grid[1])


def figure_of_couplings(tree: Tree, image: Float[Tensor, "c h w"], label: int) -> "Figure":
    """The image, and for each layer what leads from it to a class: over the image, or as bars if it has no positions.

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> images = torch.rand(1, 1, 40, 40)
    >>> [tree] = parse_trees(create_model("mitterreiter2023/capsnet", width=0.25), images)
    >>> len([axes for axes in figure_of_couplings(tree, images[0], 7).axes if axes.get_title()])
    5
    """
    from matplotlib.figure import Figure

    found, name = into_class(tree, label), tree.structure.classes[label] if tree.structure.classes else str(label)
    page = Figure(figsize=(3.4 * (1 + len(found)), 3.6), layout="constrained")
    axes = page.subplots(1, 1 + len(found), squeeze=False)[0]
    _photograph(axes[0], image)
    axes[0].set_title(name if found else f"{name}: no capsules, no couplings", parse_math=False)
    for spot, layer in zip(axes[1:], reversed(found), strict=True):
        (_bars if layer.weight.shape[:2] == (1, 1) else _over)(spot, layer, image)
        spot.set_title(f"from {layer.layer} to {name}", fontsize=9, parse_math=False)
    return page


def _bars(axes: "Axes", layer: Into, image: Tensor) -> None:  # noqa: ARG001  # there is no place in it to show
    weight = layer.weight.flatten()
    axes.bar(range(len(weight)), weight.tolist(), color="#1B7FC4")
    if layer.uniform is not None:
        at = float(layer.uniform.mean())
        axes.axhline(at, color="#D55E00", linestyle="--", linewidth=1.2, label=f"uniform: {at:.3g}")
        axes.legend(fontsize=8)
    axes.set(xlabel="type of capsule", ylabel="coupling", xticks=range(0, len(weight), -(-len(weight) // 8)))


def _over(axes: "Axes", layer: Into, image: Tensor) -> None:
    """The mean over types at each position, as times the uniform value; without one, as it is."""
    from matplotlib.colors import LogNorm

    _photograph(axes, image)
    height, width = image.shape[1:]
    mean, extent = layer.weight.mean(-1), (-0.5, width - 0.5, height - 0.5, -0.5)
    if layer.uniform is None:
        drawn = axes.imshow(mean.numpy(), cmap="cividis", alpha=0.65, extent=extent)
        said = "mean coupling (none is uniform here)"
    else:
        alike = layer.uniform.mean(-1)
        times = (mean / alike.clamp_min(1e-12)).clamp(1 / FAR, FAR)
        drawn = axes.imshow(times.numpy(), cmap="PuOr_r", norm=LogNorm(1 / FAR, FAR), alpha=0.65, extent=extent)
        said = f"as a multiple of the uniform coupling ({alike.mean():.3g})"
    bar = axes.figure.colorbar(drawn, ax=axes, fraction=0.046)
    bar.set_label(said, fontsize=8)
    if layer.uniform is not None:
        bar.set_ticks(TICKS, labels=[f"{tick:g}" for tick in TICKS], minor=False)
        bar.minorticks_off()


def _photograph(axes: "Axes", image: Float[Tensor, "c h w"]) -> None:
    axes.imshow(rearrange(image.clamp(0, 1), "c h w -> h w c").cpu().numpy(), cmap="gray", vmin=0, vmax=1)
    axes.set_axis_off()
