"""The fused passes over the votes; `torchcaps.votes` is their only caller.

Each pass has one meaning, stated in plain torch, and is an operator of torch's (`torchcaps.ops.operators`): the device
of the tensors decides what computes it.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops import native, operators, triton
from torchcaps.ops.attend import attend as plain_attend
from torchcaps.ops.fold import convolve, fold_columns, multiply, worth_gathering
from torchcaps.ops.gather import gathered
from torchcaps.ops.iterations import LEAST, Slot, attend_in, slots
from torchcaps.ops.layout import Layout
from torchcaps.ops.linear import combine, score
from torchcaps.ops.moments import moments as plain_moments
from torchcaps.ops.moments import moments_of
from torchcaps.ops.natively import natively
from torchcaps.ops.pages import release
from torchcaps.ops.plain import is_plain, plainly
from torchcaps.ops.squash import squash
from torchcaps.ops.stored import Stored, store, worth_storing
from torchcaps.ops.stored import attend_stored as plain_attend_stored
from torchcaps.ops.tiles import whole
from torchcaps.ops.turn import turned
from torchcaps.ops.votes import Bias, Children, Maps, PerChild, PerPair, PerParent, Poses

_served: dict[str, str] = {}


def attend(
    u: Children,
    w: Maps,
    bias: Bias,
    query: Poses | None,
    prior: PerPair | None,
    weight: PerChild | None,
    *,
    j: int,
    detach: bool = False,
) -> tuple[Poses, PerParent]:
    """Σ_i r û and Σ_i r for r = weight · softmax_j(⟨û, query⟩ + prior); `detach` takes the softmax as a constant."""
    if _seen_through(u):
        return plain_attend(u, w, bias, query, prior, weight, j=j, detach=detach)
    _load(u.device.type)
    s, mass = torch.ops.torchcaps.attend(*whole(u, w, bias, query, prior, weight), j, detach)
    return s, mass


def attend_stored(
    v: Stored,
    query: Float[Tensor, "b h w j d"] | None,
    prior: Float[Tensor, "#b #h #w #i j"] | None,
    weight: Float[Tensor, "b h w i"] | None,
    *,
    lead: tuple[int, int, int],
    detach: bool = False,
) -> tuple[Float[Tensor, "b h w j d"], Float[Tensor, "b h w j"]]:
    """What `attend` gives, from votes that are there; `lead` are images, and rows and columns of parents."""
    if _seen_through(v) or v.dtype not in (torch.float32, torch.float64):
        return plain_attend_stored(v, query, prior, weight, lead, detach)
    _load(v.device.type)
    s, mass = torch.ops.torchcaps.attend_stored.default(v, query, prior, weight, lead, detach)
    return s, mass


def moments(
    u: Children,
    w: Maps,
    bias: Bias,
    centre: Poses,
    query: Poses | None,
    precision: Poses | None,
    prior: PerPair | None,
    weight: PerChild | None,
    *,
    j: int,
) -> tuple[PerParent, Poses, Poses]:
    """Σ_i r, Σ_i r x, Σ_i r x²: x = û − centre, r = weight · softmax_j(⟨û, query⟩ − Σ_d precision x² + prior)."""
    if _seen_through(u):
        return plain_moments(u, w, bias, centre, query, precision, prior, weight, j=j)
    _load(u.device.type)
    given = whole(u, w, bias, centre, query, precision, prior, weight)
    mass, first, second = torch.ops.torchcaps.moments(*given, j)
    return mass, first, second


def worth_merging(*inputs: Tensor | None, steps: int) -> bool:
    """Whether so many iterations are to have one gradient: some input wants one, and the native passes serve."""
    given = [t for t in inputs if t is not None]
    if steps < LEAST or not torch.is_grad_enabled() or not any(t.requires_grad for t in given):
        return False
    if _seen_through(given[0]) or torch.compiler.is_compiling():
        return False
    device = given[0].device.type
    _load(device)
    return _served[device] == "native"


def status(device: str = "cpu") -> str:
    """What serves a kind of device: "native", "triton", or "plain torch" and why. It is built or loaded for that.

    >>> status("meta")
    'plain torch: there is nothing faster for meta'
    """
    if device == "cuda" or (device == "cpu" and triton.interpreted()):  # torch calls ROCm's devices cuda too
        return triton.status(device)
    return native.status() if device == "cpu" else f"plain torch: there is nothing faster for {device}"


def _seen_through(u: Tensor) -> bool:
    """Whether somebody looks inside and must find ordinary torch there.

    That is an export, a transform of `torch.func`, or the counting of what a model costs, on the meta device.
    """
    if is_plain() or u.is_meta or torch.compiler.is_exporting():
        return True
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None


def _load(device: str) -> None:
    """Have the fastest passes for a device registered before its first operator is called."""
    if device not in _served:
        _served[device] = status(device)


# A compiler calls it, and does not look inside. This mark is all that torch.compiler.assume_constant_result makes, but
# that imports torch._dynamo first, which would take two seconds of every start.
_load._dynamo_marked_constant = True  # type: ignore[attr-defined]


__all__ = [
    "Layout",
    "Slot",
    "attend",
    "attend_in",
    "attend_stored",
    "combine",
    "convolve",
    "fold_columns",
    "gathered",
    "moments",
    "moments_of",
    "multiply",
    "native",
    "natively",
    "operators",
    "plain_attend",
    "plain_attend_stored",
    "plain_moments",
    "plainly",
    "release",
    "score",
    "slots",
    "squash",
    "status",
    "store",
    "triton",
    "turned",
    "worth_gathering",
    "worth_merging",
    "worth_storing",
]
