"""Run a pass over tiles of children and instances, and recompute the tiles in the backward pass.

The votes of a tile fit the cache and are never kept: the forward pass stores its inputs only, the backward pass
rebuilds each tile and pulls its gradients back. A second derivative differentiates the whole pass as ordinary torch;
`torch.compile` and `torch.export` see ordinary torch from the start.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

Tensors = Sequence[Tensor | None]
Tile = dict[str, slice]

TILE_BYTES = 2 << 20  # measured: one to three megabytes are alike; above, the cache no longer holds a tile


class Pass(NamedTuple):
    """A function over votes, and how its tensors lie along the children i and the instances m.

    Args:
        forward: from inputs to outputs, in differentiable torch.
        axes: for each input "i" if its first axis is the children, "m" if its last is the instances, "im", or "".
        outs: for each output "m" (summed over the children) or "im".
        pullback: from the outputs' gradients and the inputs to the inputs' gradients; autograd's if not given.
    """

    forward: Callable[..., tuple[Tensor, ...]]
    axes: tuple[str, ...]
    outs: tuple[str, ...]
    pullback: Callable[..., Tensors] | None = None


def run(over: Pass, inputs: Tensors, *, i: int, m: int, pair_bytes: int) -> tuple[Tensor, ...]:
    """Apply a pass, in tiles if its `i * m` pairs of a child and an instance take more memory than one."""
    # A compiler asks nothing of the sizes, or it would take the answer as a limit of the batch.
    traced = torch.compiler.is_compiling() or any(t is not None and t.is_meta for t in inputs)
    if traced or i * m * pair_bytes <= TILE_BYTES:
        return over.forward(*inputs)
    outputs: tuple[Tensor, ...] = _Tiled.apply(  # type: ignore[no-untyped-call]
        over, {"i": i, "m": m, "pair_bytes": pair_bytes}, *whole(*inputs)
    )
    return outputs


def whole(*tensors: Tensor | None) -> list[Tensor | None]:
    """As the passes read them, again and again: instances side by side in memory."""
    return [None if t is None else t.contiguous() for t in tensors]


def pull(
    over: Pass, grads: Tensors, inputs: Tensors, needed: Sequence[bool], *, i: int, m: int, pair_bytes: int
) -> Tensors:
    """The inputs' gradients from the outputs', tile by tile; None where not needed."""
    whole = [torch.zeros_like(t) if need and t is not None else None for t, need in zip(inputs, needed, strict=True)]
    for tile in _tiles(i, m, pair_bytes):
        pieces = _cut_all(inputs, over.axes, tile)
        given = _cut_all(grads, over.outs, tile)
        if over.pullback is None:
            found = differentiate(over, given, pieces, needed)
        else:
            found = over.pullback(given, *pieces)
        for total, grad, axes in zip(whole, found, over.axes, strict=True):
            if total is not None and grad is not None:
                part = _cut(total, axes, tile)
                part.add_(grad.sum_to_size(part.shape))
    return whole


class _Tiled(torch.autograd.Function):
    @staticmethod
    def forward(over: Pass, sizes: dict[str, int], *inputs: Tensor | None) -> tuple[Tensor, ...]:
        outputs: list[Tensor] = []
        for tile in _tiles(**sizes):
            pieces = over.forward(*_cut_all(inputs, over.axes, tile))
            if not outputs:
                outputs = [_room(piece, axes, sizes) for piece, axes in zip(pieces, over.outs, strict=True)]
            for whole, piece, axes in zip(outputs, pieces, over.outs, strict=True):
                _cut(whole, axes, tile).add_(piece)
        return tuple(outputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:  # noqa: ARG004
        ctx.over, ctx.sizes, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        over, inputs, needed = ctx.over, ctx.saved_tensors, ctx.needs_input_grad[2:]
        if torch.is_grad_enabled():
            return None, None, *differentiate(over, grads, inputs, needed, create_graph=True)
        return None, None, *pull(over, whole(*grads), inputs, needed, **ctx.sizes)


def differentiate(
    over: Pass, grads: Tensors, inputs: Tensors, needed: Sequence[bool], *, create_graph: bool = False
) -> Tensors:
    """The inputs' gradients as autograd finds them, connected to the inputs if they are to be differentiated again."""
    with torch.enable_grad():
        if create_graph:
            # A query may itself depend on u and W: each input stands for itself alone, and autograd joins them outside.
            inputs = [t if t is None else t.view_as(t) for t in inputs]
        else:
            inputs = [
                t if t is None else t.detach().requires_grad_(need) for t, need in zip(inputs, needed, strict=True)
            ]
        outputs = [(out, grad) for out, grad in zip(over.forward(*inputs), grads, strict=True) if out.requires_grad]
        leaves = [t for t, need in zip(inputs, needed, strict=True) if need and t is not None]
        found = iter(
            torch.autograd.grad(
                [out for out, _ in outputs],
                leaves,
                [grad for _, grad in outputs],
                create_graph=create_graph,
                allow_unused=True,
            )
        )
    return [next(found) if need and t is not None else None for t, need in zip(inputs, needed, strict=True)]


def _tiles(i: int, m: int, pair_bytes: int) -> Iterator[Tile]:
    # Instances are the contiguous axis: as many as leave room for eight children in a tile.
    wide = max(1, min(m, TILE_BYTES // (8 * pair_bytes)))
    high = max(1, TILE_BYTES // (wide * pair_bytes))
    for first in range(0, m, wide):
        for child in range(0, i, high):
            yield {"i": slice(child, child + high), "m": slice(first, first + wide)}


def _cut(tensor: Tensor, axes: str, tile: Tile) -> Tensor:
    """The tile's part of a tensor; an axis of length one is shared by all tiles."""
    if "i" in axes and tensor.shape[0] > 1:
        tensor = tensor[tile["i"]]
    if "m" in axes and tensor.shape[-1] > 1:
        tensor = tensor[..., tile["m"]]
    return tensor


def _cut_all(tensors: Tensors, axes: Sequence[str], tile: Tile) -> list[Tensor | None]:
    return [None if t is None else _cut(t, a, tile) for t, a in zip(tensors, axes, strict=True)]


def _room(piece: Tensor, axes: str, sizes: dict[str, int]) -> Tensor:
    shape = list(piece.shape)
    shape[-1] = sizes["m"]
    if "i" in axes:
        shape[0] = sizes["i"]
    return piece.new_zeros(shape)
