"""The capsule layer: fully connected and convolutional, shared and not, folded and dense are one thing."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from torchcaps import ops
from torchcaps.functional import length, squash
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import ROUTINGS, Dynamic, Uniform
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules

each_routing = pytest.mark.parametrize("name", ROUTINGS)


def children(shape, batch=2):
    pose = torch.randn(batch, *shape.grid, shape.n, shape.d, dtype=torch.double)
    return Capsules(pose, length(pose))


def run(layer, below, record="none"):
    return sequential([layer], below, record)[-1][-1]


def test_window_as_large_as_the_grid_is_fully_connected():
    """Against dynamic routing written for fully connected vectors, as in the papers."""
    layer = CapsuleLayer(CapsShape((3, 2), 4, 5), 3, 6, window=(3, 2)).double()
    below = children(layer.shape_in)
    u = below.pose.reshape(2, 24, 5)
    w = layer.weight.reshape(24, 5, 3, 6)
    votes = torch.einsum("bix,ixjy->bijy", u, w)
    logits = torch.zeros(2, 24, 3, dtype=torch.double)
    for _ in range(3):
        v = squash(torch.einsum("bij,bijy->bjy", logits.softmax(2), votes))
        logits = logits + torch.einsum("bijy,bjy->bij", votes, v)
    torch.testing.assert_close(run(layer, below).pose[:, 0, 0], v)


@each_routing
def test_a_layer_can_be_called(name):
    """By itself it does what the sequential schedule has it do, iteration by iteration."""
    layer = CapsuleLayer(CapsShape((4, 4), 2, 4), 3, 4, window=3, padding=1, routing=ROUTINGS[name])
    below = Capsules(*(t.float() for t in children(layer.shape_in)))
    above = layer(below)
    votes, state = layer.votes(below), None
    for t in range(layer.routing.iters):
        state = layer.step(votes, state, t, record=True)
    assert torch.equal(above.pose, state.pose)
    assert torch.equal(above.act, state.act)
    for record, states in (("none", 1), ("last", 1), ("all", layer.routing.iters)):
        kept = layer.route(below, record)
        assert len(kept) == states
        assert torch.equal(kept[-1].pose, above.pose)
        assert (kept[-1].coupling is None) == (record == "none")
    assert torch.equal(kept[-1].coupling, state.coupling)


@each_routing
@pytest.mark.parametrize("share", ["position", "all"])
def test_shared_is_unshared_with_tied_weights(name, share):
    shape = CapsShape((4, 4), 3, 4)
    build = partial(CapsuleLayer, shape, 2, 6, rows=2, window=3, routing=ROUTINGS[name])
    shared, free = build(share=share).double(), build().double()
    assert shared.weight.shape[0] == {"position": 3, "all": 1}[share]
    with torch.no_grad():
        for k in range(9):
            for n in range(3):
                free.weight[k * 3 + n] = shared.weight[n if share == "position" else 0]
    free.routing.load_state_dict(shared.routing.state_dict())
    below = children(shape)
    torch.testing.assert_close(run(shared, below), run(free, below))


@each_routing
def test_translating_the_input_translates_the_capsules(name):
    shape = CapsShape((6, 7), 2, 4)
    layer = CapsuleLayer(shape, 3, 4, window=3, routing=ROUTINGS[name]).double()
    below = children(shape)
    moved = Capsules(below.pose.roll((1, 2), (1, 2)), below.act.roll((1, 2), (1, 2)))
    here, there = run(layer, below), run(layer, moved)
    torch.testing.assert_close(there.pose[:, 1:, 2:], here.pose[:, :-1, :-2])
    torch.testing.assert_close(there.act[:, 1:, 2:], here.act[:, :-1, :-2])


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize(
    "geometry",
    [
        {"window": 3},
        {"window": 3, "padding": 1, "stride": 2},
        {"window": (3, 2), "padding": (0, 1), "stride": (1, 2)},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 4), (2, 3, 1), (2, 3, 4), "one number"], ids=str)
@pytest.mark.parametrize("gathered", [False, True], ids=["convolved", "gathered"])
def test_folding_is_combining(rows, weighted, geometry, shape, gathered, monkeypatch):
    """Couplings without a batch axis fold into the weights and give what the dense ones give."""
    monkeypatch.setattr(ops, "worth_gathering", lambda w, **sizes: gathered)
    layer = CapsuleLayer(CapsShape((4, 5), 2, 4), 3, 4, rows=rows, vote_bias=True, **geometry).double()
    votes = layer.votes(children(layer.shape_in))
    grid, i = layer.shape_out.grid, layer.windows.i
    h, w, d = (1, 1, 1) if shape == "one number" else shape
    if (h, w) != (1, 1):
        h, w = grid
    c = torch.randn(h, w, *((1, 1) if shape == "one number" else (i, 3)), d, dtype=torch.double)
    folded, mass = votes.fold(c, weighted=weighted)
    present = 1.0 if layer.windows.missing is None else (~layer.windows.missing).double()
    weight = (votes.act if weighted else torch.ones(2, *grid, i, dtype=torch.double)) * present
    dense = (c * weight[..., None, None]).expand(2, *grid, i, 3, d)
    parts = [votes.combine(dense[..., k])[..., k if d > 1 else slice(None)] for k in range(d)]
    torch.testing.assert_close(folded, torch.stack(parts, -1) if d > 1 else parts[0])
    torch.testing.assert_close(mass, dense.sum(3).mean(-1))


def test_folding_leaves_the_numbers_of_a_position_side_by_side(monkeypatch):
    """As poses are: neither they nor the parents are copied into another order around the convolution."""
    monkeypatch.setattr(ops, "worth_gathering", lambda w, **sizes: False)
    layer = CapsuleLayer(CapsShape((4, 5), 2, 4), 3, 4, window=3).double()
    folded, _ = layer.votes(children(layer.shape_in)).fold(torch.ones(1, 1, 1, 1, 1, dtype=torch.double))
    assert folded.is_contiguous()


@pytest.mark.parametrize("images", [2, 3])
def test_windows_are_gathered_where_they_are_no_larger_than_the_maps(images, monkeypatch):
    """Then no convolution lays the maps out anew; gradients are the same."""
    layer = CapsuleLayer(CapsShape((4, 5), 2, 4), 3, 4, window=3).double()  # six windows, twelve columns
    below = children(layer.shape_in, images)
    below.pose.requires_grad_()
    convolve, convolved, found = ops.convolve, [], []
    monkeypatch.setattr(ops, "convolve", lambda *args, **options: convolved.append(1) or convolve(*args, **options))
    for worth in (ops.worth_gathering, lambda w, **sizes: False):
        monkeypatch.setattr(ops, "worth_gathering", worth)
        votes = layer.votes(below)
        s, _ = votes.fold(votes.uniform())
        found.append([s, *torch.autograd.grad(s.square().sum(), [below.pose, layer.weight])])
    assert len(convolved) == images - 1
    for gathered, other in zip(*found, strict=True):
        torch.testing.assert_close(gathered, other)


def test_neither_a_compiler_nor_a_card_is_asked_how_many_windows_there_are(monkeypatch):
    maps = torch.zeros(9, 4, 12)
    assert ops.worth_gathering(maps, instances=6, rows=2)
    assert not ops.worth_gathering(maps, instances=7, rows=2)
    assert not ops.worth_gathering(maps.to("meta"), instances=1, rows=1)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert not ops.worth_gathering(maps, instances=1, rows=1)


@each_routing
def test_competition_across_the_grid(name):
    """A child of several windows shares itself among all their parents; one window only is the usual softmax."""
    build = partial(CapsuleLayer, CapsShape((4, 4), 2, 4), 3, 4, routing=ROUTINGS[name], competition="grid")
    several, single = build(window=3, padding=1).double(), build().double()
    state = run(several, children(several.shape_in), "last")
    if several.routing.competes:
        total = torch.zeros(2, 17, 2, dtype=torch.double)
        at = several.windows.index.flatten()[None, :, None].expand(2, -1, 2)
        per_window = state.coupling.sum(-1).reshape(2, 4 * 4 * 9, 2)
        total.scatter_add_(1, at, per_window)
        torch.testing.assert_close(total[:, :16], torch.ones(2, 16, 2, dtype=torch.double))
    inside = CapsuleLayer(CapsShape((4, 4), 2, 4), 3, 4, routing=ROUTINGS[name]).double()
    inside.load_state_dict(single.state_dict())
    below = children(single.shape_in)
    torch.testing.assert_close(run(single, below)[:2], run(inside, below)[:2])


def test_grid_competition_equals_loops():
    layer = CapsuleLayer(CapsShape((3, 3), 1, 2), 2, 2, window=2, competition="grid").double()
    below = children(layer.shape_in, batch=1)
    logits = torch.zeros(2, 2, 4, 2, dtype=torch.double)
    vote = [
        [[[below.pose[0, h + k // 2, w + k % 2, 0] @ layer.weight[k].reshape(2, 2, 2)[:, j] for j in range(2)]
          for k in range(4)] for w in range(2)] for h in range(2)
    ]  # fmt: skip
    for _ in range(3):
        c = torch.zeros_like(logits)
        for row in range(3):
            for col in range(3):
                seen = [(h, w, (row - h) * 2 + col - w) for h in range(2) for w in range(2)
                        if 0 <= row - h < 2 and 0 <= col - w < 2]  # fmt: skip
                share = torch.cat([logits[place] for place in seen]).softmax(0).reshape(-1, 2)
                for place, mine in zip(seen, share, strict=True):
                    c[place] = mine
        v = torch.zeros(2, 2, 2, 2, dtype=torch.double)
        for h in range(2):
            for w in range(2):
                for j in range(2):
                    v[h, w, j] = squash(sum(c[h, w, k, j] * vote[h][w][k][j] for k in range(4)))
                    for k in range(4):
                        logits[h, w, k, j] = logits[h, w, k, j] + vote[h][w][k][j] @ v[h, w, j]
    torch.testing.assert_close(run(layer, below).pose[0], v)


@settings(max_examples=40, deadline=None)
@given(
    grid=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    n=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pose=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
    stride=st.integers(1, 3),
    data=st.data(),
)
def test_any_shape_equals_explicit_votes(grid, n, pose, stride, data):
    rows, x, y = pose
    window = (data.draw(st.integers(1, grid[0])), data.draw(st.integers(1, grid[1])))
    layer = CapsuleLayer(
        CapsShape(grid, n[0], rows * x), n[1], rows * y, rows=rows, window=window, stride=stride, routing=Dynamic
    ).double()
    below = children(layer.shape_in)
    u = layer.windows.gather(below.pose).unflatten(-1, (rows, x))
    votes = torch.einsum("bhwiax,ixjy->bhwijay", u, layer.weight.unflatten(-1, (n[1], y))).flatten(-2)
    logits = torch.zeros(votes.shape[:-1], dtype=torch.double)
    for _ in range(3):
        v = squash((logits.softmax(-1)[..., None] * votes).sum(3))
        logits = logits + (votes * v[:, :, :, None]).sum(-1)
    torch.testing.assert_close(run(layer, below).pose, v)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 3}, "the child's pose of d=4 cannot have rows=3: d must be a multiple of rows"),
        ({"d": 5, "rows": 2}, "the parent's pose of d=5 cannot have rows=2"),
        ({"n": 0}, "n=0, rows=1 is not allowed"),
        ({"share": "some"}, "share='some' is not allowed: choose one of 'none', 'position', 'all'"),
        ({"competition": "none"}, "competition='none' is not allowed: choose one of 'window', 'grid'"),
        ({"compat": "google"}, "compat='google' is not allowed: choose one of 'none', 'apple'"),
        ({"window": 5}, "is larger than the grid"),
    ],
)
def test_bad_arguments_are_named(options, message, no_shape_checks):
    with pytest.raises(ValueError, match=message):
        CapsuleLayer(CapsShape((4, 4), 2, 4), **{"n": 3, **options})


def test_channels_last_leaves_the_weight_alone():
    layer = CapsuleLayer(CapsShape((2, 2), 2, 4), 3, routing=Uniform)
    stride = layer.weight.stride()
    assert layer.to(memory_format=torch.channels_last).weight.stride() == stride


def test_the_vote_bias_begins_at_a_tenth_and_follows_the_deviation_asked_for():
    build = partial(CapsuleLayer, CapsShape((2, 2), 2, 4), 3, 5, vote_bias=True)
    assert torch.equal(build().bias, torch.full((3, 5), 0.1))
    assert torch.equal(build(init_std=0.7).bias, torch.full((3, 5), 0.7))
