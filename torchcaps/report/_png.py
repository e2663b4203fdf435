"""Images as text that a page can hold."""

import base64
import io

import torch
from einops import rearrange, repeat
from jaxtyping import Float
from torch import Tensor

GAP = 0.35  # the grey between the images of a strip


def png(image: Float[Tensor, "c h w"]) -> str:
    """An image of numbers from 0 to 1 as a data address.

    >>> png(torch.zeros(1, 2, 2))[:22]
    'data:image/png;base64,'
    """
    from PIL import Image

    if image.shape[0] != 3:
        image = repeat(image.mean(0), "h w -> c h w", c=3)
    pixels = (image.detach().cpu().nan_to_num().clamp(0, 1) * 255).round().to(torch.uint8)
    buffer = io.BytesIO()
    Image.fromarray(rearrange(pixels, "c h w -> h w c").contiguous().numpy()).save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def strip(images: Float[Tensor, "k c h w"]) -> Float[Tensor, "c h w2"]:
    """Images side by side, a line of grey between.

    >>> strip(torch.zeros(3, 1, 4, 5)).shape
    torch.Size([1, 4, 17])
    """
    line = images.new_full((*images.shape[1:3], 1), GAP)
    parts = [part for image in images for part in (line, image)]
    return torch.cat(parts[1:], -1)
