"""The operators of `torchcaps.ops.operators`, computed by the kernels."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from torchcaps.ops.operators import ATTEND, LIBRARY, MOMENTS, Operator
from torchcaps.ops.sizes import sizes_of
from torchcaps.ops.triton._launch import Call, run_backward, run_forward
from torchcaps.ops.triton._plan import Target, fits

KINDS = (torch.float32, torch.bfloat16, torch.float16)
FIRST = {"sum": "first", "g_sum": "g_first"}  # `attend` is `moments` without a centre: its sum is the first moment


def register(device: str) -> None:
    """Have the kernels serve a kind of device."""
    for operator in (ATTEND, MOMENTS):
        LIBRARY.impl(operator.name, _forward(operator), device.upper())
        LIBRARY.impl(f"{operator.name}_backward", _backward(operator), device.upper())


def _forward(operator: Operator) -> Callable[..., tuple[Tensor, ...]]:
    def compute(*arguments: Any) -> tuple[Tensor, ...]:
        call = _call(operator, arguments, grads=False)
        if call is None:
            return operator.forward(*arguments)
        found = run_forward(call, second="second" in operator.outputs)
        return tuple(found[FIRST.get(name, name)] for name in operator.outputs)

    return compute


def _backward(operator: Operator) -> Callable[..., tuple[Tensor, ...]]:
    def compute(*arguments: Any) -> tuple[Tensor, ...]:
        call = _call(operator, arguments, grads=True)
        if call is None:
            return operator.backward(*arguments)
        found = run_backward(call)
        absent = arguments[0].new_empty(0)
        return tuple(found.get(name.rstrip("?"), absent) for name in operator.tensors)

    return compute


def _call(operator: Operator, arguments: tuple[Any, ...], *, grads: bool) -> Call | None:
    """The call as the kernels take it; None where the plain pass serves: double precision, no maps, nothing to do."""
    count = len(operator.tensors) + grads * len(operator.outputs)
    given, (j, *detach) = operator.named(*arguments[:count], grads=grads), arguments[count:]
    s, u = sizes_of(given, j), arguments[grads * len(operator.outputs)]
    if u.dtype not in KINDS or given["w"] is None or not fits(s) or 0 in (s.i, s.m):
        return None
    whole = {FIRST.get(name, name): None if t is None else t.contiguous() for name, t in given.items()}
    return Call(whole, s, _target(u.device), detach=bool(detach and detach[0]))


@lru_cache
def _target(device: torch.device) -> Target:
    if device.type == "cpu":
        return Target("cpu", 0, 1)
    found = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        return Target("hip", found.gcnArchName.split(":")[0], found.multi_processor_count)
    return Target("cuda", 10 * found.major + found.minor, found.multi_processor_count)
