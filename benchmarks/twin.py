"""A whole network as everyone writes it: the same parameters, explicit votes, and every update computed."""

import copy
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from benchmarks import textbook
from torchcaps.layers import CapsuleLayer
from torchcaps.network import CapsNet
from torchcaps.ops import plainly, spectral
from torchcaps.routing import InvertedAttention
from torchcaps.schedule import concurrent, sequential
from torchcaps.types import Capsules, Parse, Record, State


def twin_of(net: CapsNet) -> CapsNet:
    """A network that shares all modules and parameters with `net` but convolves and routes as the textbook does."""
    twin = copy.copy(net)
    twin.schedule = _schedule_of(net)
    twin.forward = partial(_directly, twin.forward)
    return twin


def without_routing(net: CapsNet) -> CapsNet:
    """What is left of a network if routing takes no time: its class capsules are numbers of the primary ones."""
    free = copy.copy(net)
    free.schedule = _pick
    return free


def votes_bytes(net: CapsNet, batch: int) -> int:
    """The memory of the largest votes tensor the twin builds."""
    layers = [layer for layer in net.layers if isinstance(layer, CapsuleLayer)]
    return 4 * batch * max(layer.shape_out.children * layer.windows.i * layer.shape_out.d for layer in layers)


def textbook_sequential(
    layers: Sequence[CapsuleLayer], primary: Capsules, record: Record = "none"
) -> list[list[State]]:
    """Layer by layer."""
    below, history = primary, []
    for layer in layers:
        state = State(*textbook.run(layer, below))
        history.append([state])
        below = state.capsules
    return history


def textbook_concurrent(
    layers: Sequence[CapsuleLayer], primary: Capsules, record: Record = "none", *, iters: int
) -> list[list[State]]:
    """Procedure 2 of tsai2020 to the letter: in every sweep all layers vote and step."""
    poses: list[torch.Tensor] = []
    below = primary
    for layer in layers:
        poses.append(textbook.inverted_step(layer, textbook.votes(layer, below)[0], None))
        below = _present(poses[-1])
    for _ in range(1, iters):
        belows = [primary, *(_present(pose) for pose in poses[:-1])]
        poses = [
            textbook.inverted_step(layer, textbook.votes(layer, below)[0], pose)
            for layer, below, pose in zip(layers, belows, poses, strict=True)
        ]
    return [[State(*_present(pose))] for pose in poses]


def _pick(layers: Sequence[CapsuleLayer], primary: Capsules, record: Record = "none") -> list[list[State]]:
    flat, shape = primary.pose.flatten(1), layers[-1].shape_out
    size = (*shape.grid, shape.n, shape.d)
    pose = flat[:, torch.arange(math.prod(size)) % flat.shape[1]].reshape(-1, *size)
    return [[State(pose, pose.norm(dim=-1))]]


def _present(pose: torch.Tensor) -> Capsules:
    return Capsules(pose, torch.ones_like(pose[..., 0]))


def _directly(forward: Callable[..., Parse], *args: Any, **options: Any) -> Parse:
    """Modules are shared: a convolution or squash that is faster in ours would be in the twin; a compiler sees none."""
    if torch.compiler.is_compiling():
        return forward(*args, **options)
    with spectral.directly(), plainly():
        return forward(*args, **options)


def _schedule_of(net: CapsNet) -> partial[list[list[State]]]:
    schedule = net.schedule
    if schedule is sequential:
        return partial(textbook_sequential)
    only_attention = all(isinstance(layer.routing, InvertedAttention) for layer in net.layers)
    if isinstance(schedule, partial) and schedule.func is concurrent and only_attention:
        return partial(textbook_concurrent, iters=schedule.keywords["iters"])
    raise ValueError("the textbook runs layers one after the other, or inverted attention concurrently; nothing else")
