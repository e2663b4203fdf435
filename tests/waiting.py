"""A mode under which nothing may make the host wait for a device: no number is read, no size depends on numbers."""

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
FORBIDDEN = {
    *(aten._local_scalar_dense.default, aten.is_nonzero.default, aten.equal.default, aten.nonzero.default),
    *(aten.masked_select.default, aten.unique_dim.default, aten._unique2.default, aten.bincount.default),
}


HOME = {Tensor.cpu, Tensor.tolist, Tensor.numpy, Tensor.__array__}
"""What brings numbers home. On the CPU they are there already, and no operator is asked."""


class _StayAway(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in HOME:
            raise AssertionError(f"{func} waits for the device")
        return func(*args, **(kwargs or {}))


class NobodyWaits(TorchDispatchMode):
    """Inside, `item`, `bool`, `tolist`, `cpu`, `nonzero` and the like are errors; on a card each would wait for it."""

    def __enter__(self):
        self.away = _StayAway()
        self.away.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.away.__exit__(*error)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        by_mask = func is aten.index.Tensor and any(t is not None and t.dtype == torch.bool for t in args[1])
        if func in FORBIDDEN or by_mask:
            raise AssertionError(f"{func} waits for the device")
        return func(*args, **(kwargs or {}))
