"""The native passes equal the plain ones, in values and gradients, for any shape."""

import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from torchcaps import ops

pytestmark = pytest.mark.skipif(ops.native.status() != "native", reason=f"here serves {ops.native.status()}")
PASSES = {"attend": (ops.attend, ops.plain_attend), "moments": (ops.moments, ops.plain_moments)}


def draw(name, sizes, *, dtype=torch.float64, present=(True,) * 5, prior=(True, True)):
    """Inputs of a pass; `present` says which optional ones there are, `prior` whether it has children and instances."""
    i, x, a, m, j, y = sizes

    def make(*shape):
        return torch.randn(*shape, dtype=dtype).requires_grad_()

    pose = (j, y, a, m)
    options = [
        make(j, y, a, 1),
        make(*pose),
        (torch.rand(*pose, dtype=dtype) * 0.3).requires_grad_(),
        make(i if prior[0] else 1, j, m if prior[1] else 1),
        make(i, m),
    ]
    bias, query, precision, prior_, weight = (t if here else None for t, here in zip(options, present, strict=True))
    first = [make(i, x, a, m), make(i, x, j * y), bias]
    return (
        [*first, query, prior_, weight] if name == "attend" else [*first, make(*pose), query, precision, prior_, weight]
    )


def agree(name, inputs, j, rtol=1e-9, **options):
    leaves = [t for t in inputs if t is not None]
    found, expected = (function(*inputs, j=j, **options) for function in PASSES[name])
    torch.testing.assert_close(found, expected, rtol=rtol, atol=rtol)
    mix = [torch.randn_like(out) for out in expected]
    grads = [
        torch.autograd.grad(
            sum((out * g).sum() for out, g in zip(outs, mix, strict=True)),
            leaves,
            allow_unused=True,
            materialize_grads=True,
        )
        for outs in (found, expected)
    ]
    torch.testing.assert_close(*grads, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=100, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(1, n) for n in (9, 9, 4, 40, 6, 9))),
    present=st.tuples(*[st.booleans()] * 5),
    prior=st.tuples(st.booleans(), st.booleans()),
)
def test_any_shape(name, sizes, present, prior):
    agree(name, draw(name, sizes, present=present, prior=prior), sizes[4])


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize(
    "sizes", [(20, 8, 1, 37, 10, 16), (20, 8, 1, 9, 3, 8), (6, 16, 1, 5, 4, 16), (30, 4, 4, 21, 5, 4)], ids=str
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_the_shapes_that_are_compiled_for(name, sizes, dtype):
    inputs = [None if t is None else (t.detach() * 0.3).requires_grad_() for t in draw(name, sizes, dtype=dtype)]
    agree(name, inputs, sizes[4], rtol=1e-9 if dtype == torch.float64 else 2e-4)


def test_detached_couplings():
    agree("attend", draw("attend", (5, 3, 2, 11, 4, 5)), 4, detach=True)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("m", [0, 1])
def test_batches_of_none_and_one(name, m):
    inputs = draw(name, (5, 3, 2, m, 4, 5))
    outs = PASSES[name][0](*inputs, j=4)
    grads = torch.autograd.grad([out.sum() for out in outs], [t for t in inputs if t is not None])
    assert all(torch.isfinite(grad).all() for grad in grads)
    if m == 1:
        agree(name, inputs, 4)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_nan_in_nan_out(name, dtype):
    """An instance that holds a NaN gives NaN, and its neighbours in the vector do not notice."""
    inputs = draw(name, (5, 3, 2, 11, 4, 5), dtype=dtype)
    with torch.no_grad():
        inputs[0][2, 1, 0, 3] = torch.nan
        outs = PASSES[name][0](*inputs, j=4)
    for out in outs:
        assert torch.isnan(out[..., 3]).all()
        assert torch.isfinite(out[..., :3]).all()
        assert torch.isfinite(out[..., 4:]).all()


@pytest.mark.parametrize("name", PASSES)
def test_gradcheck(name):
    inputs = draw(name, (3, 2, 2, 5, 3, 2))
    assert torch.autograd.gradcheck(lambda *leaves: PASSES[name][0](*leaves, j=3), inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *leaves: PASSES[name][0](*leaves, j=3), inputs, fast_mode=True)


@pytest.mark.parametrize("name", PASSES)
def test_opcheck(name):
    inputs = draw(name, (3, 2, 2, 5, 3, 2))
    numbers = (3, False) if name == "attend" else (3,)
    torch.library.opcheck(getattr(torch.ops.torchcaps, name), (*inputs, *numbers))


@pytest.mark.parametrize("name", PASSES)
def test_threads_change_nothing_from_run_to_run(name):
    torch.set_num_threads(2)
    inputs = draw(name, (40, 8, 1, 50, 10, 16), dtype=torch.float32)
    leaves = [t for t in inputs if t is not None]
    runs = [torch.autograd.grad([o.sum() for o in PASSES[name][0](*inputs, j=10)], leaves) for _ in range(3)]
    for run in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(run, runs[0], strict=True))


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )


def test_it_can_be_turned_off_and_says_when_there_is_no_compiler():
    code = "from torchcaps.ops import native; print(native.status())"
    assert run_python(code, TORCHCAPS_NATIVE="0").stdout.strip() == "plain torch: TORCHCAPS_NATIVE=0"
    without = run_python(code, CXX="no-such-compiler")
    assert without.stdout.strip() == "plain torch: no C++ compiler"
    assert without.stderr.count("no C++ compiler found, so the plain torch passes serve") == 1


def test_denormal_numbers_survive_in_the_process():
    """-ffast-math at link time would flush them to zero for everyone."""
    code = (
        "import torch; from torchcaps.ops import native; native.status(); print(torch.tensor(1e-40).mul(1).item() > 0)"
    )
    assert run_python(code).stdout.strip() == "True"


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("which", [1, 3, 5], ids=["maps", "poses", "last"])
def test_tensors_of_another_size_are_refused(name, which):
    inputs = [None if t is None else t.detach() for t in draw(name, (5, 3, 2, 11, 4, 5))]
    inputs[which] = inputs[which][..., :-1].contiguous()
    numbers = (4, False) if name == "attend" else (4,)
    with pytest.raises(RuntimeError, match="must be"):
        getattr(torch.ops.torchcaps, name)(*inputs, *numbers)
