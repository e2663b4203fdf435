"""A layer spelled out in loops, around the naive twin of its routing: nothing of torchcaps computes here.

A twin is a function of the children's votes for one parent position, `votes[i][j]` vectors, and of what the children
are, and returns the parents' poses and activations as lists, and the couplings its last step shared the votes out by,
`couplings[i][j]`. Children of padding are not among them.
"""

from dataclasses import dataclass

import torch

from torchcaps.layers import CapsuleLayer
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules

CONNECTED = {"below": CapsShape((2, 2), 2, 4), "n": 3, "d": 5}
CONVOLUTIONAL = {
    "below": CapsShape((4, 3), 2, 4),
    "n": 3,
    "d": 6,
    "rows": 2,
    "window": (3, 2),
    "stride": (2, 1),
    "padding": (1, 0),
    "vote_bias": True,
}
KINDS = {"connected": CONNECTED, "convolutional": CONVOLUTIONAL}


@dataclass
class Child:
    """One child as a twin sees it: its place in the window, its pose and its activation."""

    index: int
    pose: torch.Tensor
    act: torch.Tensor


def children(layer, below, b, h, w):
    """The children of parent position (h, w) of image b, those of padding left out."""
    (k, l), (sh, sw), (ph, pw) = layer.windows.window, layer.windows.stride, layer.windows.padding
    found, index = [], 0
    for dh in range(k):
        for dw in range(l):
            row, col = h * sh + dh - ph, w * sw + dw - pw
            for n in range(layer.shape_in.n):
                if 0 <= row < layer.shape_in.grid[0] and 0 <= col < layer.shape_in.grid[1]:
                    found.append(Child(index, below.pose[b, row, col, n], below.act[b, row, col, n]))
                index += 1
    return found


def vote(layer, child, j):
    """M W + b for one child and one parent, as a flat vector."""
    maps = layer.weight[child.index].reshape(layer.shape_in.d // layer.rows, layer.shape_out.n, -1)[:, j]
    flat = (child.pose.reshape(layer.rows, -1) @ maps).flatten()
    return flat if layer.bias is None else flat + layer.bias[j]


def run(twin, layer, below):
    """The whole layer, parent position by parent position."""
    poses, acts = [], []
    lead = below.pose.shape[0], *layer.shape_out.grid
    couplings = torch.zeros(*lead, layer.windows.i, layer.shape_out.n, dtype=torch.double)
    for b in range(below.pose.shape[0]):
        for h in range(layer.shape_out.grid[0]):
            for w in range(layer.shape_out.grid[1]):
                kids = children(layer, below, b, h, w)
                votes = [[vote(layer, kid, j) for j in range(layer.shape_out.n)] for kid in kids]
                pose, act, coupling = twin(layer.routing, votes, kids, (h, w))
                poses.append(torch.stack(pose))
                acts.append(torch.stack(act))
                for kid, row in zip(kids, coupling, strict=True):
                    couplings[b, h, w, kid.index] = torch.stack(
                        [torch.as_tensor(c, dtype=torch.double).detach() for c in row]
                    )
    shape = (*lead, layer.shape_out.n)
    return torch.stack(poses).reshape(*shape, -1), torch.stack(acts).reshape(shape), couplings


def assert_twin(twin, routing, kind, **options):
    """Values, gradients and recorded couplings of the layer equal those of its twin to 1e-9 in float64."""
    layer = CapsuleLayer(**KINDS[kind], routing=routing, **options).double()
    for parameter in layer.routing.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    shape = (2, *layer.shape_in.grid, layer.shape_in.n)
    pose, act = torch.randn(*shape, layer.shape_in.d, dtype=torch.double), torch.rand(shape, dtype=torch.double)
    below = Capsules(pose.requires_grad_(), act.requires_grad_())
    state = sequential([layer], below)[-1][-1]
    expected_pose, expected_act, expected_coupling = run(twin, layer, below)
    close = {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(state.pose, expected_pose, **close)
    torch.testing.assert_close(state.act, expected_act, **close)
    torch.testing.assert_close(sequential([layer], below, "last")[-1][-1].coupling, expected_coupling, **close)
    mix = [torch.randn_like(expected_pose), torch.randn_like(expected_act)]
    inputs = [*below, *layer.parameters()]
    found, wanted = (
        torch.autograd.grad((p * mix[0]).sum() + (a * mix[1]).sum(), inputs, allow_unused=True, materialize_grads=True)
        for p, a in ((state.pose, state.act), (expected_pose, expected_act))
    )
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, **close)


def softmax(values):
    """exp(v) / Σ exp(v) of a list of numbers."""
    powers = [v.exp() for v in values]
    return [p / sum(powers) for p in powers]


def squash(s):
    n = (s * s).sum().sqrt()
    return n**2 / (1 + n**2) * s / n


def squash_exp(s):
    n = (s * s).sum().sqrt()
    return (1 - (-n).exp()) * s / n


def norm(v):
    return (v * v).sum().sqrt()
