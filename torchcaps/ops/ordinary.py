"""Which tensors an operator of our own may take in place of torch's."""

import torch
from torch import Tensor
from torch.nn import Parameter


def ordinary(*tensors: Tensor) -> bool:
    """Whether these are numbers of one precision on a CPU, no autocast is on, and no transform looks inside.

    >>> ordinary(torch.ones(2), torch.ones(3)), ordinary(torch.ones(2), torch.ones(3).double())
    (True, False)
    """
    if any(type(t) not in (Tensor, Parameter) or t.device.type != "cpu" for t in tensors):
        return False
    if len({t.dtype for t in tensors}) > 1 or torch.is_autocast_enabled("cpu"):
        return False
    return torch._C._functorch.peek_interpreter_stack() is None
