"""Whether the passes of a card are right: every routing, its values and gradients, beside the plain pass in double."""

from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor

from benchmarks.speed.layers import ours
from torchcaps import ops
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import ROUTINGS
from torchcaps.types import CapsShape, Capsules

TOLERANCE = 1e-4  # of the largest number
WINDOWS = {"fully connected": {}, "convolutional": {"window": 3, "stride": 2, "padding": 1}}
ROWS = {"vector": 1, "matrix": 4}


def errors(device: str, *, quick: bool) -> Iterator[tuple[str, float]]:
    """For every routing, connection and kind of pose the largest error of a value or gradient, by name.

    Always of the same numbers: a layer norm of votes that nearly agree, as one draw in some hundred has, loses digits.
    """
    torch.manual_seed(0)
    grid, types, batch = ((4, 4), 2, 2) if quick else ((8, 8), 16, 33)
    for routing, connection, pose in product(ROUTINGS, WINDOWS, ROWS):
        shape, options = CapsShape(grid, types, 16), WINDOWS[connection]
        layer = CapsuleLayer(shape, 10, 16, rows=ROWS[pose], routing=ROUTINGS[routing], **options)  # type: ignore[arg-type]
        layer.to(device)
        below = Capsules(
            torch.randn(batch, *grid, types, 16, device=device) * 0.3, torch.rand(batch, *grid, types, device=device)
        )
        found = _all(layer, below)
        with ops.plainly():
            expected = _all(layer.double(), Capsules(*(t.double() for t in below)))
        pairs = zip(found, expected, strict=True)
        worst = max(float((a - b).abs().max() / b.abs().max().clamp_min(1e-3)) for a, b in pairs)
        yield f"{routing}, {connection}, {pose}", worst


def _all(layer: CapsuleLayer, below: Capsules) -> list[Tensor]:
    """Parents, and the gradients of all that they come from, in double precision."""
    given = Capsules(*(t.detach().clone().requires_grad_() for t in below))
    outs = ours(layer, given)
    mix = [torch.linspace(-1, 1, out.numel(), device=out.device, dtype=out.dtype).reshape(out.shape) for out in outs]
    leaves = [*given, *layer.parameters()]
    total = sum((out * part).sum() for out, part in zip(outs, mix, strict=True))
    assert isinstance(total, Tensor)
    grads = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
    return [t.detach().double() for t in (*outs, *grads)]
