"""Whether capsules die while a network learns, and whether the dead come back (mitterreiter2023, section 4.3)."""

import math

import torch
from jaxtyping import Bool
from torch import Tensor

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.measures import Result, StarvationResult


def starvation(subject: Subject) -> Found:
    """From what the callback saw, shares of all hidden capsules: "dead at the end", and "once dead" at some checkpoint.

    Of the latter "revived" are those that live at the end. The look before the first step is no checkpoint: nothing has
    been learned, and capsules that start short are not starved. "returned" is the same of capsules that had lived.
    "gradient fall" is about the maps between layers; see `fall`.
    """
    found = Result.from_json(subject.own.seen["starvation"])
    if not isinstance(found, StarvationResult):
        raise ValueError(str(found))
    hidden = [gone for k in range(1, len(found.names) - 1) if (gone := found.dead(k)) is not None]
    gone = torch.cat(hidden, -1) if hidden else torch.zeros(len(found.looks), 0, dtype=torch.bool)
    return Found({**deaths(gone), "gradient fall": fall(found)}, {"starvation": found.to_json()})


def fall(found: StarvationResult) -> Number:
    """By how many powers of ten the gradients of the first maps are below those of the last, in the mean over looks.

    The look before the first step is left out; None if a gradient is zero, or there is one layer of maps.
    """
    pairs = [(look.layers[0].weights, look.layers[-2].weights) for look in found.looks[1:] if len(look.layers) > 2]
    known = [math.log10(last / first) for first, last in pairs if first and last]
    return Number(sum(known) / len(known) if known and len(known) == len(pairs) else None)


def deaths(gone: Bool[Tensor, "looks n"]) -> dict[str, Number]:
    """What became of the dead; None where there are none.

    >>> looks = torch.tensor([[1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 1, 0]]).bool()
    >>> {name: number.value for name, number in deaths(looks).items()}
    {'dead at the end': 0.25, 'once dead': 0.75, 'revived': 0.6666666666666666, 'returned': 0.5}
    """
    lived = (~gone).cummax(0).values[:-1]  # at some look before each of the later ones
    once, died, alive = gone[1:].any(0), (gone[1:] & lived).any(0), ~gone[-1]
    return {
        "dead at the end": _share(gone[-1]),
        "once dead": _share(once),
        "revived": _share(alive[once]),
        "returned": _share(alive[died]),
    }


def _share(those: Bool[Tensor, " n"]) -> Number:
    return Number(float(those.double().mean()) if len(those) else None)
