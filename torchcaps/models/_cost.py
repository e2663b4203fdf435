"""What a model costs, found without computing anything."""

import torch

from torchcaps.network import Model


def multiply_adds(model: Model, image: tuple[int, int, int]) -> int:
    """The multiply-adds of all convolutions and matrix products for one image; the model is on the meta device.

    >>> from torchcaps.models import create_model
    >>> multiply_adds(create_model("sabour2017/capsnet").to("meta"), (1, 28, 28))
    203821056
    """
    from torch.utils.flop_counter import FlopCounterMode  # which imports Triton, if it is there, for a second

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.eval()(torch.zeros(1, *image, device="meta"))
    return int(counter.get_total_flops()) // 2
