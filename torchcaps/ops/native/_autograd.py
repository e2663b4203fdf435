"""What torch must know of the native passes: shapes without computing, and gradients. Imported once they are loaded."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchcaps.ops.attend import attend_pass
from torchcaps.ops.moments import moments_pass
from torchcaps.ops.tiles import Pass, differentiate


def register(name: str, count: int, plain: Callable[..., Pass], outputs: tuple[str, ...]) -> None:
    """Tell torch of one pass.

    Args:
        count: how many tensors, absent ones included, it takes before its numbers (j, and perhaps detach).
        plain: builds the plain pass from those numbers; a gradient that is to be differentiated again is its.
        outputs: for each output "poses" or "mass".
    """
    backward_op = getattr(torch.ops.torchcaps, f"{name}_backward")

    def shapes(*arguments: Any) -> tuple[Tensor, ...]:
        u, w, j = arguments[0], arguments[1], arguments[count]
        _, _, a, m = u.shape
        sizes = {"poses": (j, w.shape[2] // j, a, m), "mass": (j, m)}
        return tuple(u.new_empty(sizes[kind]) for kind in outputs)

    def backward_shapes(*arguments: Any) -> tuple[Tensor, ...]:
        tensors = arguments[len(outputs) : len(outputs) + count]
        return tuple(arguments[0].new_empty(0) if t is None else torch.empty_like(t) for t in tensors)

    def setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:  # noqa: ARG001
        ctx.numbers = inputs[count:]
        ctx.save_for_backward(*inputs[:count])

    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        tensors: tuple[Tensor | None, ...] = ctx.saved_tensors
        nothing = (None,) * len(ctx.numbers)
        if torch.is_grad_enabled():
            over = plain(*ctx.numbers)
            return *differentiate(over, grads, tensors, ctx.needs_input_grad[:count], create_graph=True), *nothing
        found = backward_op(*(grad.contiguous() for grad in grads), *tensors, *ctx.numbers)
        return *(None if t is None else grad for t, grad in zip(tensors, found, strict=True)), *nothing

    torch.library.register_fake(f"torchcaps::{name}", shapes)
    torch.library.register_fake(f"torchcaps::{name}_backward", backward_shapes)
    torch.library.register_autograd(f"torchcaps::{name}", backward, setup_context=setup)


register("attend", 6, attend_pass, ("poses", "mass"))
register("moments", 8, moments_pass, ("mass", "poses", "poses"))
