from functools import partial

import pytest

from tests.routing.twins import KINDS, assert_twin, norm, squash_exp
from torchcaps.routing import Trainable
from torchcaps.types import RoutingShape


def twin(routing, votes, children, position):
    h, w = position if routing.c.shape[0] > 1 else (0, 0)
    parents = []
    for j in range(len(votes[0])):
        s = sum(routing.c[h, w, child.index, j] * votes[i][j] for i, child in enumerate(children))
        parents.append(squash_exp(s))
    mean = [
        [sum(routing.c[h, w, child.index, j]) / routing.c.shape[-1] for j in range(len(parents))] for child in children
    ]
    return parents, [norm(v) for v in parents], mean


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_position", [False, True])
@pytest.mark.parametrize("per_dim", [False, True])
def test_equals_its_twin(kind, per_position, per_dim):
    assert_twin(twin, partial(Trainable, per_position=per_position, per_dim=per_dim), kind)


def test_coefficients_begin_within_their_fan_in():
    c = Trainable(RoutingShape((5, 5), 300, 8, 4, 4)).c
    assert c.abs().max() <= 0.1
    assert c.std() > 0.05


def test_coefficients_differ_by_position_or_dimension_where_asked():
    shape = RoutingShape((5, 6), 3, 2, 7, 4)
    assert Trainable(shape).c.shape == (1, 1, 3, 2, 1)
    assert Trainable(shape, per_position=True).c.shape == (5, 6, 3, 2, 1)
    assert Trainable(shape, per_dim=True).c.shape == (1, 1, 3, 2, 4)
