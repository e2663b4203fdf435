"""A mode under which nothing may make the host wait for a device: no number is read, no size depends on numbers."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
FORBIDDEN = {
    *(aten._local_scalar_dense.default, aten.is_nonzero.default, aten.equal.default, aten.nonzero.default),
    *(aten.masked_select.default, aten.unique_dim.default, aten._unique2.default, aten.bincount.default),
}


class NobodyWaits(TorchDispatchMode):
    """Inside, `item`, `bool`, `float`, `nonzero` and the like are errors; on a card each of them would wait for it."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        by_mask = func is aten.index.Tensor and any(t is not None and t.dtype == torch.bool for t in args[1])
        if func in FORBIDDEN or by_mask:
            raise AssertionError(f"{func} waits for the device")
        return func(*args, **(kwargs or {}))
