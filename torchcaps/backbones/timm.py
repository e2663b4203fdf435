"""Backbones of timm, for those who have it, by its own conventions: `features_only` and `out_indices`.

Never run with timm itself, which cannot be imported beside this torch; tested with a stand-in of its interface.
"""

from importlib import import_module
from typing import Any

from torch import Tensor, nn

from torchcaps.backbones._trunk import Preprocessing, Trunk


class LastMap(nn.Module):
    """The last of the feature maps that a network of timm returns.

    >>> LastMap(lambda x: [x, x + 1])(torch.zeros(1))
    tensor([1.])
    """

    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        """The map, channels first."""
        last: Tensor = self.net(x)[-1]
        return last


def from_timm(name: str, *, weights: bool = True) -> Trunk:
    """A network of timm up to its last feature map; one stage, for timm has no common word for their parts."""
    timm = _timm(name)
    net = timm.create_model(name, pretrained=weights, features_only=True, out_indices=(-1,))
    return Trunk(f"timm:{name}", [LastMap(net)], _preprocessing(name), channels=net.feature_info.channels()[-1])


def size_in_timm(name: str) -> int:
    """The size that timm gives for its weights."""
    return _preprocessing(name).size


def _preprocessing(name: str) -> Preprocessing:
    _timm(name)
    config = import_module("timm.models").get_pretrained_cfg(name)
    return Preprocessing(config.input_size[-1], list(config.mean), list(config.std))


def _timm(name: str) -> Any:
    try:
        return import_module("timm")
    except Exception as error:  # beside another torch, timm or its torchvision fail with anything
        raise ValueError(
            f"backbone 'timm:{name}' needs timm, which cannot be imported here ({type(error).__name__}: {error})"
        ) from error
