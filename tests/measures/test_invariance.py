"""Invariance on activations written by hand: equal ones, other ones, and capsules that say nothing."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.measures.scripted import Scripted
from torchcaps.data import Batch, Stored
from torchcaps.measures import Invariance, walk
from torchcaps.measures.sweep import Swept, steps


class Lined(Swept):
    """Swept data whose images are their own number, so that a script can answer each."""

    def batch(self, index, epoch=0):
        _, labels, _ = super().batch(index, epoch)
        return Batch(index.float().reshape(-1, 1, 1, 1), labels)


def lined(images, count=3, factors=("rotation", "scale")):
    source = Stored(torch.zeros(images, 1, 1, 1, dtype=torch.uint8), torch.zeros(images, dtype=torch.long), ("a", "b"))
    return Lined(source, (1, 1), tuple(steps(f, count) for f in factors))


def measured(first, data, batch_size=256):
    """What is said of two layers: the first is the test's, the class capsules are always one."""
    classes = torch.ones(len(first), 1, 1, 2)
    net = Scripted([first[:, None, None].float(), classes], [torch.zeros(len(first), 1, 1, 1, 1)])
    return walk(net, data, [Invariance()], batch_size=batch_size)[0]


def test_equal_activations_correlate_perfectly():
    act = torch.rand(5, 4).repeat_interleave(3, dim=0).repeat(2, 1)  # the same at all three values of both factors
    found = measured(act, lined(5))
    for factor in found.factors:
        assert [layer.capsules for layer in factor.layers] == [4, 2]
        assert factor.layers[0].correlation == pytest.approx((1.0,))
        assert factor.layers[1].correlation == pytest.approx((1.0,))
    louder = act.clone()
    louder[2::3] *= 0.3  # a constant factor does not matter: the correlation is of directions
    assert measured(louder, lined(5)).factors[0].layers[0].correlation == pytest.approx((1.0,))


def test_it_is_not_centred_and_both_signs_are_averaged():
    """Two images, one capsule; weak and strong stand for the values −s, 0 and s."""
    act = torch.tensor([[1.0], [1.0], [0.0], [0.0], [1.0], [1.0]])
    [factor] = measured(act, lined(2, factors=("rotation",))).factors
    assert factor.layers[0].correlation == pytest.approx(((1 / math.sqrt(2) + 1 / math.sqrt(2)) / 2,))
    constant = torch.full((6, 1), 0.5)  # a centred correlation would be undefined
    assert measured(constant, lined(2, factors=("rotation",))).factors[0].layers[0].correlation == pytest.approx((1.0,))


def test_silent_capsules_are_left_out_and_counted():
    act = torch.rand(6, 3)
    act[:, 1] = 0
    act[::3, 2] = 0  # silent at one of the two values
    [factor] = measured(act, lined(2, factors=("rotation",))).factors
    only = factor.layers[0]
    assert (only.capsules, only.silent) == (3, (2,))
    expected = sum(float(torch.cosine_similarity(act[1::3, 0], act[k::3, 0], dim=0)) for k in (0, 2)) / 2
    assert only.correlation == pytest.approx((expected,))
    nobody = measured(torch.zeros(6, 3), lined(2, factors=("rotation",))).factors[0].layers[0]
    assert (nobody.correlation, nobody.silent) == ((None,), (3,))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 70), st.integers(0, 5))
def test_the_batch_size_changes_nothing_and_a_loop_agrees(batch_size, seed):
    torch.manual_seed(seed)
    images, count = 4, 5
    act = torch.rand(2 * images * count, 3)
    found = measured(act, lined(images, count), batch_size)
    table = act.reshape(2, images, count, 3)
    for f, factor in enumerate(found.factors):
        for k, pair in enumerate(((1, 3), (0, 4))):
            each = [
                float(
                    (table[f, :, 2, n] * table[f, :, v, n]).sum() / table[f, :, 2, n].norm() / table[f, :, v, n].norm()
                )
                for n in range(3)
                for v in pair
            ]
            assert factor.layers[0].correlation[k] == pytest.approx(sum(each) / 6, rel=1e-5)


def test_the_order_of_images_does_not_matter():
    torch.manual_seed(3)
    act = torch.rand(6, 5, 2)
    turned = act[torch.randperm(6)]
    one, other = (measured(a.flatten(0, 1), lined(6, 5, ("shear_x",))) for a in (act, turned))
    assert one.factors[0].layers[0].correlation == pytest.approx(other.factors[0].layers[0].correlation, rel=1e-9)


def test_a_measure_without_its_view_is_refused():
    data = Stored(torch.zeros(2, 1, 1, 1, dtype=torch.uint8), torch.tensor([0, 1]), ("a", "b"))
    with pytest.raises(ValueError, match=r"'invariance' follows images .* walk over swept"):
        walk(Scripted([torch.rand(2, 1, 1, 2)] * 2), data, [Invariance()])
