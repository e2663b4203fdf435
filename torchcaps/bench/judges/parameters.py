"""How large a network is."""

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject


def parameters(subject: Subject, *, unit: float = 1e6) -> Found:
    """The number of parameters, in millions unless said otherwise."""
    return Found({"parameters": Number(sum(p.numel() for p in subject.own.model.parameters()) / unit)})
