"""Which backbone a name means."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from torchcaps.backbones._trunk import Trunk
from torchcaps.backbones.efficientnet import SIZES, efficientnet_lite
from torchcaps.backbones.huggingface import from_folder, size_of_folder
from torchcaps.backbones.timm import from_timm, size_in_timm

TIMM, FOLDER = "timm:", "hf:"
_weights: ContextVar[bool] = ContextVar("weights", default=True)


def list_backbones() -> list[str]:
    """The pretrained backbones of the extra `backbones`; besides them there are `timm:NAME` and `hf:FOLDER`.

    >>> list_backbones()
    ['efficientnet_lite0', 'efficientnet_lite1', 'efficientnet_lite2']
    """
    return list(SIZES)


def is_pretrained(name: object) -> bool:
    """Whether a name means a pretrained backbone.

    >>> is_pretrained("efficientnet_lite0"), is_pretrained("timm:resnet18"), is_pretrained("tsai_resnet")
    (True, True, False)
    """
    return isinstance(name, str) and (name in SIZES or name.startswith((TIMM, FOLDER)))


def load_backbone(name: str) -> Trunk:
    """A pretrained backbone, all of which may learn until `tune` says otherwise; torch's random numbers stay.

    >>> load_backbone("efficientnet_lite0")(torch.rand(1, 3, 64, 64)).shape
    torch.Size([1, 1280, 2, 2])

    Args:
        name: of `list_backbones`; `timm:NAME`, a network of timm; or `hf:FOLDER`, a vision transformer in a folder.
    """
    weights = _weights.get()
    with torch.random.fork_rng(devices=[]):
        if name.startswith(TIMM):
            return from_timm(name.removeprefix(TIMM), weights=weights)
        if name.startswith(FOLDER):
            return from_folder(name.removeprefix(FOLDER), weights=weights)
        if name not in SIZES:
            known = ", ".join(map(repr, list_backbones()))
            raise ValueError(f"backbone={name!r} is not allowed: choose one of {known}, 'timm:NAME', 'hf:FOLDER'")
        return efficientnet_lite(name, weights=weights)


def usual_size(name: str) -> int:
    """The height and width of the images that a backbone was trained with.

    >>> usual_size("efficientnet_lite0")
    224
    """
    if name.startswith(TIMM):
        return size_in_timm(name.removeprefix(TIMM))
    if name.startswith(FOLDER):
        return size_of_folder(name.removeprefix(FOLDER))
    return SIZES[name]


@contextmanager
def architecture_only() -> Iterator[None]:
    """Backbones are built without their weights: those of a run, which replace them, are read next.

    Nothing is fetched then, whatever timm would do, and the package of weights need not be there.

    >>> with architecture_only():
    ...     trunk = load_backbone("efficientnet_lite0")
    """
    token = _weights.set(False)
    try:
        yield
    finally:
        _weights.reset(token)
