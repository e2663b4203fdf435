"""Running a model on images: evaluation mode, device and precision are handled here, for everybody."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.network import Model
from torchcaps.types import Parse, Record


def infer(model: Model, images: Float[Tensor, "b c h w"], record: Record = "none") -> Parse:
    """How a model understands images, wherever they are and whatever mode it is in.

    The images go to the device and into the precision of the model's parameters; it answers in evaluation mode, without
    gradients, and is left as it was. The parse stays on the model's device.

    >>> from torchcaps.models import create_model
    >>> net = create_model("chen2019/lenet").double()
    >>> infer(net, torch.rand(2, 1, 28, 28)).scores.dtype, net.training
    (torch.float64, True)

    Args:
        record: how much of what it did the parse keeps; see `Parse`.
    """
    with evaluating(model):
        parse: Parse = model(ready(model, images), record)
    return parse


def ready(model: Model, images: Tensor) -> Tensor:
    """Images on the device and in the precision that a model wants.

    >>> from torchcaps.models import create_model
    >>> ready(create_model("chen2019/lenet").double(), torch.rand(1, 1, 28, 28)).dtype
    torch.float64
    """
    like = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0))
    return images.to(like.device, like.dtype)


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; every part's own mode comes back, whatever happens.

    >>> net = nn.Dropout()
    >>> with evaluating(net):
    ...     net.training
    False
    >>> net.training
    True
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
