from functools import partial

import pytest
import torch

from tests.routing.twins import KINDS, assert_twin, norm, squash
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import Uniform
from torchcaps.schedule import sequential
from torchcaps.types import Capsules, RoutingShape


def twin(routing, votes, children, position):
    share = 1 / len(children) if routing.over == "children" else 1 / len(votes[0])
    parents = [squash(sum(share * votes[i][j] for i in range(len(children)))) for j in range(len(votes[0]))]
    return parents, [norm(v) for v in parents], [[share] * len(parents) for _ in children]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("over", ["children", "parents"])
def test_equals_its_twin(kind, over):
    assert_twin(twin, partial(Uniform, over=over), kind)


def test_padded_children_are_not_counted_in_the_average():
    layer = CapsuleLayer(**KINDS["convolutional"], routing=Uniform)
    pose = torch.randn(1, *layer.shape_in.grid, layer.shape_in.n, layer.shape_in.d)
    coupling = sequential([layer], Capsules(pose, pose.norm(dim=-1)), "last")[0][0].coupling
    torch.testing.assert_close(coupling.sum(-2), torch.ones_like(coupling.sum(-2)))
    assert coupling.amax() > coupling[coupling > 0].amin()


def test_unknown_option_is_named(no_shape_checks):
    with pytest.raises(ValueError, match="over='rows' is not allowed: choose 'children' or 'parents'"):
        Uniform(RoutingShape((1, 1), 2, 2, 2, 2), over="rows")
