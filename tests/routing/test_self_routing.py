from functools import partial

import pytest
import torch

from tests.routing.twins import KINDS, assert_twin, softmax
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import SelfRouting
from torchcaps.types import Capsules, RoutingShape


def twin(routing, votes, children, position):
    parents, kids = range(len(votes[0])), range(len(children))
    c = []
    for child in children:
        logits = child.pose @ routing.gate[child.index]
        if routing.bias is not None:
            logits = logits + routing.bias[child.index]
        c.append(softmax(list(logits)))
    weight = [[c[i][j] * children[i].act for j in parents] for i in kids]
    total = [sum(weight[i][j] for i in kids) for j in parents]
    poses = [sum(weight[i][j] * votes[i][j] for i in kids) / total[j] for j in parents]
    return poses, [t / sum(child.act for child in children) for t in total], c


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"bias": True}, {"bias": True, "gate_init": "zero"}], ids=" ".join)
def test_equals_its_twin(kind, options):
    assert_twin(twin, partial(SelfRouting, **options), kind)


def test_as_released_every_child_starts_undecided_and_decides_in_time():
    layer = CapsuleLayer(**KINDS["connected"], routing=partial(SelfRouting, bias=True, gate_init="zero"))
    pose = torch.randn(2, *layer.shape_in.grid, layer.shape_in.n, layer.shape_in.d)
    [state] = layer.route(Capsules(pose, pose.norm(dim=-1)), "last")
    torch.testing.assert_close(state.coupling, torch.full_like(state.coupling, 1 / layer.shape_out.n))
    state.pose.square().sum().backward()
    assert layer.routing.gate.grad.any()


def test_the_gate_starts_as_a_linear_map_of_variance_one_over_d():
    gate = SelfRouting(RoutingShape((1, 1), i=200, j=10, d_in=8, d_out=4)).gate
    assert gate.abs().max().item() == pytest.approx((3 / 8) ** 0.5, rel=0.01)
    assert gate.std().item() == pytest.approx((1 / 8) ** 0.5, rel=0.02)


def test_unknown_start_is_named(no_shape_checks):
    with pytest.raises(ValueError, match="gate_init='one' is not allowed: choose 'fan_in' or 'zero'"):
        SelfRouting(RoutingShape((1, 1), 2, 2, 2, 2), gate_init="one")


def test_parents_of_children_that_are_not_there_are_zero():
    layer = CapsuleLayer(**KINDS["connected"], routing=SelfRouting)
    pose = torch.randn(2, *layer.shape_in.grid, layer.shape_in.n, layer.shape_in.d)
    above = layer(Capsules(pose, torch.zeros_like(pose[..., 0])))
    assert not above.pose.any()  # nor NaN
    assert not above.act.any()
