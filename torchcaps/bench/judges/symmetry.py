"""Whether a network that was never trained can tell u from −u (peer2021, section 3)."""

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.data import load
from torchcaps.measures import Symmetry, SymmetryResult, walk
from torchcaps.models import create_model


def symmetry(
    subject: Subject,  # noqa: ARG001  # the seed is set before
    *,
    routing: str,
    bias: bool,
    count: int = 50,
) -> Found:
    """How far poses are from odd, activations and class scores from even, at worst over the layers.

    The network is peer2021's with three layers of capsules, in double precision, its weights drawn with the seed.

    Args:
        count: images, drawn from fonts; what matters are the primary capsules that they make.
    """
    model = create_model("peer2021/rba", depth=3, width=0.1, routing=routing, bias=bias).double()
    [found] = walk(model, load("glyphs", "test", count=count), [Symmetry()])
    if not isinstance(found, SymmetryResult):
        raise TypeError(f"{found} is not a symmetry")
    odd = [part.odd for part in found.parts if part.what.endswith("poses")]
    even = [part.even for part in found.parts if part.what.endswith("activations")]
    scores = [part.even for part in found.parts if part.what == "scores"]
    return Found({"poses": _worst(odd), "activations": _worst(even), "scores": _worst(scores)})


def _worst(distances: list[float | None]) -> Number:
    known = [distance for distance in distances if distance is not None]
    return Number(max(known, default=None))
