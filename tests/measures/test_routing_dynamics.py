"""Routing dynamics on routes written by hand, and against a loop over children and their windows."""

import math
import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.measures.scripted import Numbered, Scripted
from torchcaps.measures import RoutingDynamics, walk
from torchcaps.routing import InvertedAttention, Trainable

CONV = {"window": 2, "stride": 1, "padding": 1}


def measured(acts, couplings, order=None, batch_size=256, **options):
    net = Scripted(acts, couplings, **options)
    data = Numbered(range(len(acts[0])) if order is None else order)
    return walk(net, data, [RoutingDynamics()], batch_size=batch_size)[0]


def alive(images, n, dead=()):
    act = torch.full((images, 1, 1, n), 0.5)
    act[..., list(dead)] = 0
    return act


def routes(*targets, parents):
    """Children that go to exactly one parent: a row of targets for each image."""
    return torch.nn.functional.one_hot(torch.tensor(targets), parents)[:, None, None].float()


@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_perfect_routing_scores_one_and_a_constant_one_nothing(n):
    """The first child goes to each parent equally often, the second never changes its mind."""
    coupling = routes(*[[k, 0] for k in range(n)], parents=n)
    [found] = measured([alive(n, 2), alive(n, n)], [coupling]).layers
    assert found.living.by_capsule == pytest.approx((1.0, 0.0))
    assert found.printed.by_capsule == pytest.approx((1.0, 0.0))
    assert (found.living.dyr, found.living.dys) == pytest.approx((0.5, n / 2))
    shared = torch.full((n, 1, 1, 2, n), 1 / n)
    assert measured([alive(n, 2), alive(n, n)], [shared]).layers[0].printed.dyr == 0


def test_the_dead_leave_without_renormalising():
    """Four parents of which two are dead, three children of which one is."""
    coupling = routes([0, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 0], parents=4)
    [found] = measured([alive(4, 3, dead=[2]), alive(4, 4, dead=[2, 3])], [coupling]).layers
    assert found.alive == 2
    assert found.living.by_capsule == pytest.approx((1.0, 0.0, None))
    assert (found.living.dyr, found.living.dys) == pytest.approx((0.5, 1.0))
    perfect = math.sqrt(3 / 4 / 4)
    assert found.printed.by_capsule == pytest.approx((2 * 0.5 / 4 / perfect, 0, 2 * 0.5 / 4 / perfect))
    assert found.printed.dys == pytest.approx(4 * found.printed.dyr)


def test_one_living_parent_is_undefined():
    [found] = measured([alive(4, 1), alive(4, 2, dead=[1])], [routes([0], [1], [0], [1], parents=2)]).layers
    assert (found.living.dyr, found.living.by_capsule) == (None, (None,))
    assert found.printed.dyr == pytest.approx(1)
    [only] = measured([alive(2, 3), alive(2, 1)], [torch.ones(2, 1, 1, 3, 1)]).layers
    assert only.printed.dyr is None


def places(grid, window, stride, padding):
    """For each parent's position and place in its window the child's row and column; None for padding."""
    rows, cols = ((g + 2 * padding - window) // stride + 1 for g in grid)
    for r in range(rows):
        for c in range(cols):
            for k in range(window):
                for m in range(window):
                    y, x = r * stride - padding + k, c * stride - padding + m
                    inside = 0 <= y < grid[0] and 0 <= x < grid[1]
                    yield r, c, k * window + m, (y, x) if inside else None


def twin(acts, coupling, *, grid_wide, living, gone=0.01):
    """dyr of each child by the formula, child by child."""
    _, h, w, n = acts[0].shape
    j = coupling.shape[-1]

    def dies(values):
        return statistics.mean(values) <= gone and statistics.pstdev(values) <= gone

    found = []
    for y in range(h):
        for x in range(w):
            for t in range(n):
                if living and dies(acts[0][:, y, x, t].tolist()):
                    found.append(None)
                    continue
                groups = {}
                for r, c, at, child in places((h, w), 2, 1, 1):
                    if child != (y, x):
                        continue
                    for p in range(j):
                        if living and dies(acts[1][:, r, c, p].tolist()):
                            continue
                        key = 0 if grid_wide else (r, c)
                        groups.setdefault(key, []).append(coupling[:, r, c, at * n + t, p].tolist())
                each = []
                for group in groups.values():
                    m = len(group)
                    if m > 1:
                        each.append(sum(map(statistics.pstdev, group)) / m / math.sqrt((1 - 1 / m) / m))
                found.append(statistics.mean(each) if each else None)
    return found


@pytest.mark.parametrize("competition", ["window", "grid"])
def test_convolutional_layers_equal_a_loop(competition):
    images, grid, n, j = 6, (2, 3), 2, 3
    acts = [torch.rand(images, *grid, n), torch.rand(images, 3, 4, j)]
    acts[0][:, 0, 1, 1] = 0
    acts[1][:, 0] = 0  # a row of dead parents
    acts[1][:, 1, 1, 1:] = 0
    coupling = torch.rand(images, 3, 4, 4 * n, j)
    options = [{**CONV, "competition": competition}]
    net = Scripted([*acts, torch.rand(images, 1, 1, 2)], options=[*options, {}])
    net.couplings = [coupling, torch.rand(images, 1, 1, 12 * j, 2)]
    found = walk(net, Numbered(range(images)), [RoutingDynamics()], batch_size=4)[0].layers[0]
    wide = competition == "grid"
    for part, living in ((found.living, True), (found.printed, False)):
        expected = twin(acts, coupling, grid_wide=wide, living=living)
        assert part.by_capsule == pytest.approx(expected)
        assert part.dyr == pytest.approx(statistics.mean(v for v in expected if v is not None))


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(12)), st.integers(1, 12), st.integers(0, 5))
def test_order_and_batch_size_do_not_matter(order, batch_size, seed):
    torch.manual_seed(seed)
    acts = [torch.rand(12, 1, 1, 3), torch.rand(12, 1, 1, 4)]
    coupling = torch.randn(12, 1, 1, 3, 4).softmax(-1)
    [found] = measured(acts, [coupling], order, batch_size).layers
    [plain] = measured(acts, [coupling]).layers
    assert found.living.by_capsule == pytest.approx(plain.living.by_capsule, rel=1e-9)
    assert (found.printed.dyr, found.printed.dys) == pytest.approx((plain.printed.dyr, plain.printed.dys), rel=1e-9)


def test_what_does_not_compete_is_not_measured():
    acts, coupling = [alive(3, 2), alive(3, 2)], [routes([0, 1], [0, 1], [0, 1], parents=2)]
    nothing = measured(acts, coupling, routing=Trainable)
    assert "the couplings of Trainable do not sum to one" in nothing.why
    acts3, both = [*acts, alive(3, 2)], [*coupling, routes([0, 0], [1, 0], [0, 0], parents=2)]
    first, second = measured(acts3, both, options=[{"routing": Trainable}, {}]).layers
    assert (first.printed, first.living) == (None, None)
    assert "the couplings of Trainable do not sum to one" in first.why
    assert second.printed.by_capsule == pytest.approx((2 * math.sqrt(2) / 3, 0))  # two deviations of √2/3 over 2 · ½
    [normed] = measured(acts, coupling, routing=InvertedAttention).layers
    assert normed.living is None
    assert normed.printed.dyr == 0
    assert "it is not known which capsules are dead: InvertedAttention" in normed.why
