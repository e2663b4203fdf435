from functools import partial

import pytest
import torch

from tests.routing.twins import KINDS, assert_twin, softmax
from torchcaps.layers import ActivationHead, CapsuleLayer, PrimaryCapsules
from torchcaps.network import CapsNet
from torchcaps.routing import InvertedAttention
from torchcaps.types import CapsShape, Capsules


def layer_norm(p, norm):
    if not isinstance(norm, torch.nn.LayerNorm):
        return p
    centred = p - p.mean()
    return centred / ((centred**2).mean() + norm.eps).sqrt() * norm.weight + norm.bias


def twin(routing, votes, children, position):
    parents, kids = range(len(votes[0])), range(len(children))
    p = [torch.zeros_like(votes[0][0]) if routing.first is None else routing.first[j] for j in parents]
    for t in range(routing.iters):
        a = [[routing.scale * (p[j] @ votes[i][j]) for j in parents] for i in kids]
        r = used = [softmax(row) for row in a]
        if routing.activates:
            r = [[c * children[i].act for c in r[i]] for i in kids]
        raw = [sum(r[i][j] * votes[i][j] for i in kids) for j in parents]
        p = [layer_norm(s, routing.norm) for s in raw]
    act = [torch.ones((), dtype=torch.double) for _ in parents]
    if routing.activates:
        for j in parents:
            total = sum(r[i][j] for i in kids)
            mean = raw[j] / total
            var = sum(r[i][j] * (votes[i][j] - mean) ** 2 for i in kids) / total + routing.variance_floor
            cost = ((routing.beta_u[j] + var.sqrt().log()) * total).sum()
            act[j] = 1 / (1 + (-routing.inverse_temperature(t) * (routing.beta_a[j] - cost)).exp())
    return p, act, used


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": False, "iters": 3},
        {"scale": True, "iters": 3},
        {"activations": True},
        {"start": "random"},
        {"start": "random", "scale": True},
    ],
    ids=str,
)
def test_equals_its_twin(kind, options):
    assert_twin(twin, partial(InvertedAttention, **options), kind)


def test_scores_cannot_be_activations_that_are_all_one():
    primary = PrimaryCapsules((4, 2, 2), n=1, d=4, kernel=None)
    layer = CapsuleLayer(primary.shape_out, 3, routing=InvertedAttention)
    with pytest.raises(ValueError, match="InvertedAttention gives every capsule activation 1: use LinearHead"):
        CapsNet(torch.nn.Identity(), primary, [layer], ActivationHead(layer.shape_out))


def test_learned_first_poses_begin_at_zero_and_learn():
    layers = [
        CapsuleLayer(CapsShape((1, 1), 4, 8), 3, routing=partial(InvertedAttention, start=s))
        for s in ("zeros", "learned")
    ]
    layers[1].load_state_dict(layers[0].state_dict(), strict=False)
    below = Capsules(torch.randn(2, 1, 1, 4, 8), torch.ones(2, 1, 1, 4))
    zeros, learned = (layer(below).pose for layer in layers)
    torch.testing.assert_close(learned, zeros)
    learned[..., 0].sum().backward()
    assert layers[1].routing.first.grad.abs().max() > 0


@pytest.mark.parametrize("scale", [False, True])
def test_agreement_is_divided_by_the_root_of_d_where_asked(scale):
    """Of one child of 16 numbers, whose votes agree with the two parents by so much."""
    layer = CapsuleLayer(CapsShape((1, 1), 1, 16), 2, 16, routing=partial(InvertedAttention, scale=scale))
    below = Capsules(torch.randn(3, 1, 1, 1, 16), torch.ones(3, 1, 1, 1))
    first, second = layer.route(below, "all")
    maps = layer.weight.detach().reshape(16, 2, 16)
    votes = torch.stack([below.pose[:, 0, 0, 0] @ maps[:, j] for j in range(2)], 1)
    agreement = (votes * first.pose[:, 0, 0]).sum(-1) / (4 if scale else 1)
    torch.testing.assert_close(second.coupling[:, 0, 0, 0], agreement.softmax(-1))


def test_an_unknown_start_is_named(no_shape_checks):
    with pytest.raises(ValueError, match="start='ones' is not allowed: choose 'zeros', 'random' or 'learned'"):
        CapsuleLayer(CapsShape((1, 1), 4, 8), 3, routing=partial(InvertedAttention, start="ones"))
