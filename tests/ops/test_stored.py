"""Votes that are stored, for few instances, route like those that are not."""

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
