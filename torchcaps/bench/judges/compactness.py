"""How few numbers of a class capsule carry a transformation (gu2021, table 5)."""

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject, images
from torchcaps.measures import Compactness, CompactnessResult, swept, walk


def compactness(subject: Subject, *, count: int = 0) -> Found:
    """The score of each factor, under its name, and their mean, "compactness"."""
    own = subject.own
    [found] = walk(own.model, swept()(own.model, images(own.settings, count)), [Compactness()])
    if not isinstance(found, CompactnessResult):
        raise ValueError(str(found))
    numbers = {factor.factor: Number(factor.mean) for factor in found.factors}
    known = [factor.mean for factor in found.factors if factor.mean is not None]
    mean = sum(known) / len(known) if len(known) == len(found.factors) else None
    still = {factor.factor: factor.still for factor in found.factors}
    return Found({**numbers, "compactness": Number(mean)}, {"still": still})
