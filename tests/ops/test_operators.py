"""What the operators promise, whatever computes them: `test_passes.py` runs this file once for each kind of passes."""

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.ops.agreement import PASSES, agree, draw
from torchcaps import ops

TRITON = ops.status() == "triton"  # in its interpreter, which is slow; and double precision is not for its kernels
KINDS = [torch.float32] if TRITON else [torch.float64, torch.float32]
each = pytest.mark.parametrize("name", PASSES)
precise = pytest.mark.parametrize("dtype", KINDS, ids=str)
SMALL = (5, 3, 2, 11, 4, 5)


def numbers(name, j):
    return (j, False) if name == "attend" else (j,)


def operator(name):
    return getattr(torch.ops.torchcaps, name)


@each
@settings(max_examples=50 if TRITON else 100, deadline=None, phases=[Phase.generate] if TRITON else list(Phase))
@given(
    sizes=st.tuples(*(st.integers(1, n) for n in ((5, 9, 4, 20, 6, 9) if TRITON else (9, 9, 4, 40, 6, 9)))),
    present=st.tuples(*[st.booleans()] * 5),
    prior=st.tuples(st.booleans(), st.booleans()),
    dtype=st.sampled_from(KINDS),
)
def test_any_shape(name, sizes, present, prior, dtype):
    agree(name, draw(name, sizes, present=present, prior=prior, dtype=dtype), sizes[4])


@each
@precise
@pytest.mark.parametrize(
    "sizes", [(9, 8, 1, 37, 10, 16), (20, 8, 1, 9, 3, 8), (6, 16, 1, 5, 4, 16), (9, 4, 4, 21, 5, 4)], ids=str
)
def test_the_shapes_of_the_papers(name, sizes, dtype):
    agree(name, draw(name, sizes, dtype=dtype, scale=0.2), sizes[4])


@each
@precise
@pytest.mark.parametrize("m", [40] if TRITON else [100, 300])
@pytest.mark.parametrize("sizes", [(6, 8, 1, 100, 16), (4, 8, 1, 20, 16), (4, 4, 4, 9, 4)], ids=str)
def test_many_instances(name, sizes, m, dtype):
    """So many that they are taken in several groups, of which the last is not full, on the way back too.

    A group of the native passes holds as many vectors of instances as fit into 256 kB: one of 1600 numbers a parent
    pose, three of 320 for `attend` and of 144 for `moments`, whatever the width of a vector.
    """
    i, x, a, j, y = sizes
    i = 1 if TRITON else i
    agree(name, draw(name, (i, x, a, m, j, y), dtype=dtype, scale=0.2), j)


@precise
def test_detached_couplings(dtype):
    agree("attend", draw("attend", SMALL, dtype=dtype), 4, detach=True)


@each
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_summed_in_single(name, dtype):
    """What comes out is rounded once: nothing on the way was narrow."""
    inputs = draw(name, (10 if TRITON else 400, 3, 2, 3, 4, 5), dtype=dtype)
    agree(name, inputs, 4)
    assert all(out.dtype == dtype for out in PASSES[name][0](*inputs, j=4))


@each
@precise
@pytest.mark.parametrize("m", [0, 1])
def test_batches_of_none_and_one(name, m, dtype):
    inputs = draw(name, (5, 3, 2, m, 4, 5), dtype=dtype)
    outs = PASSES[name][0](*inputs, j=4)
    assert [out.shape[-1] for out in outs] == [m] * len(outs)
    grads = torch.autograd.grad([out.sum() for out in outs], [t for t in inputs if t is not None])
    assert all(torch.isfinite(grad).all() for grad in grads)
    agree(name, inputs, 4)


@each
@precise
def test_nan_in_nan_out(name, dtype):
    """An instance that holds a NaN gives NaN, and its neighbours do not notice."""
    inputs = draw(name, SMALL, dtype=dtype)
    with torch.no_grad():
        inputs[0][2, 1, 0, 3] = torch.nan
        outs = PASSES[name][0](*inputs, j=4)
    for out in outs:
        assert torch.isnan(out[..., 3]).all()
        assert torch.isfinite(out[..., :3]).all()
        assert torch.isfinite(out[..., 4:]).all()


@each
@precise
@pytest.mark.parametrize("shared", [(True, True), (False, False)], ids=["of each pair", "of each parent"])
def test_a_prior_of_minus_infinity_forbids(name, dtype, shared):
    inputs = draw(name, SMALL, dtype=dtype, prior=shared)
    with torch.no_grad():
        inputs[-2][:, 1] = -torch.inf
        outs = PASSES[name][0](*inputs, j=4)
    assert all((out[1] == 0).all() and (out[0] != 0).all() for out in outs)
    agree(name, inputs, 4)


@each
def test_gradcheck(name):
    inputs = draw(name, (3, 2, 2, 5, 3, 2))
    assert torch.autograd.gradcheck(lambda *leaves: PASSES[name][0](*leaves, j=3), inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *leaves: PASSES[name][0](*leaves, j=3), inputs, fast_mode=True)


@each
@pytest.mark.parametrize("present", [(True,) * 5, (False,) * 5], ids=["all", "none"])
def test_opcheck(name, present):
    inputs = draw(name, (3, 2, 2, 5, 3, 4), dtype=torch.float32, present=present)
    PASSES[name][0](*inputs, j=3)  # loads what serves
    torch.library.opcheck(operator(name), (*inputs, *numbers(name, 3)))


@each
def test_the_schema_is_the_same_whatever_serves(name):
    own = ops.operators.ATTEND if name == "attend" else ops.operators.MOMENTS
    schema = operator(name).default._schema
    assert [argument.name for argument in schema.arguments[: len(own.tensors)]] == [t.rstrip("?") for t in own.tensors]
    backward = operator(f"{name}_backward").default._schema
    assert [argument.name for argument in backward.arguments] == [*own.grads, *(a.name for a in schema.arguments)]
    assert len(backward.returns) == len(own.tensors)


def changed(tensors):
    """The tensors, once for each of them with its last axis one shorter."""
    for k, tensor in enumerate(tensors):
        yield [t[..., :-1].contiguous() if t is tensor else t for t in tensors], k


@each
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_tensors_of_another_size_are_refused(name, backward):
    inputs = [t.detach().float() for t in draw(name, SMALL)]
    outs = PASSES[name][0](*inputs, j=4)
    given = [*outs, *inputs] if backward else inputs
    call = operator(f"{name}_backward" if backward else name)
    for wrong, k in changed(given):
        bias = k - (len(outs) if backward else 0) == 2
        wrong = [t[:-1].contiguous() if bias and t.numel() == 0 else t for t in wrong]
        with pytest.raises(ValueError, match="must be"):
            call(*wrong, *numbers(name, 4))
    with pytest.raises(ValueError, match="must be"):
        call(*(t.double() if t is given[-1] else t for t in given), *numbers(name, 4))


@each
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_tensors_turned_round_are_refused(name, backward):
    """As many numbers, in another order of axes."""
    inputs = [t.detach().float() for t in draw(name, SMALL)]
    outs = PASSES[name][0](*inputs, j=4)
    given = [*outs, *inputs] if backward else inputs
    call = operator(f"{name}_backward" if backward else name)
    for tensor in given:
        turned = tensor.transpose(0, 1).contiguous()
        with pytest.raises(ValueError, match="must be"):
            call(*(turned if t is tensor else t for t in given), *numbers(name, 4))


@each
@pytest.mark.parametrize("axis", [1, 2, "y"], ids=["no columns below", "no rows", "no columns above"])
def test_poses_without_numbers_are_refused(name, axis):
    sizes = [*SMALL]
    sizes[5 if axis == "y" else axis] = 0
    inputs = [t.detach() for t in draw(name, sizes)]
    grads = [torch.zeros(4, 11).double() if out == "mass" else inputs[3] for out in own_outputs(name)]
    ops.status()
    with pytest.raises(ValueError, match="at least 1"):
        operator(name)(*inputs, *numbers(name, 4))
    with pytest.raises(ValueError, match="at least 1"):
        operator(f"{name}_backward")(*grads, *inputs, *numbers(name, 4))


def own_outputs(name):
    return (ops.operators.ATTEND if name == "attend" else ops.operators.MOMENTS).outputs
