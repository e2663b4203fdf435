"""The parameters of a capsule network layer by layer, at full size; nothing is trained."""

import torch

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.models import create_model


def layer_sizes(_: Subject, *, model: str) -> Found:
    """Convolutions, then maps and couplings of each capsule layer, in the order of chen2019's supplement, and all."""
    with torch.device("meta"):
        net = create_model(model)
    parts: dict[str, float] = {"total": float(sum(p.numel() for p in net.parameters()))}
    names = {name: p.numel() for name, p in net.named_parameters()}
    convolutions = [n for name, n in names.items() if name.startswith(("backbone", "primary"))]
    parts |= {f"convolution {k}": float(n) for k, n in enumerate(convolutions, 1)}
    for kind, ending in (("transform", ".weight"), ("routing", ".routing.c")):
        found = [n for name, n in names.items() if name.startswith("layers.") and name.endswith(ending)]
        parts |= {f"{kind} {k}": float(n) for k, n in enumerate(found, 1)}
    return Found({name: Number(value) for name, value in parts.items()})
