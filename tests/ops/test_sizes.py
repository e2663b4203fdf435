"""What tensors of a pass must be, and that half precision is summed in single by the plain passes too."""

import pytest
import torch

from tests.ops.agreement import PASSES, close, double, draw
from torchcaps.ops.operators import ATTEND, MOMENTS
from torchcaps.ops.sizes import Sizes, sizes_of

SIZES = (5, 3, 2, 11, 4, 6)  # children, columns, rows, instances, parents, columns of a vote
OPERATORS = {"attend": ATTEND, "moments": MOMENTS}
each = pytest.mark.parametrize("name", PASSES)


def named(name):
    tensors = [t.detach() for t in draw(name, SIZES)]
    return dict(zip([t.rstrip("?") for t in OPERATORS[name].tensors], tensors, strict=True))


@each
def test_they_are_found(name):
    assert sizes_of(named(name), 4) == Sizes(*SIZES)


@each
def test_any_tensor_of_another_precision_is_refused(name):
    for which, tensor in named(name).items():
        if which != "u":
            with pytest.raises(ValueError, match=rf"{which} is .* of torch.float32 but must be .* of torch.float64"):
                sizes_of({**named(name), which: tensor.float()}, 4)


@each
def test_any_tensor_turned_round_is_refused(name):
    """As many numbers, in another order of axes."""
    for which, tensor in named(name).items():
        for one in range(tensor.ndim):
            for other in range(one):
                turned = tensor.transpose(one, other).contiguous()
                with pytest.raises(ValueError, match="must be"):
                    sizes_of({**named(name), which: turned}, 4)


@pytest.mark.parametrize("axis", [1, 2, 5], ids=["no columns below", "no rows", "no columns above"])
def test_poses_without_numbers_are_refused(axis):
    sizes = [*SIZES]
    sizes[axis] = 0
    i, x, a, m, j, y = sizes
    with pytest.raises(ValueError, match="x, a, j, y at least 1"):
        sizes_of({"u": torch.zeros(i, x, a, m), "w": torch.zeros(i, x, j * y)}, j)


def test_no_child_and_no_instance_are_allowed():
    assert sizes_of({"u": torch.zeros(0, 3, 2, 0), "w": torch.zeros(0, 3, 8)}, 4) == Sizes(0, 3, 2, 0, 4, 2)


@each
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_the_plain_pass_rounds_half_precision_once(name, dtype):
    inputs = [t.detach() for t in draw(name, (200, 3, 2, 3, 4, 5), dtype=dtype)]
    numbers = (4, False) if name == "attend" else (4,)
    found = OPERATORS[name].forward(*inputs, *numbers)
    assert all(out.dtype == dtype for out in found)
    close(found, OPERATORS[name].forward(*(t.detach() for t in double(inputs)), *numbers))
