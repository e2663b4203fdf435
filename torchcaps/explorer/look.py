"""How a network understands an image, as numbers that a page can draw."""

from collections.abc import Sequence
from typing import Any

import torch
from einops import rearrange, reduce
from jaxtyping import Float
from torch import Tensor

from torchcaps.explain import Tree, difference, grow, summarise
from torchcaps.explorer.gallery import Exhibit
from torchcaps.explorer.question import Changes, Look, Node, Picture, Strengths, changed, decoded, encoded, fitted
from torchcaps.infer import evaluating, infer
from torchcaps.types import Parse

Answer = dict[str, Any]
STRENGTHS = 21
REACH = {
    "rotation": (-180.0, 180.0),
    "shear": (-45.0, 45.0),
    "scale": (0.5, 1.5),
    "shift_x": (-10.0, 10.0),
    "shift_y": (-10.0, 10.0),
    "noise": (0.0, 1.0),
}


def seen(exhibit: Exhibit, picture: Picture, changes: Sequence[Changes]) -> Float[Tensor, "b c h w"]:
    """The picture as the network sees it under each of several changes."""
    image = fitted(decoded(picture.pixels, picture.shape), exhibit.image_shape)
    if picture.second is not None:
        over = fitted(decoded(picture.second, picture.shape), exhibit.image_shape)
        image = (image + over).clamp(max=1)
    return changed(image, list(changes))


def look(exhibit: Exhibit, question: Look, beside: Exhibit | None = None) -> Answer:
    """Scores, the tree of every iteration, and the drawing of a capsule."""
    images = seen(exhibit, question, [question.changes, Changes()])
    parse = infer(exhibit.model, images, record="all")
    shares = exhibit.model.probabilities(parse.scores)[0]
    now, before = grow(exhibit.structure, parse)
    best = int(parse.scores[0].argmax())
    label = best if question.label is None else min(question.label, len(exhibit.classes) - 1)
    return {
        "image": encoded(images[0]),
        "shape": list(exhibit.image_shape),
        "best": best,
        "probabilities": _numbers(shares),
        "tree": _tree(exhibit, parse, now),
        "change": _apart(now, before),
        "between": None if beside is None else _between(now, beside, question),
        "open": None if question.open is None else _open(now, question.open),
        "reconstruction": _drawn(exhibit, parse, label, question.deltas),
    }


def strengths(exhibit: Exhibit, question: Strengths) -> list[tuple[float, float]]:
    """The probability of a class at each of several strengths of one change, the others as they are."""
    low, high = REACH[question.factor]
    at = torch.linspace(low, high, STRENGTHS).tolist()
    changes = [question.changes.model_copy(update={question.factor: value}) for value in at]
    scores = infer(exhibit.model, seen(exhibit, question, changes)).scores
    label = min(question.label, scores.shape[-1] - 1)
    return list(zip(at, _numbers(exhibit.model.probabilities(scores)[:, label]), strict=True))


def _tree(exhibit: Exhibit, parse: Parse, tree: Tree) -> Answer:
    """Types as nodes, and between them the couplings of every iteration."""
    small = summarise(tree) if tree.couplings else tree
    layers = [
        {
            "name": layer.name,
            "grid": list(layer.grid),
            "types": layer.types,
            "measure": layer.measure,
            "strength": _numbers(strength),
            "scale": max(float(strength.abs().max()), 1e-9),
            "dead": dead.flatten().tolist(),
        }
        for layer, strength, dead in zip(tree.structure.layers, small.strength, small.dead, strict=True)
    ]
    iterations = max((len(states) for states in parse.history), default=1)
    return {"layers": layers, "links": [_links(exhibit, parse, t) for t in range(iterations)]}


def _links(exhibit: Exhibit, parse: Parse, t: int) -> list[list[list[float]]]:
    """The couplings of one iteration, type by type; a layer that has stopped keeps its last."""
    found = [states[min(t, len(states) - 1)].coupling for states in parse.history]
    first = parse._replace(
        scores=parse.scores[:1],
        capsules=[type(c)(c.pose[:1], c.act[:1]) for c in parse.capsules],
        couplings=[c[:1] for c in found if c is not None],
    )
    if not first.couplings:
        return []
    [tree] = grow(exhibit.structure, first)
    small = summarise(tree).couplings
    return [[_numbers(row) for row in rearrange(c, "1 1 i j -> i j")] for c in small]


def _between(tree: Tree, beside: Exhibit, question: Look) -> float | None:
    """How much the tree differs from another network's of the same image, where both have the same layers."""
    if beside.structure != tree.structure or not tree.couplings:
        return None
    [other] = grow(beside.structure, infer(beside.model, seen(beside, question, [question.changes]), record="last"))
    return _apart(tree, other)


def _apart(one: Tree, other: Tree) -> float | None:
    """How much two trees differ; None where couplings are no shares of a child, or there are none."""
    try:
        return difference(one, other).value
    except ValueError:
        return None


def _open(tree: Tree, node: Node) -> Answer | None:
    """A type of capsule at every position, and how much of each goes to the parent that gets most."""
    layers = tree.structure.layers
    if node.layer >= len(layers) or node.type >= layers[node.layer].types:
        return None
    layer = layers[node.layer]
    answer: Answer = {
        "layer": layer.name,
        "type": node.type,
        "grid": list(layer.grid),
        "strength": _numbers(tree.strength[node.layer][..., node.type]),
        "coupling": None,
    }
    if node.layer == len(layers) - 1:
        return answer
    by_child = tree.structure.windows(node.layer).by_child(tree.couplings[node.layer][None])
    mine = reduce(by_child[0, :, :, node.type], "h w p j -> h w j", "mean")
    parent = int(mine.sum((0, 1)).argmax())
    return answer | {
        "coupling": _numbers(mine[..., parent]),
        "parent": f"{layers[node.layer + 1].name} {tree.structure.label(node.layer + 1, parent)}",
        "uniform": 1 / layers[node.layer + 1].types,
    }


def _drawn(exhibit: Exhibit, parse: Parse, label: int, deltas: Sequence[float]) -> Answer | None:
    """What the decoder draws from the capsule of a class, as it is and moved."""
    decoder = exhibit.decoder
    if decoder is None:
        return None
    with evaluating(exhibit.model):
        labels = torch.full((len(parse.scores),), label, device=parse.scores.device)
        code = decoder.code(parse, labels)[:1]
        moved = code.clone()
        push = torch.tensor([*deltas, *[0.0] * decoder.classes.d][: decoder.classes.d]).to(code)
        moved[:, label] += push
        plain, drawn = decoder.draw(rearrange(torch.cat([code, moved]), "b n d -> b (n d)"))
    return {"pose": _numbers(code[0, label]), "plain": encoded(plain), "moved": encoded(drawn)}


def _numbers(values: Tensor) -> list[float]:
    """As JSON holds them; what is not a number is 0, which a page can draw."""
    found: list[float] = values.detach().double().cpu().nan_to_num(0.0, 0.0, 0.0).flatten().tolist()
    return [round(value, 5) for value in found]
