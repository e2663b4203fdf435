"""Whether capsules die while a network learns, and whether the dead come back (mitterreiter2023, section 4.3)."""

import torch

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.measures import Result, StarvationResult


def starvation(subject: Subject) -> Found:
    """From what the callback saw: "dead" at the end, of all hidden capsules, and "revived", of those once dead."""
    found = Result.from_json(subject.own.seen["starvation"])
    if not isinstance(found, StarvationResult):
        raise ValueError(str(found))
    hidden = [gone for k in range(1, len(found.names) - 1) if (gone := found.dead(k)) is not None]
    if not hidden:
        return Found({"dead at the end": Number(None), "revived": Number(None)})
    gone = torch.cat(hidden, -1)
    once, at_last = gone.any(0), gone[-1]
    back = float((once & ~at_last).sum() / once.sum()) if once.any() else None
    numbers = {"dead at the end": Number(float(at_last.double().mean())), "revived": Number(back)}
    return Found(numbers, {"starvation": found.to_json()})
