"""The tiled passes equal the whole ones in values and gradients, once and twice differentiated."""

import pytest
import torch

from torchcaps import ops
from torchcaps.ops import tiles

I, M, X, A, J, Y = 7, 9, 3, 2, 4, 5


def draw(*shape):
    return torch.randn(*shape, dtype=torch.double, requires_grad=True)


def operator(bias=True):
    return [draw(I, X, A, M), draw(I, X, J * Y), draw(J, Y, A, 1) if bias else None]


def pose():
    return draw(J, Y, A, M)


def positive(tensor):
    return tensor.detach().abs().requires_grad_()


PASSES = {
    "score": (ops.score, lambda: [*operator(), pose(), pose(), pose()]),
    "score without a query": (ops.score, lambda: [*operator(bias=False), None, None, pose()]),
    "combine": (ops.combine, lambda: [*operator(), draw(I, J, M)]),
    "attend": (ops.plain_attend, lambda: [*operator(), pose(), draw(I, J, M), draw(I, M)]),
    "attend, fixed prior": (ops.plain_attend, lambda: [*operator(bias=False), pose(), draw(I, J, 1), None]),
    "attend, no query": (ops.plain_attend, lambda: [*operator(), None, draw(1, J, M), draw(I, M)]),
    "moments": (ops.plain_moments, lambda: [*operator(), pose(), pose(), positive(pose()), draw(1, J, M), draw(I, M)]),
    "moments, first": (ops.plain_moments, lambda: [*operator(bias=False), pose(), None, None, None, draw(I, M)]),
    "moments, Gaussian": (
        ops.plain_moments,
        lambda: [*operator(), pose(), None, positive(pose()), draw(I, J, M), None],
    ),
    "moments of": (ops.moments_of, lambda: [*operator(), pose(), draw(I, J, M)]),
}

each = pytest.mark.parametrize("name", PASSES)


def outputs(function, inputs):
    found = function(*inputs, j=J)
    return found if isinstance(found, tuple) else (found,)


@each
def test_tiles_change_nothing(name, monkeypatch):
    function, make = PASSES[name]
    inputs = make()
    leaves = [t for t in inputs if t is not None]
    whole = outputs(function, inputs)
    monkeypatch.setattr("torchcaps.ops.tiles.TILE_BYTES", 700)
    tiled = outputs(function, inputs)
    torch.testing.assert_close(tiled, whole)
    mix = [torch.randn_like(out) for out in whole]
    expected, found = (torch.autograd.grad(outs, leaves, mix) for outs in (whole, tiled))
    torch.testing.assert_close(found, expected)


@each
def test_derivatives_are_right(name, small_tiles):
    function, make = PASSES[name]
    inputs = [None if t is None else t.detach()[..., :2].requires_grad_() if t.shape[-1] == M else t for t in make()]

    def call(*leaves):
        given = iter(leaves)
        return outputs(function, [None if t is None else next(given) for t in inputs])

    leaves = [t for t in inputs if t is not None]
    assert torch.autograd.gradcheck(call, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, leaves, fast_mode=True)


def test_only_the_gradients_asked_for_are_computed(small_tiles):
    u, w, _ = operator()
    u = u.detach()
    s, mass = ops.plain_attend(u, w, None, pose().detach(), None, None, j=J)
    (grad,) = torch.autograd.grad(s.sum() + mass.sum(), [w])
    assert grad.shape == w.shape


def test_detached_couplings_get_no_gradient(small_tiles):
    u, w, bias = operator()
    query = pose()
    s, _ = ops.plain_attend(u, w, bias, query, None, None, j=J, detach=True)
    assert torch.autograd.grad(s.sum(), [query], retain_graph=True, materialize_grads=True)[0].abs().max() == 0
    assert torch.autograd.grad(s.sum(), [w])[0].abs().max() > 0


def test_a_query_that_is_made_of_the_votes_counts_once(small_tiles):
    """Also where its gradient is to be differentiated again: autograd joins what reaches the children by two ways."""
    u, w, bias = operator()

    def slopes(*, again):
        query, _ = ops.plain_attend(u, w, bias, None, None, None, j=J)
        s, _ = ops.plain_attend(u, w, bias, query, None, None, j=J)
        return torch.autograd.grad(s.square().sum(), [u, w, bias], create_graph=again)

    torch.testing.assert_close(slopes(again=True), slopes(again=False))


def test_passes_read_instances_side_by_side(monkeypatch):
    """However tensors and gradients come: a pass reads each of them for every tile."""
    monkeypatch.setattr(tiles, "TILE_BYTES", 1)
    strides = []

    def forward(u, q):
        strides.extend([u.stride(-1), q.stride(-1)])
        return ((u * q).sum(0),)

    def pullback(grads, u, q):
        strides.extend([grads[0].stride(-1), u.stride(-1), q.stride(-1)])
        return (grads[0] * q).expand_as(u), (grads[0] * u).sum(0)

    u, q = draw(M, I).T, draw(M, 1).T[0]
    over = tiles.Pass(forward, ("im", "m"), ("m",), pullback)
    [made] = tiles.run(over, [u, q], i=I, m=M, pair_bytes=8)
    made.backward(draw(M, 2)[:, 0])
    assert set(strides) == {1}
    assert len(strides) > 2 * I
