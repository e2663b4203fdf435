"""Votes that are stored, for few instances, route like those that are not."""

import math
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from torchcaps import ops, votes
from torchcaps.layers import CapsuleLayer
from torchcaps.ops import native, stored
from torchcaps.routing import ROUTINGS
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules


@settings(max_examples=40, deadline=None)
@given(*[st.integers(1, 4)] * 6, *[st.booleans()] * 5)
def test_attend_stored_is_attend(b, i, x, a, j, y, biased, queried, prioritised, weighted, detach):
    torch.manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, dtype=torch.double, requires_grad=True)  # noqa: E731
    u, w = draw(b, 1, 1, i, a * x), draw(i, x, j * y)
    bias, query = draw(j, a * y) if biased else None, draw(b, 1, 1, j, a * y) if queried else None
    prior, weight = draw(1, 1, 1, i, j) if prioritised else None, draw(b, 1, 1, i) if weighted else None
    stored = ops.store(u, w, bias, j=j, rows=a)
    found = ops.attend_stored(stored, query, prior, weight, lead=(b, 1, 1), detach=detach)
    turned = (
        u.reshape(b, i, a, x).permute(1, 3, 2, 0),
        w,
        None if bias is None else bias.reshape(j, a, y, 1).permute(0, 2, 1, 3),
        None if query is None else query.reshape(b, j, a, y).permute(1, 3, 2, 0),
        None if prior is None else prior.reshape(i, j, 1),
        None if weight is None else weight.reshape(b, i).T,
    )
    s, mass = ops.plain_attend(*turned, j=j, detach=detach)
    expected = s.permute(3, 0, 2, 1).reshape(b, 1, 1, j, a * y), mass.T.reshape(b, 1, 1, j)
    leaves = [t for t in (u, w, bias, query, prior, weight) if t is not None]
    grads = []
    for outs in (found, expected):
        total = sum((o * (k + 1.5)).square().sum() for k, o in enumerate(outs))
        grads.append(torch.autograd.grad(total + 0 * sum(t.sum() for t in leaves), leaves))
    for mine, theirs in (*zip(found, expected, strict=True), *zip(*grads, strict=True)):
        torch.testing.assert_close(mine, theirs)


def few_votes(i, lead, a, j, y, dtype=torch.double, given=(True, True, True)):
    """Votes of some children and instances and, as far as given, a query, a prior of an image, and weights."""
    torch.manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, dtype=dtype, requires_grad=True)  # noqa: E731
    shapes = (*lead, j, a * y), (1, *lead[1:], i, j), (*lead, i)
    return draw(i, math.prod(lead), a, j, y), *(draw(*s) if g else None for s, g in zip(shapes, given, strict=True))


def both_ways(inputs, lead, *, detach=False, of=(0, 1)):
    """Outputs and gradients of one call, and of plain torch; `of` are the outputs that anybody uses."""
    leaves, runs = [t for t in inputs if t is not None], []
    for around in (nullcontext, ops.plainly):
        with around():
            outs = ops.attend_stored(*inputs, lead=lead, detach=detach)
        total = sum((outs[k] * (k + 1.5)).square().sum() for k in of) + 0 * inputs[0].sum()
        grads = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
        runs.append([*outs, *grads])
    return zip(*runs, strict=True)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.tuples(*[st.integers(1, 3)] * 3),
    *[st.integers(1, high) for high in (3, 20, 35)],
    st.tuples(*[st.booleans()] * 3),
    st.booleans(),
    st.sampled_from([(0, 1), (0,), (1,)]),
)
def test_one_call_does_what_plain_torch_does(i, lead, a, j, y, given, detach, of):
    """However many children, parents and numbers of a pose fill a vector, or do not."""
    for mine, theirs in both_ways(few_votes(i, lead, a, j, y, given=given), lead, detach=detach, of=of):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize(("i", "j", "y"), [(16, 16, 8), (512, 10, 16), (1, 20, 1), (37, 5, 12)])
def test_in_single_precision_and_with_several_threads(i, j, y):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for mine, theirs in both_ways(few_votes(i, (8, 1, 1), 1, j, y, torch.float32), (8, 1, 1)):
            torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4 * theirs.abs().max().item())
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("detach", [False, True])
def test_gradcheck_of_both_orders(detach):
    inputs = few_votes(3, (2, 1, 1), 2, 3, 2)
    call = lambda *tensors: ops.attend_stored(*tensors, lead=(2, 1, 1), detach=detach)  # noqa: E731
    assert detach or torch.autograd.gradcheck(call, inputs)
    runs = [second_order(around, inputs, detach=detach) for around in (nullcontext, ops.plainly)]
    for mine, theirs in zip(*runs, strict=True):
        torch.testing.assert_close(mine, theirs)


def second_order(around, inputs, *, detach):
    """The gradient of a gradient's length, where the query depends on the votes itself."""
    v, query, *others = inputs
    with around():
        s, mass = ops.attend_stored(v, query * v.sum(), *others, lead=(2, 1, 1), detach=detach)
    first = torch.autograd.grad(s.square().sum() + mass.square().sum(), inputs, create_graph=True, allow_unused=True)
    length = sum(g.square().sum() for g in first if g is not None)
    return torch.autograd.grad(length, inputs, allow_unused=True, materialize_grads=True)


def test_half_precision_is_plain_torchs():
    for mine, theirs in both_ways(few_votes(3, (2, 1, 1), 1, 3, 4, torch.bfloat16), (2, 1, 1)):
        assert torch.equal(mine, theirs)


def test_votes_and_queries_of_other_shapes_are_refused():
    if ops.status() != "native":
        pytest.skip(ops.status())
    v, query, prior, weight = few_votes(3, (2, 1, 1), 1, 3, 4)
    for wrong in ((v, query[:1], prior, weight), (v[:, :1], query, prior, weight), (v.mT, query, prior, weight)):
        with pytest.raises(RuntimeError, match="must be"):
            torch.ops.torchcaps.attend_stored(*wrong, (2, 1, 1), False)


@pytest.mark.parametrize("name", ROUTINGS)
@pytest.mark.parametrize("window", [None, 2])
def test_a_layer_routes_few_instances_like_many(name, window, monkeypatch):
    """And the votes are made once, not in every iteration."""
    torch.manual_seed(0)
    children = CapsShape((2, 2), 3, 16)
    options = {} if window is None else {"window": 2, "stride": 2, "padding": 1}
    layer = CapsuleLayer(children, 4, 5, routing=ROUTINGS[name], **options).double()
    pose = torch.randn(1 + (window is None), 2, 2, 3, 16, dtype=torch.double, requires_grad=True)
    below = Capsules(pose, torch.rand(len(pose), 2, 2, 3, dtype=torch.double))
    leaves, runs, made = [pose, layer.weight], [], []
    store = ops.store
    monkeypatch.setattr(ops, "store", lambda *args, **options: made.append(1) or store(*args, **options))
    for worth in (ops.worth_storing, lambda w, **sizes: False):
        monkeypatch.setattr(votes.ops, "worth_storing", worth)
        [[state]] = sequential([layer], below)
        grads = torch.autograd.grad(state.pose.square().sum() + state.act.sum(), leaves)
        runs.append([state.pose, state.act, *grads])
    for mine, theirs in zip(*runs, strict=True):
        torch.testing.assert_close(mine, theirs)
    assert len(made) == (name in ("dynamic", "inverted_attention", "self_attention", "self_routing"))


def test_children_that_were_gathered_are_stored_as_they_were(monkeypatch):
    """Also where the window is the grid, whose children are else taken from where they lie."""
    torch.manual_seed(0)
    layer = CapsuleLayer(CapsShape((2, 2), 3, 4), 5).double()
    below = Capsules(torch.randn(2, 2, 2, 3, 4).double(), torch.rand(2, 2, 2, 3).double())
    gathered, query = torch.randn(2, 1, 1, 12, 4).double(), torch.randn(2, 1, 1, 5, 4).double()
    runs = []
    for worth in (ops.worth_storing, lambda w, **sizes: False):
        monkeypatch.setattr(votes.ops, "worth_storing", worth)
        runs.append(replace(layer.votes(below), gathered=gathered).attend(query)[0])
    torch.testing.assert_close(*runs)


@pytest.mark.parametrize("name", ROUTINGS)
@pytest.mark.parametrize("bias", [False, True])
def test_a_layer_routes_alike_with_the_stored_votes_of_large_poses(name, bias, monkeypatch):
    """Many windows, whose votes are larger than their maps; they are made once for several iterations."""
    if native.status() != "native":
        pytest.skip(f"here serves {native.status()}")
    torch.manual_seed(0)
    layer = CapsuleLayer(CapsShape((5, 5), 3, 32), 12, 8, window=3, routing=ROUTINGS[name], vote_bias=bias).double()
    pose = torch.randn(4, 5, 5, 3, 32, dtype=torch.double, requires_grad=True)
    below = Capsules(pose, torch.rand(4, 5, 5, 3, dtype=torch.double))
    leaves, runs, made = [pose, *layer.parameters()], [], []
    store = ops.store
    monkeypatch.setattr(ops, "store", lambda *args, **options: made.append(1) or store(*args, **options))
    for worth in (ops.worth_storing, lambda w, **sizes: False):
        monkeypatch.setattr(votes.ops, "worth_storing", worth)
        [[state]] = sequential([layer], below)
        loss = state.pose.square().sum() + state.act.sum()
        runs.append([state.pose, state.act, *torch.autograd.grad(loss, leaves, allow_unused=True)])
    for mine, theirs in zip(*runs, strict=True):
        torch.testing.assert_close(mine, theirs)
    assert len(made) == (name in ("dynamic", "inverted_attention"))


def test_votes_are_stored_where_they_are_no_larger_than_their_maps():
    large = torch.zeros(512, 64, 640)
    assert [ops.worth_storing(large, instances=m, rows=1) for m in (0, 1, 64, 65)] == [False, True, True, False]
    assert [ops.worth_storing(large, instances=m, rows=4) for m in (16, 17)] == [True, False]
    assert not ops.worth_storing(large.to("meta"), instances=32, rows=1)


def test_votes_of_large_poses_are_stored_for_several_steps_while_they_fit(monkeypatch):
    monkeypatch.setattr(stored, "MOST", 4 * 100 * 16 * 320)
    large = torch.zeros(16, 32, 320)
    assert ops.worth_storing(large, instances=100, rows=1, steps=2) is (native.status() == "native")
    assert not ops.worth_storing(large, instances=101, rows=1, steps=2)
    assert not ops.worth_storing(large.double(), instances=100, rows=1, steps=2)
    assert not ops.worth_storing(large, instances=100, rows=1, steps=1)
    assert not ops.worth_storing(large[:, :31], instances=100, rows=1, steps=2)
    monkeypatch.setattr(native, "status", lambda: "plain torch: as the test wants it")
    assert not ops.worth_storing(large, instances=100, rows=1, steps=2)


def test_a_compiler_is_not_asked_how_large_a_batch_is(monkeypatch):
    w = torch.zeros(4, 4, 8)
    assert ops.worth_storing(w, instances=1, rows=1)
    assert not ops.worth_storing(w.to("meta"), instances=1, rows=1)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert not ops.worth_storing(w, instances=1, rows=1)


def test_so_few_votes_are_stored_whatever_their_maps():
    """Up to 65,536 numbers."""
    small = torch.zeros(64, 8, 64)
    assert [ops.worth_storing(small, instances=m, rows=1) for m in (16, 17)] == [True, False]


def test_a_card_stores_no_votes():
    """However few they are: there the kernels serve. A tensor without memory stands for the card's."""
    with FakeTensorMode():
        for device, stored in (("cpu", True), ("cuda", False)):
            assert ops.worth_storing(torch.empty(512, 16, 160, device=device), instances=1, rows=1) is stored
