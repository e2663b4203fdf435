"""A pass as the operators compute it beside the plain one in double precision: values, and gradients."""

import torch

from torchcaps import ops

PASSES = {"attend": (ops.attend, ops.plain_attend), "moments": (ops.moments, ops.plain_moments)}
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 1e-5, torch.bfloat16: 1e-5}


def draw(name, sizes, *, dtype=torch.float64, present=(True,) * 5, prior=(True, True), scale=0.5):
    """Inputs of a pass; `present` says which optional ones there are, `prior` whether it has children and instances."""
    i, x, a, m, j, y = sizes

    def make(*shape):
        return (torch.randn(*shape) * scale).to(dtype).requires_grad_()

    pose = (j, y, a, m)
    options = [
        make(j, y, a, 1),
        make(*pose),
        (torch.rand(*pose) * 0.3).to(dtype).requires_grad_(),
        make(i if prior[0] else 1, j, m if prior[1] else 1),
        make(i, m),
    ]
    bias, query, precision, prior_, weight = (t if here else None for t, here in zip(options, present, strict=True))
    first = [make(i, x, a, m), make(i, x, j * y), bias]
    return (
        [*first, query, prior_, weight] if name == "attend" else [*first, make(*pose), query, precision, prior_, weight]
    )


def double(tensors):
    return [None if t is None else t.detach().double().requires_grad_() for t in tensors]


def gradients(outs, inputs, mix):
    leaves = [t for t in inputs if t is not None]
    loss = sum((out * g.to(out.dtype)).sum() for out, g in zip(outs, mix, strict=True))
    return torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)


def close(found, expected):
    """To a share of the largest number; half precision also to its last bit, so that sums must have been single."""
    for one, other in zip(found, expected, strict=True):
        largest = max(1.0, other.abs().max().item()) if other.numel() else 1.0
        rounding = torch.finfo(one.dtype).eps if one.dtype in (torch.float16, torch.bfloat16) else 0
        torch.testing.assert_close(one.double(), other, rtol=rounding, atol=TOLERANCES[one.dtype] * largest)


def agree(name, inputs, j, **options):
    """The operator against the plain pass in double precision, on the same numbers."""
    exact = double(inputs)
    computed, plain = PASSES[name]
    found, expected = computed(*inputs, j=j, **options), plain(*exact, j=j, **options)
    close(found, expected)
    mix = [torch.randn_like(out).to(inputs[0].dtype) for out in expected]
    close(gradients(found, inputs, mix), gradients(expected, exact, mix))
