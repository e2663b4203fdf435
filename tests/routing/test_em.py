import math
from functools import partial

import pytest
import torch

from tests.routing.twins import KINDS, assert_twin, norm
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import EM
from torchcaps.types import CapsShape, Capsules, RoutingShape


def twin(routing, votes, children, position):
    parents, kids = range(len(votes[0])), range(len(children))
    r = [[torch.tensor(1 / len(parents), dtype=torch.double) for _ in parents] for _ in kids]
    for t in range(routing.iters):
        mu, var, act, used = [], [], [], [list(row) for row in r]
        for j in parents:  # M-step
            weight = [r[i][j] * children[i].act for i in kids]
            total = sum(weight)
            mu.append(sum(weight[i] * votes[i][j] for i in kids) / total)
            spread = sum(weight[i] * (votes[i][j] - mu[j]) ** 2 for i in kids) / total
            var.append(spread + routing.variance_floor)
            cost = ((routing.beta_u[j] + var[j].sqrt().log()) * total).sum()
            act.append(1 / (1 + (-routing.inverse_temperature(t) * (routing.beta_a[j] - cost)).exp()))
        for i in kids:  # E-step
            p = []
            for j in parents:
                exponent = -((votes[i][j] - mu[j]) ** 2 / (2 * var[j])).sum()
                p.append(act[j] * exponent.exp() / (2 * math.pi * var[j]).prod().sqrt())
            r[i] = [x / sum(p) for x in p]
    if routing.output == "length":
        mu = [a * m / (norm(m) + routing.unit_eps) for a, m in zip(act, mu, strict=True)]
    return mu, act, used


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [{}, {"output": "length"}, {"output": "length", "unit_eps": 0.1}, {"iters": 2, "variance_floor": 0.1}],
    ids=" ".join,
)
def test_equals_its_twin(kind, options):
    assert_twin(twin, partial(EM, **options), kind)


def test_temperature_is_a_function_of_the_iteration():
    assert_twin(twin, partial(EM, inverse_temperature=lambda t: 0.1 * (t + 1)), "connected")


def test_betas_start_at_zero_or_drawn():
    shape = RoutingShape((1, 1), 2, 4000, 2, 2)
    plain, drawn = EM(shape), EM(shape, beta_std=0.3)
    assert not plain.beta_u.any()
    assert not plain.beta_a.any()
    for beta in (drawn.beta_u, drawn.beta_a):
        assert beta.std().item() == pytest.approx(0.3, rel=0.05)
    assert not torch.equal(drawn.beta_u, drawn.beta_a)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "pose"}, "output='pose' is not allowed"),
        ({"variance_floor": 0.0}, "variance_floor=0.0 is not"),
        ({"unit_eps": 0.0}, "unit_eps=0.0 is not allowed: it must be positive"),
    ],
)
def test_bad_options_are_named(options, message, no_shape_checks):
    with pytest.raises(ValueError, match=message):
        EM(RoutingShape((1, 1), 2, 2, 2, 2), **options)


def test_votes_that_agree_entirely_have_the_least_variance():
    """One child, one parent: σ² = 1e-4 in each of 4 dimensions, and the activation is σ(−λ Σ log σ)."""
    layer = CapsuleLayer(CapsShape((1, 1), 1, 4), 1, 4, routing=partial(EM, iters=1, inverse_temperature=lambda _: 0.1))
    above = layer(Capsules(torch.randn(1, 1, 1, 1, 4), torch.ones(1, 1, 1, 1)))
    expected = 1 / (1 + math.exp(0.1 * 4 * 0.5 * math.log(1e-4)))
    assert above.act.item() == pytest.approx(expected, rel=1e-3)
