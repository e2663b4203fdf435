"""Forward: Σ_i r, Σ_i r x and Σ_i r x² for r = weight · softmax_j(⟨û, query⟩ − Σ precision x² + prior), x = û − centre.

`attend` is the case without centre, precision and second moment: its sum is Σ_i r û.
"""

import triton
import triton.language as tl

from torchcaps.ops.triton._tile import (
    bias_at,
    couplings,
    exponentials,
    load,
    logits,
    of_child,
    pair_at,
    pose_at,
    pull_coupling,
    put,
    votes,
)


@triton.jit
def scan(
    u, w, bias, centre, query, precision, prior, g_mass, g_first, g_second, tops, totals, slopes, count, M, span,
    p: tl.constexpr,
):  # fmt: skip
    """What a softmax over several blocks of parents needs of each: its largest logit, and Σ e^(logit − largest).

    On the way back also Σ e^(logit − largest) · dr, from which the mean of dr under the couplings is made.
    """
    block_m, block_j, share = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at, here = pose_at(block_j, block_m, M, p)
    at_b, here_b = bias_at(block_j, p)
    at_p, here_p = pair_at(block_j, block_m, M, p)
    b, c, q, h = load(bias, at_b, here_b), load(centre, at, here), load(query, at, here), load(precision, at, here)
    g0, g1, g2 = load(g_mass, at_p, here_p), load(g_first, at, here), load(g_second, at, here)
    m = block_m * p.bm + tl.arange(0, p.bm)
    for k in range(share * span, tl.minimum(count, (share + 1) * span)):
        i = tl.cast(k, tl.int64)
        v = votes(u, w, b, i, block_j, block_m, M, p)
        x = v if c is None else v - c
        e, top = exponentials(logits(v, x, q, h, prior, i, block_j, block_m, M, p))
        to = (block_j * count + i) * M + m
        tl.store(tops + to, top, mask=m < M)
        tl.store(totals + to, tl.sum(e, axis=0), mask=m < M)
        if slopes is not None:
            tl.store(slopes + to, tl.sum(e * pull_coupling(x, g0, g1, g2), axis=0), mask=m < M)


@triton.jit
def forward(
    u, w, bias, centre, query, precision, prior, weight, tops, totals, mass, first, second, count, M, span,
    p: tl.constexpr,
):  # fmt: skip
    """One block of instances and of parents, over a share of the children; `tops` and `totals` if there are more."""
    block_m, block_j, share = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at, here = pose_at(block_j, block_m, M, p)
    at_b, here_b = bias_at(block_j, p)
    at_p, here_p = pair_at(block_j, block_m, M, p)
    b, c, q, h = load(bias, at_b, here_b), load(centre, at, here), load(query, at, here), load(precision, at, here)
    sum_0 = tl.zeros((p.jb, p.bm), tl.float32)
    sum_1 = tl.zeros((p.jb, p.yp, p.ap, p.bm), tl.float32)
    sum_2 = sum_1
    for k in range(share * span, tl.minimum(count, (share + 1) * span)):
        i = tl.cast(k, tl.int64)
        v = votes(u, w, b, i, block_j, block_m, M, p)
        x = v if c is None else v - c
        r = couplings(logits(v, x, q, h, prior, i, block_j, block_m, M, p), tops, totals, i, block_m, M, p)
        if weight is not None:
            r *= of_child(weight, 0.0, i, block_m, M, p)[None, :]
        rx = r[:, None, None, :] * x
        sum_0 += r
        sum_1 += rx
        if second is not None:
            sum_2 += rx * x
    put(mass, share, p.j * M, at_p, sum_0, here_p, p.atomic and p.split)
    put(first, share, p.j * p.y * p.a * M, at, sum_1, here, p.atomic and p.split)
    put(second, share, p.j * p.y * p.a * M, at, sum_2, here, p.atomic and p.split)
