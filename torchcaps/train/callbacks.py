"""What can watch a training: called at fixed places of the loop, remembered in its checkpoints."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch

from torchcaps.measures import Starvation
from torchcaps.train.trajectory import Trajectory

if TYPE_CHECKING:
    from torchcaps.train.loop import Training

Entry = dict[str, Any]


@runtime_checkable
class Callback(Protocol):
    """A watcher of a training; a subclass may leave each of its methods as it is.

    It sees the whole `Training`: `training.model`, `training.judged`, the network with averaged weights where there are
    any, `training.batch`, `training.step`, the number of steps done, `training.settings`, and `training.folder`. Of
    several processes each has a watcher of its own; the state of the first is kept.

    >>> class Count(Callback):
    ...     steps = 0
    ...     def after_step(self, training):
    ...         self.steps += 1
    >>> from torchcaps.train import fit
    >>> count = Count()
    >>> run = fit("peer2021/sign", "sign", callbacks=[count], fast_dev_run=True, quiet=True)
    >>> count.steps
    2
    """

    judges: bool = False
    """Whether it looks at the validation images at times of its own, with `training.judge`. Then the training does not
    look at them after every epoch, unless `until_accuracy` or `judge_every` asks for it."""

    # Each `return` says that doing nothing is meant: a method without any body would be abstract in a protocol.

    def begin(self, training: "Training") -> None:
        """Before the first step, and before `restore` where a training goes on; what is missing is said here."""
        return

    def after_backward(self, training: "Training") -> None:
        """The gradients of a step are there, not yet clipped; the weights have not moved."""
        return

    def after_step(self, training: "Training") -> None:
        """The weights have moved."""
        return

    def after_epoch(self, training: "Training", entry: Entry) -> None:
        """An entry of the history is complete, after every epoch and judging; numbers added to it are kept there."""
        return

    def state(self) -> Any:
        """What must outlast a stop, as JSON holds it."""
        return None

    def restore(self, state: Any) -> None:
        """Go back to what `state` gave."""
        return


class GradientNorm(Callback):
    """The mean norm of the gradient of all parameters, under "gradient_norm" in each entry of the history."""

    def __init__(self) -> None:
        self.total, self.steps = 0.0, 0

    def after_backward(self, training: "Training") -> None:
        """Add this step's norm."""
        grads = [p.grad for p in training.model.parameters() if p.grad is not None]
        self.total += float(torch.nn.utils.get_total_norm(grads))
        self.steps += 1

    def after_epoch(self, training: "Training", entry: Entry) -> None:
        """Note the mean, and begin anew."""
        entry["gradient_norm"] = self.total / self.steps if self.steps else math.nan
        self.total, self.steps = 0.0, 0

    def state(self) -> Any:
        """Sum and count of the steps since the last entry."""
        return [self.total, self.steps]

    def restore(self, state: Any) -> None:
        """Go on with that sum and count."""
        self.total, self.steps = state


CALLBACKS: dict[str, Callable[..., Callback]] = {
    "gradient_norm": GradientNorm,
    "starvation": Starvation,
    "trajectory": Trajectory,
}
"""Callbacks that `Settings` can name; each is built with its options."""


def make_callbacks(named: Mapping[str, Mapping[str, Any]]) -> list[Callback]:
    """Callbacks by their names in `CALLBACKS`.

    >>> make_callbacks({"gradient_norm": {}})[0].state()
    [0.0, 0]
    """
    made = []
    for name, options in named.items():
        try:
            made.append(CALLBACKS[name](**options))
        except TypeError as error:
            raise ValueError(f"callbacks: {name!r} cannot be made with {dict(options)}: {error}") from error
    return made


class Watchers:
    """All callbacks of a training, by name for the checkpoint: the settings' own, then those given as objects."""

    def __init__(self, named: Mapping[str, Mapping[str, Any]], given: Sequence[Callback] = ()) -> None:
        self.all = [*make_callbacks(named), *given]
        self.names = [*named, *(type(callback).__name__ for callback in given)]

    def state(self) -> list[Any]:
        """The state of each, with its name."""
        return [[name, callback.state()] for name, callback in zip(self.names, self.all, strict=True)]

    def restore(self, states: list[Any]) -> None:
        """Give each its state back; others than those it was saved with are an error."""
        before = [name for name, _ in states]
        if before != self.names:
            raise ValueError(
                f"it was saved with the callbacks {', '.join(before) or 'none'}, and cannot go on with "
                f"{', '.join(self.names) or 'none'}"
            )
        for callback, (_, state) in zip(self.all, states, strict=True):
            callback.restore(state)
