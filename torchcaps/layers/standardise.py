"""Images standardised one by one."""

import math

from jaxtyping import Float
from torch import Tensor


def standardise(images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
    """Each image less its mean, over its deviation, which counts for at least 1/√(numbers of an image).

    So TensorFlow's `per_image_standardization` has it, which the released code of peer2021 uses.

    >>> standardise(torch.tensor([[0.0, 2.0, 0.0, 2.0], [0.5] * 4]).reshape(2, 1, 2, 2)).flatten(1)
    tensor([[-1.,  1., -1.,  1.],
            [ 0.,  0.,  0.,  0.]])
    """
    axes = (1, 2, 3)
    centred = images - images.mean(axes, keepdim=True)
    deviation = (centred * centred).mean(axes, keepdim=True).sqrt()
    return centred / deviation.clamp_min(1 / math.sqrt(math.prod(images.shape[1:])))
