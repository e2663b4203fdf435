"""A second device on a machine that has one: its numbers lie in the same memory, and it refuses to meet the CPU's."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("meta")  # a name torch knows and nobody computes on
CROSSING = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}
INDEXING = {torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default}


class Elsewhere(torch.Tensor):
    """A tensor on the second device."""

    @staticmethod
    def __new__(cls, inner):
        kinds = {"dtype": inner.dtype, "device": DEVICE, "requires_grad": inner.requires_grad}
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride(), **kinds)

    def __init__(self, inner):
        self.inner = inner.detach()

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _run(func, args, kwargs or {})

    def tolist(self):
        return self.inner.tolist()

    def __repr__(self):
        return f"Elsewhere({self.inner})"


class SecondDevice(TorchDispatchMode):
    """Inside, `to(DEVICE)` and `device=DEVICE` lead to the second device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return _run(func, args, kwargs or {})


def _run(func, args, kwargs):
    found = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
    there = any(isinstance(t, Elsewhere) for t in found)
    if there and func not in CROSSING:
        _check(func, found)
    wanted = kwargs.get("device")
    if wanted is not None:
        there = torch.device(wanted) == DEVICE
        kwargs = {**kwargs, "device": torch.device("cpu")}
    elif func in CROSSING:
        there = isinstance(args[0], Elsewhere)
    plain_args, plain_kwargs = tree_map(lambda t: t.inner if isinstance(t, Elsewhere) else t, (args, kwargs))
    out = func(*plain_args, **plain_kwargs)
    if not there:
        return out
    out = tree_map(lambda t: Elsewhere(t) if isinstance(t, torch.Tensor) else t, out)
    return out if wanted is not None else return_and_correct_aliasing(func, args, kwargs, out)


def _check(func, found):
    met = [t for t in (found[:1] if func in INDEXING else found) if t.ndim > 0]
    if len({isinstance(t, Elsewhere) for t in met}) > 1:
        raise RuntimeError(f"Expected all tensors to be on the same device, but {func} meets both")
