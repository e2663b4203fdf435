from functools import partial

import pytest
import torch

from tests.routing.twins import KINDS, assert_twin, norm, softmax, squash, squash_exp
from torchcaps import functional
from torchcaps.layers import CapsuleLayer
from torchcaps.ops import stored
from torchcaps.routing import Dynamic
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules, RoutingShape


def twin(routing, votes, children, position):
    g = squash if routing.squash is functional.squash else squash_exp
    parents = range(len(votes[0]))
    prior = [[0.0 if routing.prior is None else routing.prior[0, 0, 0, k.index, j] for j in parents] for k in children]
    logits = [[torch.zeros((), dtype=torch.double) + b for b in row] for row in prior]
    for t in range(routing.iters):
        c = [softmax(row) for row in logits]
        s = [sum(c[i][j] * votes[i][j] for i in range(len(children))) for j in parents]
        v = [g(s[j] if routing.bias is None else s[j] + routing.bias[j]) for j in parents]
        logits = [[logits[i][j] + votes[i][j] @ v[j] for j in parents] for i in range(len(children))]
    return v, [norm(x) for x in v], c


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [{}, {"iters": 1}, {"squash": functional.squash_exp, "prior": True, "bias": True}, {"prior": True, "iters": 4}],
    ids=" ".join,
)
def test_equals_its_twin(kind, options):
    assert_twin(twin, partial(Dynamic, **options), kind)


@pytest.mark.parametrize("competition", ["window", "grid"])
def test_detached_couplings_are_constants(competition):
    options = {"window": 2, "competition": competition, "routing": partial(Dynamic, detach=True)}
    layer = CapsuleLayer(CapsShape((3, 3), 2, 4), 3, 5, **options).double()
    pose = torch.randn(2, 3, 3, 2, 4, dtype=torch.double, requires_grad=True)
    below = Capsules(pose, pose.norm(dim=-1))
    state = sequential([layer], below, "last")[-1][-1]
    constant = functional.squash(layer.votes(below).combine(state.coupling.detach()))
    torch.testing.assert_close(state.pose, constant)
    ours, expected = (torch.autograd.grad(v.square().sum(), pose, retain_graph=True)[0] for v in (state.pose, constant))
    torch.testing.assert_close(ours, expected)


def test_no_iterations_are_refused():
    with pytest.raises(ValueError, match="iters=0 is not allowed"):
        Dynamic(RoutingShape((1, 1), 2, 2, 2, 2), iters=0)


@pytest.mark.parametrize("few", [0, 1 << 16], ids=["folded", "stored"])
def test_detached_couplings_of_a_learned_prior_are_constants(few, monkeypatch):
    """Also in the first iteration, in which they are the same for every image: nothing reaches the prior."""
    monkeypatch.setattr(stored, "TINY", few)
    for detach in (False, True):
        routing = partial(Dynamic, prior=True, iters=1, detach=detach)
        layer = CapsuleLayer(CapsShape((2, 2), 3, 4), 5, 4, routing=routing)
        pose = torch.randn(9, 2, 2, 3, 4)
        layer.routing.prior.data.normal_()
        layer(Capsules(pose, pose.norm(dim=-1))).pose.square().sum().backward()
        grad = layer.routing.prior.grad
        assert (grad is None or not grad.any()) == detach
        assert layer.weight.grad.any()
