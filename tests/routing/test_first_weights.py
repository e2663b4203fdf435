"""How large the first weights are, for every routing: the numbers of its docstring, worked out by hand."""

from functools import partial
from math import sqrt

import pytest
import torch

from torchcaps.layers import CapsuleLayer
from torchcaps.routing import ROUTINGS, Dynamic, SelfRouting, Trainable, Uniform
from torchcaps.types import CapsShape, RoutingShape

BELOW = CapsShape((4, 5), 3, 8)  # 60 children; 7 parents of 16 numbers
MAPS = {"none": 60, "position": 3, "all": 1}


def as_long_as_the_child(maps, rows):
    return 1 / sqrt(16 / rows)


def of_a_sum_over_60_children_shared_by_7(maps, rows):
    return 7 / 60 * sqrt(maps / (16 / rows))


DEVIATIONS = {
    "dynamic": of_a_sum_over_60_children_shared_by_7,
    "em": as_long_as_the_child,
    "inverted_attention": lambda maps, rows: sqrt(7 / (60 * 8 / rows)),
    "self_attention": of_a_sum_over_60_children_shared_by_7,
    "self_routing": as_long_as_the_child,
    "trainable": lambda maps, rows: sqrt(maps / (60 * 16 / rows)),
    "uniform": lambda maps, rows: sqrt(maps / (16 / rows)),
    "variational": as_long_as_the_child,
}


def test_every_routing_is_here():
    assert DEVIATIONS.keys() == ROUTINGS.keys()


@pytest.mark.parametrize("share", MAPS)
@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("routing", DEVIATIONS)
def test_the_deviation_of_the_maps(routing, rows, share):
    weight = CapsuleLayer(BELOW, 7, 16, rows=rows, share=share, routing=ROUTINGS[routing]).weight
    expected = DEVIATIONS[routing](MAPS[share], rows)
    assert weight.std().item() == pytest.approx(expected, rel=4 / sqrt(2 * weight.numel()))
    assert abs(weight.mean().item()) < 4 * expected / sqrt(weight.numel())


def test_what_routings_have_of_their_own():
    parents = CapsuleLayer(BELOW, 7, 16, routing=partial(Uniform, over="parents")).weight
    assert parents.std().item() == pytest.approx(of_a_sum_over_60_children_shared_by_7(60, 1), rel=0.02)
    shape = RoutingShape((1, 1), 400, 7, 12, 16)
    gate = SelfRouting(shape, bias=True)
    assert gate.gate.abs().max().item() == pytest.approx(0.5, rel=0.01)
    assert gate.gate.std().item() == pytest.approx(0.5 / sqrt(3), rel=0.02)
    assert not gate.bias.any()
    assert not SelfRouting(shape, gate_init="zero").gate.any()
    c = Trainable(RoutingShape((5, 5), 300, 8, 4, 4), per_position=True).c
    assert c.std().item() == pytest.approx(1 / sqrt(300), rel=0.02)
    assert c.abs().max().item() == pytest.approx(0.1, rel=0.01)
    pushed = Dynamic(shape, prior=True, bias=True)
    assert not pushed.prior.any()
    assert torch.equal(pushed.bias, torch.full((7, 16), 0.1))
