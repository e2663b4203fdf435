"""What every routing promises, in every layer, under every schedule and in every precision."""

from contextlib import nullcontext

import pytest
import torch

from tests.contracts.networks import CLASSES, GRID, ROWS, SCHEDULES, WINDOWS, N, build, hidden_shape, images
from torchcaps.routing import ROUTINGS

PRECISIONS = {
    "float32": (torch.float32, nullcontext, 1e-5),
    "float64": (torch.float64, nullcontext, 1e-12),
    "bfloat16": (torch.float32, lambda: torch.autocast("cpu", torch.bfloat16), 2e-2),
}
INPUTS = {
    "zero": lambda x: x * 0,
    "tiny": lambda x: x * 1e-6,
    "huge": lambda x: x * 1e4,
    "mixed": lambda x: (
        x * 10 ** (torch.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2]) % 11 - 6.0)[..., None, None]
    ),
}

every = pytest.mark.parametrize(
    "case",
    [
        pytest.param((r, p, c, s, precision), id=f"{r}-{p}-{c}-{s}-{precision}")
        for r in ROUTINGS
        for p in ROWS
        for c in WINDOWS
        for s in SCHEDULES
        for precision in PRECISIONS
    ],
)


def setup(case):
    *kind, precision = case
    dtype, context, tolerance = PRECISIONS[precision]
    return build(*kind).to(dtype), dtype, context, tolerance


@every
def test_shapes_and_record(case):
    net, dtype, context, tolerance = setup(case)
    x = images(2, dtype=dtype)
    with context():
        none, last, whole = net(x), net(x, record="last"), net(x, record="all")
    hidden = hidden_shape(case[2])
    assert [tuple(c.pose.shape) for c in last.capsules] == [
        (2, *GRID, N, 6),
        (2, *hidden.grid, hidden.n, hidden.d),
        (2, 1, 1, CLASSES, 4),
    ]
    children = N * (9 if case[2] == "convolutional" else GRID[0] * GRID[1])
    assert [tuple(c.shape) for c in last.couplings] == [
        (2, *hidden.grid, children, hidden.n),
        (2, 1, 1, hidden.children, CLASSES),
    ]
    assert none.couplings == none.history == last.history == []
    assert len(none.capsules) == 1
    assert [len(states) for states in whole.history] == [
        layer.routing.iters if case[3] == "sequential" else 3 for layer in net.layers
    ]
    for parse in (last, whole):
        torch.testing.assert_close(parse.scores, none.scores, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(last.couplings, whole.couplings)
    assert all(layer.weight.dtype == dtype for layer in net.layers)
    assert last.capsules[-1].pose.dtype == dtype


@every
@pytest.mark.parametrize("size", INPUTS)
def test_finite_values_and_gradients(case, size):
    net, dtype, context, _ = setup(case)
    x = INPUTS[size](images(3)).to(dtype).requires_grad_()
    with context():
        parse = net(x, record="all")
    loss = parse.scores.float().sum() + sum(c.pose.float().sum() for c in parse.capsules)
    loss.backward()
    values = [t for c in parse.capsules for t in c] + parse.couplings
    for tensor in (*values, x.grad, *(p.grad for p in net.parameters() if p.grad is not None)):
        assert torch.isfinite(tensor).all()


@every
def test_couplings_sum_to_one_where_promised(case):
    net, dtype, context, _ = setup(case)
    with context():
        parse = net(images(2, dtype=dtype), record="all")
    for layer, states in zip(net.layers, parse.history, strict=True):
        present = 1.0 if layer.windows.missing is None else (~layer.windows.missing).to(dtype)
        for state in states:
            if layer.routing.competes:
                expected = torch.zeros_like(state.coupling[..., 0]) + present
                torch.testing.assert_close(state.coupling.sum(-1), expected)
            padded = state.coupling * (1 - present)[..., None] if layer.windows.missing is not None else 0 * present
            assert not padded if isinstance(padded, float) else not padded.any()


@every
@pytest.mark.parametrize("batch", [0, 1])
def test_batches_of_none_and_one(case, batch):
    net, dtype, context, _ = setup(case)
    with context():
        parse = net(images(batch, dtype=dtype), record="last")
    parse.scores.sum().backward()
    assert parse.scores.shape == (batch, CLASSES)
    assert all(c.pose.shape[0] == batch for c in parse.capsules)


@every
def test_a_batch_is_its_items(case):
    net, dtype, context, tolerance = setup(case)
    x = images(3, dtype=dtype)
    with context(), torch.no_grad():
        together = net(x).scores
        apart = torch.cat([net(one[None]).scores for one in x])
    torch.testing.assert_close(together, apart, rtol=tolerance, atol=tolerance)


@every
def test_state_dict_round_trip(case):
    net, dtype, context, _ = setup(case)
    other = build(*case[:4]).to(dtype)
    other.load_state_dict(net.state_dict())
    x = images(2, dtype=dtype)
    with context(), torch.no_grad():
        assert torch.equal(net(x).scores, other(x).scores)


@pytest.mark.parametrize("name", ROUTINGS)
def test_a_gradient_that_can_be_differentiated_again_is_the_same(name, small_tiles):
    """Under create_graph the tiled passes must not count twice what reaches a query through the votes."""
    net = build(name, "matrix", "convolutional").double()
    x = images(2, dtype=torch.float64).requires_grad_()
    scores = net(x).scores.square().sum()
    (once,) = torch.autograd.grad(scores, x, retain_graph=True)
    (again,) = torch.autograd.grad(scores, x, create_graph=True)
    torch.testing.assert_close(again, once)
    assert torch.isfinite(torch.autograd.grad(again.square().sum(), x)[0]).all()


@pytest.mark.parametrize("name", ROUTINGS)
def test_functional_transforms(name, small_tiles):
    net = build(name, "vector", "connected").double()
    x = images(2, dtype=torch.float64)
    found = torch.func.grad(lambda t: net(t).scores.square().sum())(x)
    expected = x.clone().requires_grad_()
    net(expected).scores.square().sum().backward()
    torch.testing.assert_close(found, expected.grad)


@pytest.mark.parametrize("connection", WINDOWS)
@pytest.mark.parametrize("size", [(2, 4), (5, 4)])
def test_images_of_another_size_are_refused(connection, size):
    net = build("dynamic", "vector", connection)
    with pytest.raises(ValueError, match="images must have the size the network was built for"):
        net(torch.randn(1, 12, *size))


def test_half_precision_reaches_the_capsules_under_autocast():
    """What the bfloat16 contract rests on: the primary poses are bfloat16, the capsule layers compute in float32."""
    net, x = build("dynamic"), images(2)
    with torch.autocast("cpu", torch.bfloat16):
        parse = net(x, record="last")
    assert parse.capsules[0].pose.dtype == torch.bfloat16
    assert parse.capsules[1].pose.dtype == torch.float32
