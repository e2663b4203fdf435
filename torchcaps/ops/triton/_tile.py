"""What every kernel is made of: tiles of poses, votes made where they are needed, and couplings.

A tile of poses is (parent, column, row, instance), in the order of the tensors (j y a m); numbers for each pair are
(parent, instance). For a matrix product the first two axes of a tile are its rows and the last two its columns, so that
votes are maps (jy x) times a child (x am). `p` is the `Plan`; an absent tensor is None.
"""

import triton
import triton.language as tl


@triton.jit
def pair_at(block_j, block_m, M, p: tl.constexpr):
    """Offsets of a (j m) tensor's tile, and which of them exist."""
    j = block_j * p.jb + tl.arange(0, p.jb)
    m = block_m * p.bm + tl.arange(0, p.bm)
    return j[:, None] * M + m[None, :], (j < p.j)[:, None] & (m < M)[None, :]


@triton.jit
def pose_at(block_j, block_m, M, p: tl.constexpr):
    """Offsets of a (j y a m) tensor's tile, and which of them exist."""
    j = (block_j * p.jb + tl.arange(0, p.jb))[:, None, None, None]
    y = tl.arange(0, p.yp)[None, :, None, None]
    a = tl.arange(0, p.ap)[None, None, :, None]
    m = (block_m * p.bm + tl.arange(0, p.bm))[None, None, None, :]
    return ((j * p.y + y) * p.a + a) * M + m, (j < p.j) & (y < p.y) & (a < p.a) & (m < M)


@triton.jit
def prior_at(block_j, block_m, M, p: tl.constexpr):
    """Offsets in a child's prior, which may be the same for all instances, and which of them exist."""
    j = block_j * p.jb + tl.arange(0, p.jb)
    m = block_m * p.bm + tl.arange(0, p.bm)
    instances = M if p.prior_m else 1
    at = (j * instances)[:, None] + (m if p.prior_m else 0 * m)[None, :]
    return at, (j < p.j)[:, None] & (m < M)[None, :]


@triton.jit
def bias_at(block_j, p: tl.constexpr):
    """Offsets of a (j y a) tensor's tile, and which of them exist."""
    j = (block_j * p.jb + tl.arange(0, p.jb))[:, None, None]
    y = tl.arange(0, p.yp)[None, :, None]
    a = tl.arange(0, p.ap)[None, None, :]
    return (j * p.y + y) * p.a + a, (j < p.j) & (y < p.y) & (a < p.a)


@triton.jit
def child_at(first, block_m, M, p: tl.constexpr):
    """Offsets of one child's (x, a m) tile from column `first` on, and which of them exist."""
    x = first + tl.arange(0, p.xb)
    am = tl.arange(0, p.ap * p.bm)
    a = am // p.bm
    m = block_m * p.bm + am % p.bm
    return (x[:, None] * p.a + a[None, :]) * M + m[None, :], (x < p.x)[:, None] & ((a < p.a) & (m < M))[None, :]


@triton.jit
def maps_at(first, block_j, p: tl.constexpr):
    """Offsets of one child's maps as a (jy, x) tile from column `first` on, and which of them exist."""
    x = first + tl.arange(0, p.xb)
    jy = tl.arange(0, p.jb * p.yp)
    j = block_j * p.jb + jy // p.yp
    y = jy % p.yp
    return x[None, :] * (p.j * p.y) + (j * p.y + y)[:, None], ((j < p.j) & (y < p.y))[:, None] & (x < p.x)[None, :]


@triton.jit
def load(tensor, at, here):
    """A tile in single precision, zero where nothing is; None if there is no tensor."""
    tile = None
    if tensor is not None:
        tile = tl.load(tensor + at, mask=here, other=0.0).to(tl.float32)
    return tile


@triton.jit
def product(left, right, total, kind: tl.constexpr, p: tl.constexpr):
    """`total` + left @ right of factors of one kind, summed in single precision.

    Half precision is widened first where its product cannot be had; in the interpreter that of bfloat16 is wrong.
    """
    if p.wide:
        left, right = left.to(tl.float32), right.to(tl.float32)
    else:
        left, right = left.to(kind), right.to(kind)
    return tl.dot(left, right, total, input_precision=p.precision)


@triton.jit
def add_columns(v, first, u, w, i, block_j, block_m, M, p: tl.constexpr):
    """Add what the child's columns from `first` on give to its votes."""
    at_w, here_w = maps_at(first, block_j, p)
    at_u, here_u = child_at(first, block_m, M, p)
    maps = tl.load(w + i * (p.x * p.j * p.y) + at_w, mask=here_w, other=0.0)
    child = tl.load(u + i * (p.x * p.a * M) + at_u, mask=here_u, other=0.0)
    return product(maps, child, v, w.dtype.element_ty, p)


@triton.jit
def votes(u, w, bias, i, block_j, block_m, M, p: tl.constexpr):
    """The tile of child i's votes; `bias` is a tile already."""
    v = tl.zeros((p.jb * p.yp, p.ap * p.bm), tl.float32)
    if p.x <= p.xb:
        v = add_columns(v, 0, u, w, i, block_j, block_m, M, p)
    else:  # a loop of the card's own: unrolled, it would hold all its maps in shared memory at once
        for first in tl.range(0, p.x, p.xb):
            v = add_columns(v, first, u, w, i, block_j, block_m, M, p)
    v = tl.reshape(v, (p.jb, p.yp, p.ap, p.bm))
    return v if bias is None else v + bias[:, :, :, None]


@triton.jit
def over_pose(tile):
    """Σ over columns and rows: a number for each pair."""
    return tl.sum(tl.sum(tile, axis=2), axis=1)


@triton.jit
def logits(v, x, query, precision, prior, i, block_j, block_m, M, p: tl.constexpr):
    """⟨v, query⟩ − Σ precision x² + prior for each pair, −∞ for parents that are not there."""
    total = tl.zeros((p.jb, p.bm), tl.float32)
    if query is not None:
        total += over_pose(v * query)
    if precision is not None:
        total -= over_pose(x * x * precision)
    if prior is not None:
        at, here = prior_at(block_j, block_m, M, p)
        row = i * (p.j * M if p.prior_m else p.j) if p.prior_i else 0
        total += tl.load(prior + row + at, mask=here, other=0.0).to(tl.float32)
    j = block_j * p.jb + tl.arange(0, p.jb)
    return tl.where((j < p.j)[:, None], total, -float("inf"))


@triton.jit
def exponentials(logit):
    """e^(logit − top) and top, over the parents of a block. Where all are forbidden the exponentials are zero."""
    top = tl.max(logit, axis=0)
    return tl.exp(logit - tl.where(top == -float("inf"), 0.0, top)[None, :]), top


@triton.jit
def of_child(tensor, other, i, block_m, M, p: tl.constexpr):
    """The instances' numbers of child i in an (i m) tensor, `other` for instances that are not there."""
    m = block_m * p.bm + tl.arange(0, p.bm)
    return tl.load(tensor + i * M + m, mask=m < M, other=other).to(tl.float32)


@triton.jit
def couplings(logit, tops, totals, i, block_m, M, p: tl.constexpr):
    """Softmax over the parents: all are in this block, or what they sum to is known."""
    if tops is None:
        top = tl.max(logit, axis=0)
        e = tl.exp(logit - top[None, :])
        c = e / tl.sum(e, axis=0)[None, :]
    else:
        top = of_child(tops, 0.0, i, block_m, M, p)
        c = tl.exp(logit - top[None, :]) / of_child(totals, 1.0, i, block_m, M, p)[None, :]
    return c


@triton.jit
def pull_coupling(x, g_mass, g_first, g_second):
    """The gradient of r from those of Σ r, Σ r x and, if there is one, Σ r x²; all of them tiles."""
    slope = g_first if g_second is None else g_first + x * g_second
    return g_mass + over_pose(x * slope)


@triton.jit
def put(to, slot, size, at, tile, here, atomic: tl.constexpr):
    """Add a tile to a result that programs share, or leave it in a place of its own; not if nobody wants it."""
    if to is not None:
        if atomic:
            tl.atomic_add(to + at, tile, mask=here, sem="relaxed")
        else:
            tl.store(to + tl.cast(slot, tl.int64) * size + at, tile, mask=here)
