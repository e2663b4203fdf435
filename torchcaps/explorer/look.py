"""How a network understands an image, as numbers that a page can draw."""

from collections.abc import Sequence
from typing import Any

import torch
from einops import rearrange, reduce
from jaxtyping import Float
from torch import Tensor

from torchcaps.explain import Tree, grow
from torchcaps.explorer import by_type
from torchcaps.explorer.apart import apart, changed_by
from torchcaps.explorer.gallery import Exhibit
from torchcaps.explorer.numbers import numbers
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
        "probabilities": numbers(shares),
        "tree": {"layers": by_type.layers(now), "links": by_type.links(exhibit.structure, parse)},
        "change": changed_by(now, before),
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
    return list(zip(at, numbers(exhibit.model.probabilities(scores)[:, label]), strict=True))


def _between(tree: Tree, beside: Exhibit, question: Look) -> Answer | None:
    """How much the tree differs from another network's of the same image."""
    parse = infer(beside.model, seen(beside, question, [question.changes]), record="last")
    [other] = grow(beside.structure, parse)
    return apart(tree, other)


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
        "strength": numbers(tree.strength[node.layer][..., node.type]),
        "coupling": None,
    }
    if node.layer == len(layers) - 1:
        return answer
    windows = tree.structure.windows(node.layer)
    by_child = windows.by_child(tree.couplings[node.layer][None])[0, :, :, node.type]
    there = (windows.parents[..., :1] >= 0).sum(-2).clamp_min(1)  # at the border a capsule lies in fewer windows
    mine = reduce(by_child, "h w p j -> h w j", "sum") / there
    parent = int(mine.sum((0, 1)).argmax())
    return answer | {
        "coupling": numbers(mine[..., parent]),
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
    return {"pose": numbers(code[0, label]), "plain": encoded(plain), "moved": encoded(drawn)}
