"""What a pass costs as kernels: bytes, operations of matrix products, padding included, and others."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from benchmarks.gpu.cards import ARCHS
from torchcaps.ops.operators import ATTEND, MOMENTS
from torchcaps.ops.sizes import Sizes
from torchcaps.ops.triton._launch import COMMON, Call
from torchcaps.ops.triton._operators import FIRST
from torchcaps.ops.triton._plan import Launch

# Operations for each number of a vote beside its products: logits, weighted sums and, on the way back, gradients.
FORWARD = {"attend": 4, "moments": 8}
SCAN = {"attend": 2, "moments": 4}
PARENTS = {"attend": 12, "moments": 20}
CHILDREN = {"attend": 11, "moments": 17}


def cost_of_pass(name: str, arguments: Sequence[Any]) -> tuple[float, float, float]:
    """Of one operator, as `Cost` has them."""
    back = name.endswith("_backward")
    operator = {"attend": ATTEND, "moments": MOMENTS}[name.removesuffix("_backward")]
    count = len(operator.tensors) + back * len(operator.outputs)
    named = {FIRST.get(k, k): t for k, t in operator.named(*arguments[:count], grads=back).items()}
    given = dict.fromkeys((*COMMON, "weight"), None) | named
    u, w, j = given["u"], given["w"], arguments[count]
    assert isinstance(u, Tensor)
    assert isinstance(w, Tensor)
    call = Call(given, Sizes(*u.shape, j, w.shape[2] // j), ARCHS["sm_80"].target)
    return _backward(operator.name, call) if back else _forward(operator.name, call)


def _forward(name: str, call: Call) -> tuple[float, float, float]:
    how = call.launch("forward")
    outs = (2 if name == "moments" else 1) * _poses(call.s) + call.s.j * call.s.m
    moved, votes = _inputs(call) + 4 * outs * _written(how.grid[2]), _votes(call.s, how)
    product = 2 * how.plan.xb
    blocked = how.blocks > 1
    moved += blocked * (_inputs(call) + 4 * 4 * how.blocks * call.s.i * call.s.m)
    return moved, votes * product * (1 + blocked), votes * (FORWARD[name] + blocked * SCAN[name])


def _backward(name: str, call: Call) -> tuple[float, float, float]:
    parents, children = call.launch("parents"), call.launch("children")
    blocked, votes = parents.blocks > 1, _votes(call.s, parents)
    shared = [t for key in ("bias", "centre", "query", "precision") if (t := call.given[key]) is not None]
    moved = (2 + blocked) * _inputs(call) + 4 * sum(t.numel() for t in shared) * _written(parents.grid[2])
    u, w, weight = call.given["u"], call.given["w"], call.given["weight"]
    assert u is not None
    assert w is not None
    moved += 4 * (u.numel() * _written(children.blocks) + w.numel() * _written(children.grid[2]))
    moved += 0 if weight is None else 4 * weight.numel()
    product = 2 * parents.plan.xb
    others = PARENTS[name] + CHILDREN[name] + blocked * SCAN[name]
    return moved, votes * product * (4 + blocked), votes * others


def _inputs(call: Call) -> float:
    return float(sum(t.element_size() * t.numel() for t in call.given.values() if isinstance(t, Tensor)))


def _votes(s: Sizes, how: Launch) -> float:
    """The numbers of all votes, as many as the tiles that cover them have."""
    p = how.plan
    return float(s.i * how.blocks * -(-s.m // p.bm) * p.jb * p.yp * p.ap * p.bm)


def _poses(s: Sizes) -> int:
    return s.j * s.y * s.a * s.m


def _written(shares: int) -> int:
    """How often a result passes the memory: once, or written in shares, read and written as a sum."""
    return 1 if shares == 1 else 2 * shares + 1
