import math
from functools import partial

import pytest
import torch

from tests.routing.twins import KINDS, assert_twin
from torchcaps.routing import Variational
from torchcaps.types import RoutingShape


def twin(routing, votes, children, position):
    parents, kids, d = range(len(votes[0])), range(len(children)), len(votes[0][0])
    r = [[torch.tensor(1 / len(parents), dtype=torch.double) for _ in parents] for _ in kids]
    for t in range(routing.iters):
        alpha, kappa, nu, m, psi = [], [], [], [], []
        for j in parents:  # the distributions of the parents' parameters
            weight = [r[i][j] * children[i].act for i in kids]
            total = sum(weight)
            mean = sum(weight[i] * votes[i][j] for i in kids) / total
            alpha.append(routing.alpha0 + total)
            kappa.append(routing.kappa0 + total)
            nu.append(d + 1 + total)
            m.append(total * mean / kappa[j])
            scatter = sum(weight[i] * (votes[i][j] - mean) ** 2 for i in kids)
            psi.append(1 + scatter + routing.kappa0 * total / kappa[j] * mean**2)
        log_pi = [torch.digamma(alpha[j]) - torch.digamma(sum(alpha)) for j in parents]
        log_det = [
            sum(torch.digamma((nu[j] - k) / 2) for k in range(d)) + d * math.log(2) - psi[j].log().sum()
            for j in parents
        ]
        for i in kids:  # the children's assignments
            p = []
            for j in parents:
                distance = d / kappa[j] + nu[j] * ((votes[i][j] - m[j]) ** 2 / psi[j]).sum()
                p.append((log_pi[j] + log_det[j] / 2 - d / 2 * math.log(2 * math.pi) - distance / 2).exp())
            r[i] = [x / sum(p) for x in p]
    act = []
    for j in parents:
        entropy = d / 2 * math.log(2 * math.pi * math.e) - log_det[j] / 2
        act.append(1 / (1 + (routing.beta_u[j] + log_pi[j].exp() * entropy - routing.beta_a[j]).exp()))
    return m, act


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"alpha0": 0.5, "kappa0": 2.0, "iters": 2}], ids=" ".join)
def test_equals_its_twin(kind, options):
    assert_twin(twin, partial(Variational, **options), kind)


@pytest.mark.parametrize("name", ["alpha0", "kappa0"])
def test_priors_must_be_positive(name):
    with pytest.raises(ValueError, match=f"{name}=0.0 is not allowed"):
        Variational(RoutingShape((1, 1), 2, 2, 2, 2), **{name: 0.0})
