"""The operators `torchcaps::attend` and `torchcaps::moments` and their gradients, declared once for every device.

Schema, shapes and autograd stand here, and the plain pass as what they compute where nothing faster was registered. An
implementation for a device is registered under the same names and needs to say nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.library import Library, register_autograd, register_fake

from torchcaps.ops.attend import attend_pass
from torchcaps.ops.moments import moments_pass
from torchcaps.ops.sizes import Sizes, sizes_of
from torchcaps.ops.tiles import Pass, Tensors, differentiate, pull, run

LIBRARY = Library("torchcaps", "DEF")


@dataclass(frozen=True)
class Operator:
    """A pass over the votes as torch knows it; `<name>_backward` is the operator that gives its gradients.

    Args:
        tensors: names of its tensors; those with a question mark may be absent.
        numbers: its other arguments as the schema has them; the first is the number of parents.
        outputs: names; "mass" is one number for a parent and instance, the others are poses.
        plain: builds the plain pass from the numbers.
    """

    name: str
    tensors: tuple[str, ...]
    numbers: tuple[str, ...]
    outputs: tuple[str, ...]
    plain: Callable[..., Pass]

    def __post_init__(self) -> None:
        given = [f"Tensor{'?' if t.endswith('?') else ''} {t.rstrip('?')}" for t in self.tensors] + [*self.numbers]
        grads = [f"Tensor {t}" for t in self.grads]
        for name, arguments, returned in (
            (self.name, given, len(self.outputs)),
            (f"{self.name}_backward", [*grads, *given], len(self.tensors)),
        ):
            schema = f"{name}({', '.join(arguments)}) -> ({', '.join(['Tensor'] * returned)})"
            LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
        for name, implementation, shapes in (
            (self.name, self.forward, self.shapes),
            (f"{self.name}_backward", self.backward, self.backward_shapes),
        ):
            LIBRARY.impl(name, implementation, "CompositeExplicitAutograd")
            register_fake(f"torchcaps::{name}", shapes, lib=LIBRARY)
        register_autograd(f"torchcaps::{self.name}", self.gradients, setup_context=self.keep, lib=LIBRARY)

    @property
    def grads(self) -> tuple[str, ...]:
        """The names of the outputs' gradients."""
        return tuple(f"g_{name}" for name in self.outputs)

    def named(self, *tensors: Tensor | None, grads: bool) -> dict[str, Tensor | None]:
        """The tensors of a call by name; those of the backward operator begin with the outputs' gradients."""
        names = [t.rstrip("?") for t in self.tensors]
        return dict(zip([*self.grads, *names] if grads else names, tensors, strict=True))

    def shapes(self, *arguments: Any) -> tuple[Tensor, ...]:
        """The outputs, not computed."""
        u, w, j = arguments[0], arguments[1], arguments[len(self.tensors)]
        _, _, a, m = u.shape
        y = w.shape[2] // j
        return tuple(u.new_empty((j, m) if out == "mass" else (j, y, a, m)) for out in self.outputs)

    def backward_shapes(self, *arguments: Any) -> tuple[Tensor, ...]:
        """The gradients, not computed: one for each tensor, empty where that is absent."""
        given = arguments[len(self.outputs) : len(self.outputs) + len(self.tensors)]
        return tuple(given[0].new_empty(0) if t is None else torch.empty_like(t) for t in given)

    def forward(self, *arguments: Any) -> tuple[Tensor, ...]:
        """The plain pass; half precision is summed in single."""
        given, numbers = arguments[: len(self.tensors)], arguments[len(self.tensors) :]
        s, wide = sizes_of(self.named(*given, grads=False), numbers[0]), [_wide(t) for t in given]
        with torch.no_grad():
            found = run(self.plain(*numbers), wide, **_extent(s, wide))
        return tuple(t.to(given[0].dtype) for t in found)

    def backward(self, *arguments: Any) -> tuple[Tensor, ...]:
        """The plain pass's gradients, tile by tile."""
        outs, count = len(self.outputs), len(self.outputs) + len(self.tensors)
        given, numbers = arguments[:count], arguments[count:]
        s, wide = sizes_of(self.named(*given, grads=True), numbers[0]), [_wide(t) for t in given]
        with torch.no_grad():
            all_ = [True] * len(self.tensors)
            found = pull(self.plain(*numbers), wide[:outs], wide[outs:], all_, **_extent(s, wide))
        return tuple(given[0].new_empty(0) if t is None else t.to(given[0].dtype) for t in found)

    def keep(self, ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """What the backward pass needs: the inputs, and no vote."""
        ctx.numbers = inputs[len(self.tensors) :]
        ctx.save_for_backward(*inputs[: len(self.tensors)])

    def gradients(self, ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Through the backward operator, or in plain torch where they are to be differentiated again."""
        given: tuple[Tensor | None, ...] = ctx.saved_tensors
        nothing = (None,) * len(ctx.numbers)
        if torch.is_grad_enabled():
            needed = ctx.needs_input_grad[: len(given)]
            return *differentiate(self.plain(*ctx.numbers), grads, given, needed, create_graph=True), *nothing
        backward = getattr(torch.ops.torchcaps, f"{self.name}_backward")
        found = backward(*(grad.contiguous() for grad in grads), *given, *ctx.numbers)
        return *(None if t is None else grad for t, grad in zip(given, found, strict=True)), *nothing


def _wide(t: Tensor | None) -> Tensor | None:
    return t.float() if t is not None and t.dtype in (torch.float16, torch.bfloat16) else t


def _extent(s: Sizes, tensors: Tensors) -> dict[str, int]:
    """How far a pass reaches, and what one child's votes for one instance take of memory."""
    number = max(t.element_size() for t in tensors if t is not None)
    return {"i": s.i, "m": s.m, "pair_bytes": s.a * s.j * s.y * number}


ATTEND = Operator(
    "attend",
    ("u", "w", "bias?", "query?", "prior?", "weight?"),
    ("int j", "bool detach"),
    ("sum", "mass"),
    attend_pass,
)
MOMENTS = Operator(
    "moments",
    ("u", "w", "bias?", "centre", "query?", "precision?", "prior?", "weight?"),
    ("int j",),
    ("mass", "first", "second"),
    moments_pass,
)
