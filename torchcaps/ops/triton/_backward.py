"""Backward, with every vote made again: `pull_parents` sums over the children, `pull_children` over the instances.

Each sum is finished in registers, so that nothing but shares of it is ever added up in memory.
"""

import triton
import triton.language as tl

from torchcaps.ops.triton._tile import (
    bias_at,
    child_at,
    couplings,
    load,
    logits,
    maps_at,
    of_child,
    pair_at,
    pose_at,
    product,
    pull_coupling,
    put,
    votes,
)


@triton.jit
def pull(v, x, q, h, g0, g1, g2, prior, weight, tops, totals, means, i, block_j, block_m, M, p: tl.constexpr):
    """The weighted couplings r, the gradients of the logits, and the mean of dr under the couplings."""
    c = couplings(logits(v, x, q, h, prior, i, block_j, block_m, M, p), tops, totals, i, block_m, M, p)
    dr = pull_coupling(x, g0, g1, g2)
    mean = tl.sum(c * dr, axis=0) if means is None else of_child(means, 0.0, i, block_m, M, p)
    r = c if weight is None else c * of_child(weight, 0.0, i, block_m, M, p)[None, :]
    return r, tl.zeros_like(r) if p.detach else r * (dr - mean[None, :]), mean


@triton.jit
def pull_square(to, r, dl, x, h, g2):
    """Add half of what the gradient of x has from the squares in the results and in the logits, if there are any.

    Half, so that the two is multiplied with once, whether one child's or the sum of all.
    """
    if g2 is not None:
        to += r[:, None, None, :] * g2 * x
    if h is not None:
        to -= dl[:, None, None, :] * h * x
    return to


@triton.jit
def pull_child(maps, dv, p: tl.constexpr):
    """maps' @ dv as a sum of shorter products: the result is small, and so each warp has one of its own."""
    parts: tl.constexpr = max(1, p.jb * p.yp // p.depth)
    long: tl.constexpr = p.jb * p.yp // parts
    left = tl.permute(tl.reshape(maps, (parts, long, p.xb)), (0, 2, 1))
    right = tl.reshape(dv, (parts, long, p.ap * p.bm))
    du = tl.zeros((parts, p.xb, p.ap * p.bm), tl.float32)
    return tl.sum(product(left, right, du, maps.dtype, p), axis=0)


@triton.jit
def pull_parents(
    u, w, bias, centre, query, precision, prior, weight, g_mass, g_first, g_second, tops, totals, means,
    d_bias, d_centre, d_query, d_precision, d_prior, count, M, span, p: tl.constexpr,
):  # fmt: skip
    """The gradients of what all children share: poses of parents, bias, and a prior that is the same for them."""
    block_m, block_j, share = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at, here = pose_at(block_j, block_m, M, p)
    at_b, here_b = bias_at(block_j, p)
    at_p, here_p = pair_at(block_j, block_m, M, p)
    b, c, q, h = load(bias, at_b, here_b), load(centre, at, here), load(query, at, here), load(precision, at, here)
    g0, g1, g2 = load(g_mass, at_p, here_p), load(g_first, at, here), load(g_second, at, here)
    sum_r = tl.zeros((p.jb, p.bm), tl.float32)
    sum_l, sum_x = sum_r, tl.zeros((p.jb, p.yp, p.ap, p.bm), tl.float32)
    sum_q, sum_h = sum_x, sum_x
    for k in range(share * span, tl.minimum(count, (share + 1) * span)):
        i = tl.cast(k, tl.int64)
        v = votes(u, w, b, i, block_j, block_m, M, p)
        x = v if c is None else v - c
        r, dl, _ = pull(v, x, q, h, g0, g1, g2, prior, weight, tops, totals, means, i, block_j, block_m, M, p)
        sum_r += r
        sum_l += dl
        sum_x = pull_square(sum_x, r, dl, x, h, g2)
        if d_query is not None:
            sum_q += dl[:, None, None, :] * x
        if d_precision is not None:
            sum_h -= dl[:, None, None, :] * x * x
    sum_x = sum_r[:, None, None, :] * g1 + 2 * sum_x
    if c is not None:
        sum_q += sum_l[:, None, None, :] * c
    size, program, adds = p.j * p.y * p.a * M, share * tl.num_programs(0) + block_m, p.atomic and p.split
    put(d_centre, share, size, at, -sum_x, here, adds)
    put(d_query, share, size, at, sum_q, here, adds)
    put(d_precision, share, size, at, sum_h, here, adds)
    sum_v = sum_x if q is None else sum_x + sum_l[:, None, None, :] * q
    put(d_bias, program, p.j * p.y * p.a, at_b, tl.sum(sum_v, axis=3), here_b, p.atomic)
    if p.prior_m:
        put(d_prior, share, p.j * M, at_p, sum_l, here_p, adds)
    else:
        j = block_j * p.jb + tl.arange(0, p.jb)
        put(d_prior, program, p.j, j, tl.sum(sum_l, axis=1), j < p.j, p.atomic)


@triton.jit
def pull_children(
    u, w, bias, centre, query, precision, prior, weight, g_mass, g_first, g_second, tops, totals, means,
    d_u, d_w, d_prior, d_weight, count, M, span, p: tl.constexpr,
):  # fmt: skip
    """The gradients of one child, its maps, its weight and its own prior, over a share of the instances' blocks."""
    k, block_j, share = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    block_x = block_j % tl.cdiv(p.x, p.xb)
    block_j = block_j // tl.cdiv(p.x, p.xb)
    first, i = block_x * p.xb, tl.cast(k, tl.int64)
    at_b, here_b = bias_at(block_j, p)
    at_w, here_w = maps_at(first, block_j, p)
    b, maps = load(bias, at_b, here_b), tl.load(w + i * (p.x * p.j * p.y) + at_w, mask=here_w, other=0.0)
    sum_w = tl.zeros((p.jb * p.yp, p.xb), tl.float32)
    sum_p = tl.zeros((p.jb,), tl.float32)
    for block_m in range(share * span, tl.minimum(tl.cdiv(M, p.bm), (share + 1) * span)):
        at, here = pose_at(block_j, block_m, M, p)
        at_p, here_p = pair_at(block_j, block_m, M, p)
        c, q, h = load(centre, at, here), load(query, at, here), load(precision, at, here)
        g0, g1, g2 = load(g_mass, at_p, here_p), load(g_first, at, here), load(g_second, at, here)
        v = votes(u, w, b, i, block_j, block_m, M, p)
        x = v if c is None else v - c
        r, dl, mean = pull(v, x, q, h, g0, g1, g2, prior, weight, tops, totals, means, i, block_j, block_m, M, p)
        dx = 2 * pull_square(r[:, None, None, :] * (g1 / 2), r, dl, x, h, g2)
        dv = dx if q is None else dx + dl[:, None, None, :] * q
        dv = tl.reshape(dv, (p.jb * p.yp, p.ap * p.bm))
        at_u, here_u = child_at(first, block_m, M, p)
        child = tl.load(u + i * (p.x * p.a * M) + at_u, mask=here_u, other=0.0)
        sum_w = product(dv, tl.trans(child), sum_w, w.dtype.element_ty, p)
        du = pull_child(maps, dv, p)
        size = tl.cast(count, tl.int64) * (p.x * p.a * M)
        put(d_u + i * (p.x * p.a * M), block_j, size, at_u, du, here_u, p.atomic and p.jb < p.j)
        m = block_m * p.bm + tl.arange(0, p.bm)
        if block_j + block_x == 0:
            put(d_weight, i, M, m, mean, m < M, False)
        if p.prior_m and block_x == 0:
            put(d_prior, i, p.j * M, at_p, dl, here_p, False)
        sum_p += tl.sum(dl, axis=1)
    size = tl.cast(count, tl.int64) * (p.x * p.j * p.y)
    put(d_w + i * (p.x * p.j * p.y), share, size, at_w, sum_w, here_w, p.atomic and p.split)
    j = block_j * p.jb + tl.arange(0, p.jb)
    if block_x == 0 and not p.prior_m:
        put(d_prior, share, tl.cast(count, tl.int64) * p.j, i * p.j + j, sum_p, j < p.j, p.atomic and p.split)
