"""In which order the layers of a network take their routing steps."""

from collections.abc import Callable, Sequence

from torchcaps.layers import CapsuleLayer
from torchcaps.types import Capsules, Record, State, keeps
from torchcaps.votes import Votes

Schedule = Callable[[Sequence[CapsuleLayer], Capsules, Record], list[list[State]]]
"""Runs all layers above the primary capsules; the last state of each layer's list is its result."""


def sequential(layers: Sequence[CapsuleLayer], primary: Capsules, record: Record = "none") -> list[list[State]]:
    """Layer by layer, each routed to its end before the next begins (Sabour et al. 2017, Hinton et al. 2018).

    >>> layer = CapsuleLayer(CapsShape((2, 2), 3, 4), n=5)
    >>> history = sequential([layer], Capsules(torch.rand(1, 2, 2, 3, 4), torch.rand(1, 2, 2, 3)), "all")
    >>> len(history[0]), history[0][-1].pose.shape
    (3, torch.Size([1, 1, 1, 5, 4]))
    """
    history: list[list[State]] = []
    below = primary
    for layer in layers:
        history.append(layer.route(below, record))
        below = history[-1][-1].capsules
    return history


def concurrent(
    layers: Sequence[CapsuleLayer], primary: Capsules, record: Record = "none", *, iters: int | None = None
) -> list[list[State]]:
    """One sequential sweep, then all layers step at once, each from the layer below as it was (tsai2020, procedure 2).

    What a routing remembers is applied to the current votes, which change from sweep to sweep. A step whose result
    cannot reach the output is left out, unless a record asks for it.

    >>> layer = CapsuleLayer(CapsShape((2, 2), 3, 4), n=5)
    >>> history = concurrent([layer], Capsules(torch.rand(1, 2, 2, 3, 4), torch.rand(1, 2, 2, 3)), "all", iters=2)
    >>> len(history[0])
    2

    Args:
        iters: sweeps in all; the most that any layer's routing asks for if not given.
    """
    sweeps = max(layer.routing.iters for layer in layers) if iters is None else iters
    if sweeps < 1:
        raise ValueError(f"iters={iters} is not allowed: at least one sweep is needed")
    history: list[list[State]] = []
    said: list[tuple[Capsules, Votes]] = []
    for layer in layers:
        below = history[-1][0].capsules if history else primary
        said.append((below, layer.votes(below)))
        history.append([layer.step(said[-1][1], None, 0, record=keeps(record, 0, sweeps))])
    for t in range(1, sweeps):
        belows = [primary, *(states[-1].capsules for states in history[:-1])]
        for depth, (layer, below, states) in enumerate(zip(layers, belows, history, strict=True)):
            sweeps_left, layers_above = sweeps - 1 - t, len(layers) - 1 - depth
            if record == "none" and layers_above > sweeps_left:
                continue
            if below.pose is not said[depth][0].pose:  # else the same children say what they said
                said[depth] = (below, layer.votes(below))
            states.append(layer.step(said[depth][1], states[-1], t, record=keeps(record, t, sweeps)))
    return history if record == "all" else [states[-1:] for states in history]
