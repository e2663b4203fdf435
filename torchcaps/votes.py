"""The votes û_ij = u_i W_ij + b_j of children for parents: a linear operator, not a tensor.

Whether the b·h·w·i·j·d numbers are ever built is this file's private matter: they are not, but where `w` is larger, or
poses are so large that several iterations would take longer without. A routing speaks to the votes through a few verbs:
`combine` and `fold`, `agree`, `compete`, `attend`, and `moments`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps import ops
from torchcaps.types import Capsules
from torchcaps.windows import Windows

Poses = Float[Tensor, "b h w j d"]
Coupling = Float[Tensor, "b h w i j"]
PerChild = Float[Tensor, "b h w i"]
PerParent = Float[Tensor, "b h w j"]


@dataclass(eq=False)
class Votes:
    """What the children of every parent position say, under the maps `w`.

    >>> layer = CapsuleLayer(CapsShape((2, 2), 3, 4), n=5)
    >>> votes = layer.votes(Capsules(torch.rand(1, 2, 2, 3, 4), torch.rand(1, 2, 2, 3)))
    >>> votes.attention().shape, votes.attend()[0].shape
    (torch.Size([1, 1, 1, 12, 5]), torch.Size([1, 1, 1, 5, 4]))

    Args:
        below: the children, on their grid.
        w: for each child and parent a map from the columns of u to the columns of the vote.
        bias: added to every vote (peer2021, section 4.2).
        j: parents per position.
        rows: of a pose; one for vectors.
        windows: where the children come from.
        grid_wide: whether a child's parents compete across the grid, or inside a window only.
        gathered: the children of each position's window, where they are others than those that lie there.
        steps: how many iterations will attend to them; where they are enough, these have one gradient.
    """

    below: Capsules
    w: Float[Tensor, "i x jy"]
    bias: Float[Tensor, "j d"] | None
    j: int
    rows: int
    windows: Windows
    grid_wide: bool = False
    gathered: Float[Tensor, "b h w i d_in"] | None = None
    steps: int = 1

    def __post_init__(self) -> None:
        self.children = self.windows.i
        self._layout = ops.Layout(self.lead, self.j, self.rows)
        self._u: Tensor | None = self.gathered
        self._act: Tensor | None = None
        self._columns: Tensor | None = None
        self._to_store: bool | None = None
        self._stored: Tensor | None = None
        self._slots: list[ops.Slot] | None = None

    @property
    def u(self) -> Float[Tensor, "b h w i d_in"]:
        """The children of each position's window; those of padding are zero."""
        if self._u is None:
            self._u = self.windows.gather(self.below.pose)
        return self._u

    @property
    def act(self) -> PerChild:
        """How present each child of a window is."""
        if self._act is None:
            self._act = self.windows.gather(self.below.act)
        return self._act

    @property
    def lead(self) -> tuple[int, int, int]:
        """Images, and rows and columns of parents."""
        return self.below.pose.shape[0], *self.windows.grid_out

    def inside_windows(self) -> "Votes":
        """The same votes, for which parents compete inside a window only."""
        return replace(self, grid_wide=False)

    def constant(self) -> "Votes":
        """The same votes, to which no gradient flows."""
        below = Capsules(*(t.detach() for t in self.below))
        bias, gathered = _maybe(Tensor.detach, self.bias), _maybe(Tensor.detach, self.gathered)
        return replace(self, below=below, w=self.w.detach(), bias=bias, gathered=gathered)

    def weight(self, *, weighted: bool = True) -> PerChild | None:
        """How much each child counts: its activation, or one; nothing for those of padding. None if all count one."""
        if self.windows.missing is None:
            return self.act if weighted else None
        here = (~self.windows.missing).to(self.w.dtype)
        return self.act * here if weighted else here.expand(*self.lead, self.children)

    def fold(self, c: Float[Tensor, "#h #w #i #j #d"], *, weighted: bool = False) -> tuple[Poses, PerParent]:
        """Σ_i a_i c_ij û_ij and Σ_i a_i c_ij for couplings that do not depend on the image: one matmul.

        The couplings may differ by the parent's position and by the dimension of the pose (chen2019). The a_i are the
        activations where `weighted`, else one.
        """
        weight = self.weight(weighted=weighted)
        s = self._fold(c, weight, weighted=weighted)
        mass = self._mass(c, weight)
        if self.bias is not None:
            s = s + mass * self.bias
        return s, (mass[..., 0] if mass.shape[-1] == 1 else mass.mean(-1)).expand(s.shape[:4])

    def _fold(self, c: Tensor, weight: PerChild | None, *, weighted: bool) -> Poses:
        alike = c.shape[:2] == (1, 1) and c.shape[-1] == 1 and not self.windows.whole and self.gathered is None
        if alike and weight is None and c.numel() == 1 and self._are_columns_wanted():
            return self._layout.poses(ops.fold_columns(self._operator()[0], self.w, j=self.j)) * c.flatten()
        if alike and not ops.worth_gathering(self.w, instances=math.prod(self.lead), rows=self.rows):
            pose, over = self.below.pose, self.windows
            pose = pose * self.below.act[..., None] if weighted else pose
            frame = {"window": over.window, "stride": over.stride, "padding": over.padding}
            return ops.convolve(pose, self.w, c, j=self.j, rows=self.rows, **frame)
        u = self.u if weight is None else self.u * weight[..., None]
        return ops.multiply(u, self.w, c, j=self.j, rows=self.rows)

    def _are_columns_wanted(self) -> bool:
        """Whether later iterations gather the children anyway; with gradients, a convolution is as fast."""
        return self.steps > 1 and not torch.is_grad_enabled() and ops.natively(self.below.pose)

    def combine(self, c: Coupling) -> Poses:
        """Σ_i c_ij û_ij for couplings of each image."""
        return self._layout.poses(ops.combine(*self._operator(), self._layout.pair(self.weigh(c)), j=self.j))

    def agree(self, v: Poses) -> Coupling:
        """⟨û_ij, v_j⟩."""
        return self.score(query=v)

    def score(
        self, *, query: Poses | None = None, centre: Poses | None = None, precision: Poses | None = None
    ) -> Coupling:
        """⟨û_ij, query_j⟩ − Σ_d precision_j (û_ij − centre_j)²: agreement, or a Gaussian's exponent."""
        parts = (_maybe(self._layout.split, v) for v in (query, centre, precision))
        return self._layout.unpair(ops.score(*self._operator(), *parts, j=self.j))

    def compete(self, logits: Coupling) -> Coupling:
        """Softmax over the parents a child can reach: those of its window, or of the whole grid."""
        return self.windows.compete(logits) if self.grid_wide else logits.softmax(-1)

    def uniform(self) -> Float[Tensor, "#h #w #i 1 1"]:
        """The couplings of a child without preference: one over the parents it can reach."""
        if not self.grid_wide:
            return self.w.new_full((1, 1, 1, 1, 1), 1 / self.j)
        none = self.w.new_zeros(1, *self.windows.grid_out, self.children, 1)
        return rearrange(self.compete(none), "1 h w i 1 -> h w i 1 1") / self.j

    def attention(self, query: Poses | None = None, prior: Float[Tensor, "#b #h #w #i j"] | None = None) -> Coupling:
        """Softmax over parents of ⟨û_ij, query_j⟩ + prior_ij: the couplings that `attend` weighs the votes with."""
        logits = self.w.new_zeros(*self.lead, self.children, self.j) if query is None else self.agree(query)
        return self.compete(logits if prior is None else logits + prior)

    def attend(
        self,
        query: Poses | None = None,
        prior: Float[Tensor, "#b #h #w #i j"] | None = None,
        *,
        weighted: bool = False,
        detach: bool = False,
    ) -> tuple[Poses, PerParent]:
        """Σ_i a_i c_ij û_ij and Σ_i a_i c_ij for c = softmax over parents of ⟨û_ij, query_j⟩ + prior_ij.

        `weighted` is as in `fold`; `detach` takes c as a constant in the backward pass. Without a query, and with a
        prior that is the same for every image, this is a `fold`.
        """
        if self._to_store is None:
            sizes = {"instances": math.prod(self.lead), "rows": self.rows, "steps": self.steps}
            self._to_store = not self.grid_wide and ops.worth_storing(self.w, **sizes)
        if self._to_store:
            return self._attend_stored(query, prior, self.weight(weighted=weighted), detach=detach)
        if prior is None and not detach and self.weight(weighted=weighted) is None and self._has_slot():
            return self._attend_in_slot(query)
        if query is None and prior is None:
            return self.fold(self.uniform(), weighted=weighted)
        if query is None and not self.grid_wide and prior is not None and prior.shape[:3] == (1, 1, 1):
            c = prior[0].softmax(-1)
            c = (c.detach() if detach else c).expand(1, 1, self.children, self.j)[..., None]
            return self.fold(c, weighted=weighted)
        if self.grid_wide:
            c = self.attention(query, prior)
            c = self.weigh(c.detach() if detach else c, weighted=weighted)
            return self.combine(c), c.sum(-2)
        s, mass = ops.attend(
            *self._operator(),
            _maybe(self._layout.split, query),
            _maybe(self._layout.pair, prior),
            self._flat(weighted=weighted),
            j=self.j,
            detach=detach,
        )
        return self._layout.poses(s), self._layout.parents(mass)

    def _has_slot(self) -> bool:
        """Whether this is one of several iterations that have one gradient."""
        if self._slots is None:
            merged = not self.grid_wide and ops.worth_merging(self.below.pose, self.w, self.bias, steps=self.steps)
            self._slots = ops.slots(*self._operator(), j=self.j, count=self.steps) if merged else []
        return bool(self._slots)

    def _attend_in_slot(self, query: Poses | None) -> tuple[Poses, PerParent]:
        assert self._slots
        known = None
        if query is None:
            s, mass = self.constant().fold(self.uniform())
            known = self._layout.split(s), self._layout.numbers(mass)
        asked = _maybe(self._layout.split, query)
        s, mass = ops.attend_in(self._slots.pop(), *self._operator(), asked, j=self.j, known=known)
        return self._layout.poses(s), self._layout.parents(mass)

    def _attend_stored(
        self, query: Poses | None, prior: Tensor | None, weight: PerChild | None, *, detach: bool
    ) -> tuple[Poses, PerParent]:
        if self._stored is None:
            whole = self.gathered is None and self.windows.whole
            u = self.below.pose if whole else self.u
            self._stored = ops.store(u, self.w, self.bias, j=self.j, rows=self.rows)
        return ops.attend_stored(self._stored, query, prior, weight, lead=self.lead, detach=detach)

    def moments(
        self,
        centre: Poses,
        *,
        query: Poses | None = None,
        precision: Poses | None = None,
        prior: Float[Tensor, "#b #h #w #i j"] | None = None,
        weighted: bool = False,
    ) -> tuple[PerParent, Poses, Poses]:
        """Σ_i R, Σ_i R x, Σ_i R x² for x = û − centre and R = a_i · softmax over parents of score + prior."""
        if self.grid_wide:
            logits = self.score(query=query, centre=centre, precision=precision)
            r = self.weigh(self.compete(logits if prior is None else logits + prior), weighted=weighted)
            found = ops.moments_of(*self._operator(), self._layout.split(centre), self._layout.pair(r), j=self.j)
        else:
            found = ops.moments(
                *self._operator(),
                self._layout.split(centre),
                _maybe(self._layout.split, query),
                _maybe(self._layout.split, precision),
                _maybe(self._layout.pair, prior),
                self._flat(weighted=weighted),
                j=self.j,
            )
        mass, first, second = found
        return self._layout.parents(mass), self._layout.poses(first), self._layout.poses(second)

    def weigh(self, c: Coupling, *, weighted: bool = False) -> Coupling:
        """Couplings times how much their child counts."""
        weight = self.weight(weighted=weighted)
        return c if weight is None else c * weight[..., None]

    def _mass(self, c: Float[Tensor, "#h #w #i #j #d"], weight: PerChild | None) -> Float[Tensor, "#b #h #w #j #d"]:
        if c.shape[2] == 1:
            return c[None, :, :, 0] * (self.children if weight is None else weight.sum(-1)[..., None, None])
        if weight is None:
            return c.sum(2)[None]
        return torch.einsum("bhwi,hwijd->bhwjd", weight, c.expand(*self.windows.grid_out, *c.shape[2:]))

    def _operator(self) -> tuple[Tensor, Tensor, Tensor | None]:
        if self._columns is None and self.gathered is not None:
            self._columns = rearrange(self.gathered, "b h w i (a x) -> i x a (h w b)", a=self.rows)
        elif self._columns is None:
            self._columns = self.windows.columns(self.below.pose, self.rows)
        self._columns = self._columns.contiguous()
        bias = None if self.bias is None else rearrange(self.bias, "j (a y) -> j y a 1", a=self.rows)
        return self._columns, self.w, bias

    def _flat(self, *, weighted: bool) -> Tensor | None:
        return _maybe(self._layout.numbers, self.weight(weighted=weighted))


def _maybe(function: Callable[[Tensor], Tensor], tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else function(tensor)
