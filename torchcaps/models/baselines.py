"""What any network of capsules is to be held against: a linear function, and a small convolutional network."""

from torch import nn

from torchcaps.losses import make_loss
from torchcaps.models._assemble import Size, feature_shape, image_shape, widen
from torchcaps.models._backbones import Backbone, choose_backbone
from torchcaps.network import ConvNet


def linear_head(
    *,
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 32,
    width: float = 1.0,
    conv_width: float = 1.0,
    backbone: Backbone = None,
    loss: str = "ce",
) -> ConvNet:
    """A linear function of a backbone's features, averaged over the map; of the pixels if there is no backbone.

    >>> linear_head(num_classes=6, image_size=8)(torch.rand(2, 3, 8, 8)).scores.shape
    torch.Size([2, 6])

    Args:
        width, conv_width: of a backbone by name that is not pretrained.
    """
    c, h, w = image_shape(in_chans, image_size)
    if backbone is None:
        return ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(c * h * w, num_classes)), loss=make_loss(loss))
    features = choose_backbone(backbone, nn.Identity, in_chans, width * conv_width)
    channels, *_ = feature_shape(features, (c, h, w))
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return ConvNet(nn.Sequential(features, *pool, nn.Linear(channels, num_classes)), loss=make_loss(loss))


def small_cnn(
    *,
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 32,
    width: float = 1.0,
    conv_width: float = 1.0,
    loss: str = "ce",
) -> ConvNet:
    """Four 3×3 convolutions of 32 to 256 channels, each with batch norm, ReLU and pooling; a global average, a line."""
    modules: list[nn.Module] = []
    last = in_chans
    for channels in (widen(c, width * conv_width) for c in (32, 64, 128, 256)):
        block = nn.Conv2d(last, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()
        modules += [*block, nn.MaxPool2d(2, ceil_mode=True)]
        last = channels
    feature_shape(nn.Sequential(*modules), image_shape(in_chans, image_size))
    body = nn.Sequential(*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, num_classes))
    return ConvNet(body, loss=make_loss(loss))
