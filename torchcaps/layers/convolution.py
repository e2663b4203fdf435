"""A convolution by fewer multiplications, or as one product, where that is faster."""

import torch
from einops import rearrange
from torch import Tensor, nn

from torchcaps.ops import spectral
from torchcaps.ops.single_channel import plain_strides


class Convolution(nn.Conv2d):
    """`nn.Conv2d`: its arguments, parameters, state and values; a large kernel, or many channels, take less time.

    >>> Convolution(1, 256, 9)
    Convolution(1, 256, kernel_size=(9, 9), stride=(1, 1))
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        padding, stride = self.padding, self.stride
        zeros = self.dilation == (1, 1) and self.padding_mode == "zeros"
        # A compiler is to see the direct convolution, and nothing of the choice.
        if torch.compiler.is_compiling() or not zeros or isinstance(padding, str) or len(stride) != 2:
            return super().forward(input)
        if self._sees_each_map_whole(input):
            return self._product(input)
        if self.groups > 1:
            return super().forward(input)
        kept = self.__dict__.setdefault("_kept", spectral.Kept())
        x, w = plain_strides(input, self.weight)
        return spectral.conv2d(x, w, self.bias, (stride[0], stride[1]), (padding[0], padding[1]), kept)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:  # noqa: A002
        y: Tensor = super()._conv_forward(*plain_strides(input, weight), bias)
        return y

    def _sees_each_map_whole(self, x: Tensor) -> bool:
        """Whether each channel has one kernel, of the size of its map: a product, whose gradient costs CPUs a tenth."""
        alone = self.groups == self.in_channels == self.out_channels and self.padding == (0, 0)
        single = x.is_cpu and x.dtype == self.weight.dtype and not torch.is_autocast_enabled("cpu")
        return alone and single and x.shape[1:] == (self.in_channels, *self.kernel_size) and not spectral.is_direct()

    def _product(self, x: Tensor) -> Tensor:
        y = (x * rearrange(self.weight, "c 1 h w -> c h w")).sum((-2, -1))
        return rearrange(y if self.bias is None else y + self.bias, "b c -> b c 1 1")
