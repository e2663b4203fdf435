"""How a drawing changes when one number of a class capsule moves (gu2021, figure 4)."""

import base64
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject, images
from torchcaps.infer import evaluating, infer
from torchcaps.layers import Decoder
from torchcaps.network import Model
from torchcaps.types import Parse

SHOWN = 4
"""How many dimensions a sheet has, those first that change the drawing most."""


def response(subject: Subject, *, count: int = 0, deltas: Sequence[float] = (-0.2, 0.0, 0.2)) -> Found:
    """The mean change of a pixel when a unit moves by one standard deviation of its own, over its class's images.

    Of the first image a sheet is kept: the drawings while each of the strongest dimensions moves by the deltas.

    Args:
        count: test images, the same for all networks.
    """
    own = subject.own
    data = images(own.settings, count)
    batch = data.batch(torch.arange(len(data)))
    labels = batch.labels[:, 0]
    changes = []
    for label in labels.unique().tolist():
        of = labels == label
        changes.append(_changes(own.model, infer(own.model, batch.images[of]), labels[of]))
    mean = torch.stack([change.mean() for change in changes]).mean()
    strongest = torch.stack([change.mean(0) for change in changes]).mean(0).argsort(descending=True)[:SHOWN]
    parse = infer(own.model, batch.images[:1])
    sheet = torch.stack([_moved(own.model, parse, labels[:1], dim, deltas)[:, 0, 0] for dim in strongest.tolist()])
    pixels = (sheet.clamp(0, 1) * 255).round().to(torch.uint8)
    kept = {"shape": list(pixels.shape), "pixels": base64.b64encode(pixels.numpy().tobytes()).decode()}
    return Found({"response": Number(float(mean))}, {"sheet": {**kept, "deltas": list(deltas)}})


def _changes(model: Model, parse: Parse, labels: Tensor) -> Float[Tensor, "b d"]:
    """The mean change of an image's pixels for one deviation of each dimension of its class's capsule."""
    pose = parse.capsules[-1].pose[:, 0, 0][torch.arange(len(labels)), labels]
    deviations = pose.std(0, correction=0)
    plain = _moved(model, parse, labels, 0, [0.0])[0]
    moved = [_moved(model, parse, labels, dim, [float(by)])[0] for dim, by in enumerate(deviations)]
    return torch.stack([(image - plain).abs().flatten(1).mean(1) for image in moved], -1)


def _moved(model: Model, parse: Parse, labels: Tensor, dim: int, deltas: Sequence[float]) -> Float[Tensor, "k b c h w"]:
    decoder = model.decoder
    if not isinstance(decoder, Decoder):
        raise ValueError(f"{type(model).__name__} has no decoder: there is nothing to draw")
    with evaluating(model):
        return decoder.perturb(parse, labels, dim, torch.tensor(deltas))
