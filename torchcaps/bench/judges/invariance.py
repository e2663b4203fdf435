"""Whether capsules stay as active when images are transformed (mitterreiter2023, figure 4)."""

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject, images
from torchcaps.measures import Invariance, InvarianceResult, swept, walk


def invariance(subject: Subject, *, count: int = 0, values: int = 11) -> Found:
    """The correlation of activations, as "factor/layer/strength", strengths from 1, the weakest, up.

    Args:
        values: of each factor, so that there are (values − 1)/2 strengths.
    """
    own = subject.own
    [found] = walk(own.model, swept(count=values)(own.model, images(own.settings, count)), [Invariance()])
    if not isinstance(found, InvarianceResult):
        raise ValueError(str(found))
    numbers = {
        f"{factor.factor}/{k}/{s}": Number(value)
        for factor in found.factors
        for k, layer in enumerate(factor.layers, 1)
        for s, value in enumerate(layer.correlation, 1)
    }
    return Found(numbers, {"invariance": found.to_json()})
