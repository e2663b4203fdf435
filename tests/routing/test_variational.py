import math
from functools import partial

import pytest
import torch

from tests.routing.twins import KINDS, assert_twin
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import Variational
from torchcaps.types import Capsules, RoutingShape


def twin(routing, votes, children, position):
    parents, kids, d = range(len(votes[0])), range(len(children)), len(votes[0][0])
    r = [[torch.tensor(1 / len(parents), dtype=torch.double) for _ in parents] for _ in kids]
    for t in range(routing.iters):
        alpha, kappa, nu, m, psi, used = [], [], [], [], [], [list(row) for row in r]
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
    return m, act, used


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"alpha0": 0.5, "kappa0": 2.0, "iters": 2}], ids=" ".join)
def test_equals_its_twin(kind, options):
    assert_twin(twin, partial(Variational, **options), kind)


def test_as_released_it_begins_in_windows_and_goes_on_across_the_grid():
    """One step of a layer whose parents compete inside a window, the others of one whose parents compete everywhere."""
    released = partial(Variational, first_in_window=True)
    layers = [
        CapsuleLayer(**KINDS["convolutional"], routing=routing, competition=competition).double()
        for routing, competition in ((released, "grid"), (Variational, "window"), (Variational, "grid"))
    ]
    for layer in layers[1:]:
        layer.load_state_dict(layers[0].state_dict())
    pose = torch.randn(2, *layers[0].shape_in.grid, layers[0].shape_in.n, layers[0].shape_in.d, dtype=torch.double)
    below = Capsules(pose, pose.norm(dim=-1))
    found, windows = layers[0].route(below, "all"), layers[0].windows
    state = None
    for t, layer in enumerate((layers[1], layers[2], layers[2])):
        state = layer.step(layer.votes(below), state, t, record=True)
        torch.testing.assert_close(found[t].pose, state.pose)
        torch.testing.assert_close(found[t].act, state.act)
        torch.testing.assert_close(found[t].coupling, state.coupling)
    reached = windows.by_child(found[0].coupling).sum((-2, -1))
    torch.testing.assert_close(reached, (windows.parents[..., :1] >= 0).sum(2).double().expand_as(reached))
    torch.testing.assert_close(windows.by_child(found[1].coupling).sum((-2, -1)), torch.ones_like(reached))
    assert not torch.allclose(found[0].pose, layers[2].route(below, "all")[0].pose)


@pytest.mark.parametrize("name", ["alpha0", "kappa0"])
def test_priors_must_be_positive(name):
    with pytest.raises(ValueError, match=f"{name}=0.0 is not allowed"):
        Variational(RoutingShape((1, 1), 2, 2, 2, 2), **{name: 0.0})
