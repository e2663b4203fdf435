"""A convolution that is computed in the frequency domain where that is faster."""

import torch
from torch import Tensor, nn

from torchcaps.ops import spectral


class Convolution(nn.Conv2d):
    """`nn.Conv2d`: its arguments, parameters, state and values; a large kernel takes less time.

    >>> Convolution(1, 256, 9)
    Convolution(1, 256, kernel_size=(9, 9), stride=(1, 1))
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        padding, stride = self.padding, self.stride
        plain = self.groups == 1 and self.dilation == (1, 1) and self.padding_mode == "zeros"
        # A compiler is to see the direct convolution, and nothing of the choice.
        if torch.compiler.is_compiling() or not plain or isinstance(padding, str) or len(stride) != 2:
            return super().forward(input)
        kept = self.__dict__.setdefault("_kept", spectral.Kept())
        return spectral.conv2d(input, self.weight, self.bias, (stride[0], stride[1]), (padding[0], padding[1]), kept)
