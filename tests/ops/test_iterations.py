"""Iterations with one gradient, against iterations that are plain torch each; and the pieces it is made of."""

import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.agreement import close, double, draw, gradients
from torchcaps import ops
from torchcaps.layers import CapsuleLayer
from torchcaps.ops.attend import attend_pass
from torchcaps.types import CapsShape, Capsules

PAPERS = [(9, 8, 1, 37, 10, 16), (20, 8, 1, 9, 3, 8), (6, 16, 1, 5, 4, 16), (9, 4, 4, 21, 5, 4)]
GROUPS = [(5, 8, 1, 100, 100, 16), (4, 8, 1, 300, 20, 16), (4, 4, 4, 300, 9, 4)]
KINDS = [torch.float64, torch.float32]


def inputs_of(sizes, dtype=torch.float64, *, bias=True, scale=0.3):
    return draw("attend", sizes, dtype=dtype, present=(bias, False, False, False, False), scale=scale)[:3]


def queries_from(attend, times):
    """Dynamic routing in little: each query is the sum of what was found, and the masses count too."""
    query, found = None, []
    for t in range(times):
        s, mass = attend(query, t)
        found += [s, mass]
        query = 0.1 * torch.tanh(s) if query is None else query + 0.1 * torch.tanh(s) * torch.tanh(mass)[:, None, None]
    return found


def merged(inputs, j, times):
    slots = ops.slots(*inputs, j=j, count=times)

    def attend(query, t):
        known = ops.plain_attend(*(None if t is None else t.detach() for t in inputs), None, None, None, j=j)
        return ops.attend_in(slots[t], *inputs, query, j=j, known=known if query is None else None)

    return queries_from(attend, times)


def apart(inputs, j, times):
    return queries_from(lambda query, _: ops.plain_attend(*inputs, query, None, None, j=j), times)


def agree(sizes, times, dtype, **options):
    inputs = inputs_of(sizes, dtype, **options)
    exact = double(inputs)
    found, expected = merged(inputs, sizes[4], times), apart(exact, sizes[4], times)
    close(found, expected)
    mix = [torch.randn_like(out).to(dtype) for out in expected]
    close(gradients(found, inputs, mix), gradients(expected, exact, mix))


@settings(max_examples=80, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(1, n) for n in (9, 9, 4, 40, 6, 9))),
    times=st.integers(1, 4),
    dtype=st.sampled_from(KINDS),
    bias=st.booleans(),
)
def test_any_shape(sizes, times, dtype, bias):
    agree(sizes, times, dtype, bias=bias)


@pytest.mark.parametrize("dtype", KINDS, ids=str)
@pytest.mark.parametrize("sizes", PAPERS + GROUPS, ids=str)
def test_shapes_of_papers_and_several_groups_of_instances(sizes, dtype):
    agree(sizes, 3, dtype, scale=0.2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_summed_in_single(dtype):
    """The gradients are rounded once: nothing on the way was narrow."""
    u, w, bias = inputs_of((400, 3, 2, 3, 4, 5), dtype)
    query, g_sum, g_mass = torch.randn_like(u[:4, :1].expand(4, 5, 2, 3)), torch.randn(4, 5, 2, 3), torch.randn(4, 3)
    given = [t.detach() for t in (g_sum.to(dtype), g_mass.to(dtype), u, w, bias, query)]
    exact = [t.double() for t in given]
    with torch.no_grad():
        close([torch.ops.torchcaps.query_backward(*given, 4)], [torch.ops.torchcaps.query_backward(*exact, 4)])
        found, expected = (
            torch.ops.torchcaps.votes_backward([g], [gm], [q], g, *rest, 4) for g, gm, *rest, q in (given, exact)
        )
    close(found, expected)


@pytest.fixture
def _deterministic():
    torch.use_deterministic_algorithms(True)  # it also fills fresh memory with NaN: what a pass forgets to write shows
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("_deterministic")
def test_no_instance_gives_no_gradient():
    inputs = inputs_of((5, 3, 2, 0, 4, 5))
    found = merged(inputs, 4, 3)
    grads = torch.autograd.grad([out.sum() for out in found], inputs)
    assert all((grad == 0).all() for grad in grads)
    assert [grad.shape for grad in grads] == [t.shape for t in inputs]


def test_only_what_was_asked_for_is_added():
    """A loss of one iteration alone, and one backward pass after the other."""
    inputs = inputs_of((6, 4, 1, 7, 3, 4))
    found, expected = merged(inputs, 3, 3), apart(inputs, 3, 3)
    for at in (0, 2, 4, 4):
        ours = torch.autograd.grad(found[at].sum(), inputs, retain_graph=True)
        close(ours, torch.autograd.grad(expected[at].sum(), inputs, retain_graph=True))


def test_gradients_can_be_differentiated_again():
    inputs = inputs_of((3, 2, 2, 4, 3, 2))
    assert torch.autograd.gradgradcheck(lambda *leaves: merged(leaves, 3, 3), inputs, fast_mode=True)


def test_operators_keep_their_promises():
    u, w, bias = (t.detach() for t in inputs_of((5, 3, 2, 11, 4, 5), torch.float32))
    pose, mass = torch.randn(4, 5, 2, 11), torch.randn(4, 11)
    ops.status()
    torch.library.opcheck(torch.ops.torchcaps.query_backward, (pose, mass, u, w, bias, pose, 4))
    torch.library.opcheck(torch.ops.torchcaps.votes_backward, ([pose], [mass], [pose], None, u, w, None, 4))
    for wrong in (pose[..., :-1].contiguous(), pose.transpose(0, 1).contiguous(), pose.double()):
        with pytest.raises((ValueError, RuntimeError)):
            torch.ops.torchcaps.query_backward(wrong, mass, u, w, bias, pose, 4)
        with pytest.raises((ValueError, RuntimeError)):
            torch.ops.torchcaps.votes_backward([pose], [mass], [wrong], None, u, w, bias, 4)
        with pytest.raises((ValueError, RuntimeError)):
            torch.ops.torchcaps.votes_backward([pose], [mass], [pose], wrong, u, w, bias, 4)
    with pytest.raises((ValueError, RuntimeError)):
        torch.ops.torchcaps.votes_backward([pose], [], [pose], None, u, w, bias, 4)


def routed(layer, pose):
    [state] = layer.route(Capsules(pose, torch.ones_like(pose[..., 0])))
    return torch.autograd.grad(state.pose.square().sum() + state.act.sum(), [layer.weight, pose])


@pytest.mark.skipif(ops.status() != "native", reason=f"here serves {ops.status()}")
@pytest.mark.parametrize("window", [None, 2], ids=["connected", "convolutional"])
def test_a_layer_of_three_iterations_writes_the_gradient_of_its_maps_once(window, monkeypatch):
    layer = CapsuleLayer(CapsShape((4, 4), 4, 8), n=5, d=16, window=window, init_std=0.3).double()
    pose = torch.randn(20, 4, 4, 4, 8, dtype=torch.float64, requires_grad=True)
    with ops.plainly():
        expected = routed(layer, pose)
    calls = []
    own = torch.ops.torchcaps.votes_backward
    monkeypatch.setattr(
        torch.ops.torchcaps, "votes_backward", lambda *given: calls.append(len(given[2])) or own(*given)
    )
    for one, other in zip(routed(layer, pose), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)
    assert calls == [2]


@pytest.mark.skipif(ops.status() != "native", reason=f"here serves {ops.status()}")
def test_large_gradients_in_memory_that_is_used_again_are_nobody_elses():
    """Several threads take and free gradients of 34 MB at once; each keeps its own as long as it holds it."""
    u = torch.randn(1040, 8, 1, 2)
    w = torch.randn(1040, 8, 1024)
    zero = torch.zeros(64, 16, 1, 2)
    wrong = []

    def work(k):
        even = torch.full_like(zero, float(k + 1))
        for _ in range(4):
            _, dw, _ = torch.ops.torchcaps.votes_backward([], [], [], even, u, w, None, 64)
            again = torch.ops.torchcaps.votes_backward([], [], [], 2 * even, u, w, None, 64)[1]
            expected = (k + 1) * u.sum((2, 3))[..., None].expand_as(w)
            if not (torch.allclose(dw, expected, atol=1e-4) and torch.allclose(again, 2 * expected, atol=1e-4)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_plain_meaning_is_the_sum_of_the_iterations(monkeypatch):
    """Where nothing faster is registered; `attend_pass` alone says what the gradients are."""
    from torchcaps.ops import iterations

    inputs = inputs_of((5, 3, 2, 7, 4, 5))
    given = [t.detach() for t in inputs]
    pose, mass, query = torch.randn(4, 5, 2, 7).double(), torch.randn(4, 7).double(), torch.randn(4, 5, 2, 7).double()
    found = iterations._votes_backward([pose], [mass], [query], pose, *given, 4)
    found = [*found, iterations._query_backward(pose, mass, *given, query, 4)]
    asked = query.requires_grad_()
    outs = [*attend_pass(4, detach=False).forward(*inputs, asked, None, None)]
    even = attend_pass(4, detach=False).forward(*inputs, None, None, None)[0]
    loss = (outs[0] * pose).sum() + (outs[1] * mass).sum() + 4 * (even * pose).sum()
    close(found, torch.autograd.grad(loss, [*inputs, asked]))


def test_maps_that_all_children_share():
    u, query = torch.randn(6, 2, 1, 12, dtype=torch.float64), torch.randn(5, 3, 1, 12, dtype=torch.float64)
    own = torch.randn(1, 2, 15, dtype=torch.float64, requires_grad=True)
    slot = ops.slots(u, own.expand(6, 2, 15), None, j=5, count=1)[0]
    merged = ops.attend_in(slot, u, own.expand(6, 2, 15), None, query, j=5, known=None)
    alone = ops.attend(u, own.expand(6, 2, 15), None, query, None, None, j=5)
    found, wanted = (torch.autograd.grad(s.square().sum() + mass.sum(), own)[0] for s, mass in (merged, alone))
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize(("served", "merged"), [("native", True), ("plain torch: no C++ compiler", False)])
def test_iterations_are_merged_where_the_native_passes_serve(monkeypatch, served, merged):
    monkeypatch.setitem(ops._served, "cpu", served)
    assert ops.worth_merging(torch.ones(2, requires_grad=True), None, steps=3) is merged
