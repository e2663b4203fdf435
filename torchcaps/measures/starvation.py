"""Capsules that starve while a network learns: their gradients, those of their weights, and their deaths.

The gradient of a capsule's weights scales with the capsule, and that of the capsule with its weights, so that a capsule
that is small may never grow again (mitterreiter2023, section 4.3).
"""

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Bool
from torch import Tensor

from torchcaps.data import Dataset
from torchcaps.functional import length
from torchcaps.measures._axes import legend, line_style
from torchcaps.measures._layers import dead, layer_names, layer_sizes, why_no_activation, why_no_capsules
from torchcaps.measures._moments import Moments
from torchcaps.measures.gradients import LayerGradients, gradients
from torchcaps.measures.result import Nothing, Result, Table
from torchcaps.network import CapsNet, Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LayerLook:
    """One layer of capsules after a step.

    Attributes:
        gradient: mean over images and capsules of ‖∂L/∂u‖.
        dead_gradient: the same over dead capsules alone; None if there is none, or nobody knows.
        weights: mean of ‖∂L/∂W‖ over the maps that lead away from the capsules; None for the last layer.
        dead: a bit for each capsule in the order (row, column, type), 1 where it is dead, as base64 of whole bytes;
            None where activations mean nothing.
    """

    gradient: float
    dead_gradient: float | None
    weights: float | None
    dead: str | None


@dataclass(frozen=True)
class Look:
    """All layers after a step."""

    step: int
    layers: tuple[LayerLook, ...]


@dataclass(frozen=True)
class StarvationResult(Result):
    """What was seen while the network learned, from before its first step on."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    looks: tuple[Look, ...]

    def dead(self, layer: int) -> Bool[Tensor, "looks n"] | None:
        """Which capsules of a layer were dead at each look; None where activations mean nothing."""
        said = [look.layers[layer].dead for look in self.looks]
        packed = [np.frombuffer(base64.b64decode(bits), dtype=np.uint8) for bits in said if bits is not None]
        if len(packed) < len(said):
            return None
        return torch.from_numpy(np.unpackbits(np.stack(packed), axis=1, count=self.sizes[layer]).astype(bool))

    def revived(self, layer: int) -> int | None:
        """How often a capsule that was dead at one look was alive at the next."""
        gone = self.dead(layer)
        return None if gone is None else int((gone[:-1] & ~gone[1:]).sum())

    def table(self) -> Table:
        """The last look, and how many capsules came back before it."""
        rows = []
        for k, (name, look) in enumerate(zip(self.names, self.looks[-1].layers, strict=True)):
            gone = self.dead(k)
            counts = (None if gone is None else int(gone[-1].sum()), self.revived(k))
            figures = (look.gradient, look.dead_gradient, look.weights)
            told = ("–" if v is None else f"{v:.1e}" if isinstance(v, float) else str(v) for v in (*counts, *figures))
            rows.append((name, str(self.sizes[k]), *told))
        columns = ("layer", "capsules", "dead", "revived", "‖∂L/∂u‖", "of the dead", "‖∂L/∂W‖")
        return Table(columns, rows, f"After step {self.looks[-1].step:,}, the last of {len(self.looks)} looks.")

    @property
    def panels(self) -> int:
        """Dead capsules, gradients of capsules, gradients of weights."""
        return 3

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """One of the three against the step, a line for each layer."""
        steps = [look.step for look in self.looks]
        for k, name in enumerate(self.names):
            values = self._series(k, panel)
            if None not in values:
                axes.plot(steps, values, label=name, **line_style(k))
        titles = ("Share of dead capsules", "Gradient of capsules", "Gradient of their weights")
        axes.set(title=titles[panel], xlabel="step", ylabel=("dead", "‖∂L/∂u‖", "‖∂L/∂W‖")[panel])
        axes.set(**({"ylim": (-0.03, 1.03)} if panel == 0 else {"yscale": "log"}))
        legend(axes)

    def _series(self, layer: int, panel: int) -> list[Any]:
        """What a panel shows of a layer, look by look; Nones where it has nothing to show."""
        gone = self.dead(layer)
        if panel == 0:
            return [None] if gone is None else gone.double().mean(1).tolist()
        return [getattr(look.layers[layer], ("gradient", "weights")[panel - 1]) for look in self.looks]


class Starvation:
    """A callback of `fit` that looks at the same images again and again.

    They are the first of the validation data, or of the training data if there is none. The network is asked in
    evaluation mode, and its training goes on as if nobody had looked.

    >>> from torchcaps.measures import Starvation
    >>> from torchcaps.train import fit
    >>> watch = Starvation(every=1)
    >>> small = {"width": 0.1, "layers": 3}
    >>> few = {"steps": 2, "images": 64, "quiet": True}
    >>> run = fit("mitterreiter2023/capsnet", "glyphs", options=small, callbacks=[watch], **few)
    >>> type(watch.result()).__name__
    'StarvationResult'

    Args:
        every: steps between two looks; one is taken before the first step too.
        images: how many.
        dead_mean, dead_std: ε₁ and ε₂ of dead capsules, see `Activity`.
    """

    judges = False

    def __init__(self, every: int = 100, images: int = 128, dead_mean: float = 0.01, dead_std: float = 0.01) -> None:
        if every < 1 or images < 1:
            raise ValueError(f"every={every}, images={images} is not allowed: both must be at least 1")
        self.every, self.images, self.dead_mean, self.dead_std = every, images, dead_mean, dead_std
        self.looks, self.why = list[Look](), "the training has not begun"

    def begin(self, training: Any) -> None:
        """Look at the network before its first step; one that is resumed was looked at."""
        model: Model = training.model
        self.why = why_no_capsules(model)
        if isinstance(model, CapsNet):
            self.names, self.sizes = layer_names(model), tuple(layer_sizes(model))
            if training.step == 0:
                self._look(training)

    def after_backward(self, training: Any) -> None:
        """Nothing: the gradients looked at are those of its own images."""

    def after_step(self, training: Any) -> None:
        """Look, every so many steps."""
        if training.step % self.every == 0:
            self._look(training)

    def after_epoch(self, training: Any, entry: dict[str, Any]) -> None:
        """Nothing: looks are counted in steps."""

    def state(self) -> dict[str, Any]:
        """The result so far, as JSON; a checkpoint keeps it."""
        return self.result().to_json()

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what had been seen."""
        found = Result.from_json(state)
        self.looks = list(found.looks) if isinstance(found, StarvationResult) else []

    def result(self) -> StarvationResult | Nothing:
        """Everything that was seen."""
        if self.why:
            return Nothing("starvation", self.why)
        return StarvationResult(self.names, self.sizes, tuple(self.looks))

    def _look(self, training: Any) -> None:
        model: Model = training.model
        if not isinstance(model, CapsNet):
            return
        data: Dataset = training.splits.validation or training.splits.train
        found = gradients(model, data.batch(torch.arange(min(self.images, len(data)))))
        silent = why_no_activation(model)
        layers = tuple(self._layer(layer, known=not why) for layer, why in zip(found, silent, strict=True))
        self.looks.append(Look(training.step, layers))

    def _layer(self, layer: LayerGradients, *, known: bool) -> LayerLook:
        each = rearrange(length(layer.pose), "b h w n -> b (h w n)").double().mean(0).cpu()
        maps = None if layer.weight is None else float(length(rearrange(layer.weight, "m x jy -> m (x jy)")).mean())
        if not known:
            return LayerLook(float(each.mean()), None, maps, None)
        act = Moments()
        act.update(layer.capsules.act)
        gone = dead(act, self.dead_mean, self.dead_std).flatten()
        starving = float(each[gone].mean()) if gone.any() else None
        bits = base64.b64encode(np.packbits(gone.numpy()).tobytes()).decode()
        return LayerLook(float(each.mean()), starving, maps, bits)
