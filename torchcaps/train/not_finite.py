"""When numbers stop being numbers: where it began, and what helps."""

import torch
from torch import Tensor, nn

from torchcaps.data import Batch

ADVICE = (
    "A smaller learning rate, a warm-up (schedule='one_cycle') or precision 32 instead of bf16 usually helps; "
    "images must be finite numbers from 0 to 1"
)


class NotFiniteError(FloatingPointError):
    """A loss that is NaN or infinite, with the step, the layer where it began and advice."""


def located(objective: nn.Module, batch: Batch, step: int, loss: float) -> NotFiniteError:
    """The error to raise: the batch is run again, with an eye on every layer."""
    return NotFiniteError(f"step {step}: the loss is {loss}. {_origin(objective, batch)}. {ADVICE}.")


def not_finite(objective: nn.Module) -> str | None:
    """A sentence about the first parameter that is not finite, if there is one."""
    for name, parameter in objective.named_parameters():
        if not torch.isfinite(parameter).all():
            return f"The parameter {_plain(name)} holds NaN or Inf since an earlier step"
    return None


def _origin(objective: nn.Module, batch: Batch) -> str:
    if not torch.isfinite(batch.images).all():
        return "The images of this batch hold NaN or Inf"
    broken = not_finite(objective)
    if broken is not None:
        return broken
    found: list[str] = []

    def look(name: str, output: object) -> None:
        if not found and not all(torch.isfinite(t).all() for t in _tensors(output)):
            found.append(name)

    # Inner modules finish, and are heard, before those that hold them.
    handles = [
        module.register_forward_hook(lambda _m, _i, output, name=name: look(name, output))
        for name, module in objective.named_modules()
        if name
    ]
    try:
        with torch.no_grad():
            objective(batch)
    finally:
        for handle in handles:
            handle.remove()
    return f"NaN or Inf first came out of the layer {_plain(found[0])}" if found else "It arose in the loss itself"


def _plain(name: str) -> str:
    return name.removeprefix("model.")


def _tensors(output: object) -> list[Tensor]:
    if isinstance(output, Tensor):
        return [output]
    if isinstance(output, tuple | list):
        return [t for part in output for t in _tensors(part)]
    return []
