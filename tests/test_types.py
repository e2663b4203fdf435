"""Shapes and records."""

import pytest
import torch

from torchcaps.types import RECORDS, CapsShape, State, check_record, keeps


def test_a_grid_need_not_be_a_square():
    assert CapsShape((2, 3), 4, 5).children == 24


@pytest.mark.parametrize("record", ["", "some", "None", None, 0])
def test_any_other_record_is_refused(record, no_shape_checks):
    with pytest.raises(ValueError, match="is not allowed: choose one of 'none', 'last', 'all'"):
        check_record(record)


def test_which_iterations_are_kept():
    for record in RECORDS:
        check_record(record)
    kept = {record: [keeps(record, t, 3) for t in range(3)] for record in RECORDS}
    assert kept == {"none": [False] * 3, "last": [False, False, True], "all": [True] * 3}


def test_gradients_pass_through_the_capsules_of_a_state():
    pose, act = torch.ones(1, 1, 1, 2, 3, requires_grad=True), torch.ones(1, 1, 1, 2, requires_grad=True)
    capsules = State(pose, act).capsules
    (2 * capsules.pose.sum() + 3 * capsules.act.sum()).backward()
    assert (pose.grad == 2).all()
    assert (act.grad == 3).all()
