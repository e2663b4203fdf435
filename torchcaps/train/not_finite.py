"""When numbers stop being numbers: where it began, and what helps."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from torchcaps.data import Batch
from torchcaps.network import CapsNet, Model
from torchcaps.schedule import concurrent
from torchcaps.train.objective import Objective
from torchcaps.types import Capsules, Parse

ADVICE = (
    "A smaller learning rate, a warm-up (lr_schedule='one_cycle') or precision 32 instead of bf16 usually helps; "
    "images must be finite numbers from 0 to 1"
)
LOOKED_AT = 8  # images whose couplings are recorded, which are large


class NotFiniteError(FloatingPointError):
    """A loss that is NaN or infinite, with the step, the layer where it began and advice."""


def located(objective: Objective, batch: Batch, step: int, loss: float) -> NotFiniteError:
    """The error to raise: the batch is run again, and looked at on its way."""
    return NotFiniteError(f"step {step}: the loss is {loss}. {_origin(objective, batch)}. {ADVICE}.")


def broken_part(module: nn.Module) -> str | None:
    """A few words on the first parameter that is not finite, or the first buffer that holds NaN, if there is one."""
    for name, parameter in module.named_parameters():
        if not torch.isfinite(parameter).all():
            return f"The parameter {_plain(name)} holds NaN or Inf"
    for name, buffer in module.named_buffers():
        if torch.isnan(buffer).any():
            return f"The buffer {_plain(name)} holds NaN"
    return None


def _origin(objective: Objective, batch: Batch) -> str:
    if not torch.isfinite(batch.images).all():
        return "The images of this batch hold NaN or Inf"
    broken = broken_part(objective)
    if broken is not None:
        return f"{broken} since an earlier step"
    heard = _heard(objective, batch)
    if not heard.before_routing:
        born = _routed(objective.model, heard)
        if born is not None:
            return born
    if heard.first:
        return f"NaN or Inf first came out of the layer {_plain(heard.first)}"
    return (
        "It does not arise again here: another process, or another draw, had it" if heard.fine else "The loss made it"
    )


@dataclass
class _Heard:
    """Of a pass: the first module whose output was not finite, the primary capsules, scores, and a finite loss."""

    first: str = ""
    primary: Capsules | None = None
    scores: Tensor | None = None
    fine: bool = True

    @property
    def before_routing(self) -> bool:
        return self.first.startswith(("model.backbone", "model.primary"))


def _heard(objective: Objective, batch: Batch) -> _Heard:
    """Run a batch and listen to the modules that are called: inner ones first; capsule layers are stepped instead."""
    heard = _Heard()

    def hear(name: str, output: object) -> None:
        if name == "model.primary" and isinstance(output, Capsules):
            heard.primary = output
        if name == "model" and isinstance(output, Parse):
            heard.scores = output.scores
        if not heard.first and not _finite(output):
            heard.first = name

    handles = [
        module.register_forward_hook(lambda _m, _i, output, name=name: hear(name, output))
        for name, module in objective.named_modules()
        if name
    ]
    try:
        with torch.no_grad():
            heard.fine = _finite(objective(batch).loss)
    finally:
        for handle in handles:
            handle.remove()
    return heard


def _routed(model: Model, heard: _Heard) -> str | None:
    """The capsule layer and iteration whose state first is not finite, from the history that the network keeps.

    A few images whose scores are not finite are routed again from their primary capsules, each as it was.
    """
    if not isinstance(model, CapsNet) or heard.primary is None or heard.scores is None or _finite(heard.scores):
        return None
    few = (~torch.isfinite(heard.scores).all(-1)).nonzero().flatten()[:LOOKED_AT]
    with torch.no_grad():
        history = model.schedule(list(model.layers), Capsules(*(t[few] for t in heard.primary)), "all")  # type: ignore[arg-type]
    turn = "sweep" if getattr(model.schedule, "func", model.schedule) is concurrent else "iteration"
    for k, states in enumerate(history):  # no layer hears from those above it
        for t, state in enumerate(states):
            if not _finite(state.capsules):
                where = f"capsule layer {k + 1} of {len(history)} (layers.{k}), {turn} {t + 1} of {len(states)}"
                return f"NaN or Inf first came out of {where}"
    return None


def _plain(name: str) -> str:
    return name.removeprefix("model.")


def _finite(output: object) -> bool:
    if isinstance(output, Tensor):
        return bool(torch.isfinite(output).all())
    return all(map(_finite, output)) if isinstance(output, tuple | list) else True
