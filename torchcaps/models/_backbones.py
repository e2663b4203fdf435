"""Convolutional backbones: the papers' plain stacks, and the residual networks of tsai2020."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from torchcaps.backbones import is_pretrained, list_backbones, load_backbone
from torchcaps.layers import Convolution
from torchcaps.models._assemble import widen

Backbone = str | nn.Module | None


def convolutions(
    in_chans: int, layers: Sequence[tuple[int, int, int]], *, padding: int = 0, bias: bool = True
) -> nn.Sequential:
    """Convolutions of (channels, kernel, stride), each followed by a ReLU.

    >>> len(convolutions(1, [(256, 9, 1), (256, 9, 2)]))
    4
    """
    modules: list[nn.Module] = []
    for channels, kernel, stride in layers:
        modules += [Convolution(in_chans, channels, kernel, stride, padding, bias=bias), nn.ReLU()]
        in_chans = channels
    return nn.Sequential(*modules)


class BasicBlock(nn.Module):
    """Two 3×3 convolutions with batch norm around a shortcut (He et al. 2016)."""

    def __init__(self, in_chans: int, channels: int, stride: int = 1) -> None:
        super().__init__()
        self.body = nn.Sequential(
            Convolution(in_chans, channels, 3, stride, 1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            Convolution(channels, channels, 3, 1, 1, bias=False),
            nn.BatchNorm2d(channels),
        )
        same = stride == 1 and in_chans == channels
        projection = (nn.Conv2d(in_chans, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))
        self.shortcut = nn.Identity() if same else nn.Sequential(*projection)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """The block's features."""
        out: Tensor = self.relu(self.body(x) + self.shortcut(x))
        return out


def residual(in_chans: int, stages: Sequence[tuple[int, int, int]], stem: int) -> nn.Sequential:
    """A 3×3 stem, then stages of (channels, blocks, stride of the first block)."""
    modules: list[nn.Module] = [Convolution(in_chans, stem, 3, 1, 1, bias=False), nn.BatchNorm2d(stem), nn.ReLU()]
    chans = stem
    for channels, blocks, stride in stages:
        for k in range(blocks):
            modules.append(BasicBlock(chans, channels, stride if k == 0 else 1))
            chans = channels
    return nn.Sequential(*modules)


def tsai_resnet(in_chans: int, width: float = 1.0, *, last: int = 128) -> nn.Sequential:
    """The ResNet backbone of tsai2020, appendix A.1: three blocks of 64, four of `last` that begin with stride 2.

    >>> sum(p.numel() for p in tsai_resnet(3).parameters())
    1340224
    """
    stem = widen(64, width)
    return residual(in_chans, [(stem, 3, 1), (widen(last, width), 4, 2)], stem)


def resnet18(in_chans: int, width: float = 1.0) -> nn.Sequential:
    """The features of the CIFAR ResNet-18, before its pooling."""
    chans = [widen(c, width) for c in (64, 128, 256, 512)]
    return residual(in_chans, [(c, 2, 1 if k == 0 else 2) for k, c in enumerate(chans)], chans[0])


def choose_backbone(backbone: Backbone, own: Callable[[], nn.Module], in_chans: int, width: float) -> nn.Module:
    """The paper's own backbone (None), one by name, or any module that returns a feature map."""
    if isinstance(backbone, nn.Module):
        return backbone
    if backbone is not None and is_pretrained(backbone):
        return load_backbone(backbone)
    built = own()  # also before one by name, so that a seed goes on giving such a network the weights it always gave
    if backbone is None:
        return built
    named = {"tsai_resnet": tsai_resnet, "resnet18": resnet18}
    if backbone not in named:
        names = ", ".join(map(repr, [*named, *list_backbones(), "timm:NAME", "hf:FOLDER"]))
        raise ValueError(f"backbone={backbone!r} is not allowed: choose one of {names}, or give a module")
    return named[backbone](in_chans, width)
