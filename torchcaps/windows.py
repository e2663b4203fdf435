"""Which children each parent sees: one index buffer serves gathering, padding, competition and places."""

import torch
from einops import rearrange, repeat
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from torchcaps import ops

Pair = int | tuple[int, int]


class TooSmallError(ValueError):
    """A grid, or an image, that is smaller than a window over it."""


def pair(value: Pair, what: str) -> tuple[int, int]:
    """An integer, or two, as (height, width).

    >>> pair(3, "stride")
    (3, 3)
    """
    both = (value, value) if isinstance(value, int) else tuple(value) if isinstance(value, tuple | list) else ()
    if len(both) != 2 or not all(isinstance(v, int) for v in both):
        raise ValueError(f"{what}={value!r} is not allowed: give one integer, or two as (height, width)")
    return both


class Windows(nn.Module):
    """Windows of `window` positions, `stride` apart, over a `grid` of `n` capsules per position, padded by `padding`.

    They give couplings their geometry: `places` says which child an entry comes from, `parents` who sees a child, and
    `by_child` brings the entries to the children.

    >>> Windows((6, 6), 32, window=3, stride=2).grid_out
    (2, 2)
    """

    index: Int[Tensor, "h w k"]
    missing: Bool[Tensor, "h w i"] | None

    def __init__(
        self, grid: tuple[int, int], n: int, *, window: Pair | None = None, stride: Pair = 1, padding: Pair = 0
    ) -> None:
        super().__init__()
        self.grid, self.n = grid, n
        self.stride, self.padding = pair(stride, "stride"), pair(padding, "padding")
        self.window = grid if window is None else pair(window, "window")
        self.grid_out = self._grid_out()
        self.i = self.window[0] * self.window[1] * n
        rows, cols = (self._reach(axis) for axis in range(2))
        index = rows[:, None, :, None] * grid[1] + cols[None, :, None, :]
        outside = (rows < 0)[:, None, :, None] | (cols < 0)[None, :, None, :]
        # A padded child is the position after the last one: gathering finds zeros there.
        index = torch.where(outside, grid[0] * grid[1], index)
        self.register_buffer("index", rearrange(index, "k l h w -> h w (k l)"), persistent=False)
        gone = rearrange(outside, "k l h w -> h w (k l)").repeat_interleave(n, dim=-1)
        self.register_buffer("missing", gone if bool(outside.any()) else None, persistent=False)

    @property
    def whole(self) -> bool:
        """Whether one window holds the whole grid, and there is nothing to copy."""
        return self.window == self.grid and self.missing is None

    def _grid_out(self) -> tuple[int, int]:
        padded = tuple(g + 2 * p for g, p in zip(self.grid, self.padding, strict=True))
        for name, values, least in (
            ("window", self.window, 1),
            ("stride", self.stride, 1),
            ("padding", self.padding, 0),
        ):
            if min(values) < least:
                raise ValueError(f"{name}={values} is not allowed: each number must be at least {least}")
        if any(k > g for k, g in zip(self.window, padded, strict=True)):
            raise TooSmallError(
                f"window={self.window} is larger than the grid {self.grid} with padding={self.padding}: "
                f"allowed are windows up to {padded}, or window=None for the whole grid"
            )
        if any(p >= k for p, k in zip(self.padding, self.window, strict=True)):
            raise ValueError(
                f"padding={self.padding} would give parents that see no child with window={self.window}: "
                f"each padding must be smaller than its window"
            )
        h, w = ((g - k) // s + 1 for g, k, s in zip(padded, self.window, self.stride, strict=True))
        return h, w

    def _reach(self, axis: int) -> Int[Tensor, "k h"]:
        """Per window offset and parent the child's row (or column); −1 where that is padding."""
        at = torch.arange(self.window[axis], device="cpu")[:, None] - self.padding[axis]
        at = at + torch.arange(self.grid_out[axis], device="cpu") * self.stride[axis]
        return torch.where((at < 0) | (at >= self.grid[axis]), -1, at)

    def _entries(self) -> Int[Tensor, "h w p"]:
        """Which of a coupling's entries (h w k) speak of each child position, in order; −1 where fewer than p do."""
        position, entry = self.index.flatten().sort(stable=True)
        rank = torch.arange(len(position), device=position.device) - torch.searchsorted(position, position)
        child = position < self.grid[0] * self.grid[1]
        table = position.new_full((self.grid[0] * self.grid[1], int(rank[child].max()) + 1), -1)
        table[position[child], rank[child]] = entry[child]
        return rearrange(table, "(h w) p -> h w p", w=self.grid[1])

    @property
    def places(self) -> Int[Tensor, "h w i 3"]:
        """Row, column and type of the child behind each entry of a coupling (b h w i j); −1, −1, −1 for padding.

        >>> Windows((3, 3), 2, window=2, padding=1).places[0, 0].tolist()
        [[-1, -1, -1], [-1, -1, -1], [-1, -1, -1], [-1, -1, -1], [-1, -1, -1], [-1, -1, -1], [0, 0, 0], [0, 0, 1]]
        """
        (h, w), width = self.grid_out, self.grid[1]
        row = repeat(self.index // width, "h w k -> h w (k n)", n=self.n)
        col = repeat(self.index % width, "h w k -> h w (k n)", n=self.n)
        kind = torch.arange(self.n, device=self.index.device)
        places = torch.stack([row, col, repeat(kind, "n -> h w (k n)", h=h, w=w, k=self.index.shape[-1])], dim=-1)
        return places if self.missing is None else places.masked_fill(self.missing[..., None], -1)

    @property
    def parents(self) -> Int[Tensor, "h w p 2"]:
        """Row and column of every parent position whose window holds the child position (h, w).

        A position at the edge may be seen by fewer than the p that see others, under a stride by none: −1, −1 stand for
        the rest. A child reaches all the parents of those, `(parents[..., 0] >= 0).sum(-1) * j`.

        >>> Windows((3, 3), 2, window=2).parents[0, 1].tolist()
        [[0, 0], [0, 1], [-1, -1], [-1, -1]]
        """
        entry = self._entries()
        at = entry // self.index.shape[-1]
        both = torch.stack([at // self.grid_out[1], at % self.grid_out[1]], dim=-1)
        return both.masked_fill((entry < 0)[..., None], -1)

    def by_child(self, t: Float[Tensor, "b h w i *j"]) -> Float[Tensor, "b h2 w2 n p *j"]:
        """What parents say of their windows' children, brought to the children: a coupling's row of each capsule below.

        The p are those of `parents`, and zero where there is none. Padding, which is no child, is left out.

        >>> Windows((3, 3), 2, window=2).by_child(torch.ones(1, 2, 2, 8, 5))[0, :, :, 0].sum((-2, -1))
        tensor([[ 5., 10.,  5.],
                [10., 20., 10.],
                [ 5., 10.,  5.]])
        """
        entry = self._entries()
        flat = rearrange(t, "b h w (k n) ... -> b (h w k) n ...", n=self.n)
        flat = torch.cat([flat, torch.zeros_like(flat[:, :1])], dim=1)  # an entry of zeros, for those there are not
        found = flat.index_select(1, (entry % flat.shape[1]).flatten())
        return rearrange(found, "b (h w p) n ... -> b h w n p ...", h=self.grid[0], w=self.grid[1])

    def gather(self, t: Float[Tensor, "b h w n *d"]) -> Float[Tensor, "b h2 w2 i *d"]:
        """The children of every parent position, those of padding as zeros."""
        if self.whole:
            return rearrange(t, "b h w n ... -> b 1 1 (h w n) ...")
        flat = rearrange(t, "b h w n ... -> b (h w) n ...")
        if self.missing is not None:
            flat = torch.cat([flat, torch.zeros_like(flat[:, :1])], dim=1)
        h, w = self.grid_out
        found = flat.index_select(1, self.index.flatten())
        return rearrange(found, "b (h w k) n ... -> b h w (k n) ...", h=h, w=w)

    def columns(self, pose: Float[Tensor, "b h w n d"], rows: int) -> Float[Tensor, "i x a m"]:
        """The children as the passes of `torchcaps.ops` want them: instances (h2 w2 b) last, rows of d apart."""
        if not self.whole and ops.natively(pose):
            return ops.gathered(pose, self.index, rows)
        turned = ops.turned(rearrange(pose, "b h w n d -> b (h w n d)"))
        flat = rearrange(turned, "(p n d) b -> p n d b", p=self.grid[0] * self.grid[1], n=self.n)
        if self.whole:
            return rearrange(flat, "p n (a x) b -> (p n) x a b", a=rows)
        if self.missing is not None:
            flat = torch.cat([flat, torch.zeros_like(flat[:1])])
        # Whole positions are picked first, in long runs, and then brought into order.
        found = flat.index_select(0, rearrange(self.index, "h w k -> (k h w)"))
        return rearrange(found, "(k p) n (a x) b -> (k n) x a (p b)", k=self.index.shape[-1], a=rows)

    def compete(self, logits: Float[Tensor, "b h w i j"]) -> Float[Tensor, "b h w i j"]:
        """Softmax over every parent a child can reach, in all the windows it belongs to (Hinton et al. 2018)."""
        h, w = self.grid_out
        own = rearrange(logits.logsumexp(-1), "b h w (k n) -> b (h w k) n", n=self.n)
        at = self.index.flatten()
        where = at[None, :, None].expand_as(own)
        empty = own.new_full((own.shape[0], self.grid[0] * self.grid[1] + 1, self.n), -torch.inf)
        top = empty.scatter_reduce(1, where, own.detach(), "amax")[:, at]
        total = torch.zeros_like(empty).scatter_add(1, where, (own - top).exp())
        whole = rearrange(top + total[:, at].log(), "b (h w k) n -> b h w (k n) 1", h=h, w=w)
        return (logits - whole).exp()
