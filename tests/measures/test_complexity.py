"""Costs that are known, laws that are exact, and contenders that compute the same."""

import numpy as np
import pytest
import torch

from torchcaps.measures import complexity, iterations
from torchcaps.measures._contenders import Dense, Fused
from torchcaps.measures._cost import cost
from torchcaps.measures._fit import fit, powers, shares
from torchcaps.models import create_model


def test_peak_memory_is_what_was_held_at_once():
    def call():
        a = torch.zeros(1000)  # 4,000 bytes, and 8,000 in passing
        b = torch.zeros(2000)
        del b
        c = torch.zeros(500)
        return a, c

    assert cost(call, seconds=0.01).peak_bytes == 12_000


def test_dense_and_fused_compute_the_same():
    fused, dense = Fused(6, 4), Dense(6, 4)
    dense.load_state_dict(fused.state_dict())
    u = torch.randn(3, 6, 4)
    torch.testing.assert_close(fused(u), dense(u), atol=1e-5, rtol=1e-4)


@pytest.fixture
def no_stored_votes(monkeypatch):
    """As for networks of usual size: those here are so small that their votes would be kept."""
    monkeypatch.setattr("torchcaps.ops.stored._may_be_stored", lambda w: False)


@pytest.mark.usefixtures("no_stored_votes")
def test_counts_are_the_table():
    """Parameters n²d² and 4d²; multiply-adds n²d² + 5n²d, and 2n²d + 4nd² with one head."""
    found = {c.name: c for c in complexity((8, 16, 24), (4, 8, 12), batch=2, seconds=0.001).contenders}
    for point in found["RBA, dense"].points:
        n, d = point.n, point.d
        assert (point.parameters, point.multiply_adds) == (n**2 * d**2, n**2 * d**2 + 5 * n**2 * d)
    for point in found["MHSA"].points:
        n, d = point.n, point.d
        assert (point.parameters, point.multiply_adds) == (4 * d**2, 2 * n**2 * d + 4 * n * d**2)
    laws = {(name, law.quantity): law for name, c in found.items() for law in c.laws}
    assert laws["RBA, fused", "parameters"].n.value == pytest.approx(2)
    assert laws["RBA, fused", "parameters"].d.value == pytest.approx(2)
    assert laws["MHSA", "parameters"].d.value == pytest.approx(2)
    terms = {
        name: {term: round(of.value, 6) for term, of in laws[name, "multiply_adds"].terms}
        for name in ("RBA, dense", "MHSA")
    }
    assert terms == {"RBA, dense": {"n²d²": 1, "n²d": 5}, "MHSA": {"n²d": 2, "nd²": 4}}
    fused, dense = (laws[f"RBA, {kind}", "peak_bytes"].n.value for kind in ("fused", "dense"))
    assert fused < dense - 0.5  # votes are never stored
    assert all(p.seconds > 0 for c in found.values() for p in c.points)


def test_intervals_hold_what_they_promise():
    """Of 200 noisy lines, about 95 % of the intervals hold the truth."""
    rng, held = np.random.default_rng(0), 0
    x = np.linspace(1, 10, 12)
    for _ in range(200):
        y = 2 + 3 * x + rng.normal(size=12)
        slope = fit([np.ones(12).tolist(), x.tolist()], y.tolist())[1]
        held += slope.low <= 3 <= slope.high
    assert 182 <= held <= 198
    exact = powers(
        [[1, 2, 4, 8, 3], [1, 1, 2, 3, 5]],
        [7 * a**1.5 / b for a, b in zip((1, 2, 4, 8, 3), (1, 1, 2, 3, 5), strict=True)],
    )
    assert [e.value for e in exact] == pytest.approx([1.5, -1])
    assert [e.value for e in shares([[1.0, 2.0, 3.0], [1.0, 4.0, 9.0]], [5.0, 14.0, 27.0])] == pytest.approx([3, 2])
    with pytest.raises(ValueError, match="2 points are too few to fit 2 numbers"):
        fit([[1, 1], [1, 2]], [1.0, 2.0])


@pytest.mark.usefixtures("no_stored_votes")
def test_iterations_cost_time_and_memory():
    def build(iters):
        return create_model("tsai2020/em_simple", width=0.1, iters=iters)

    told = []
    found = iterations(build, torch.rand(4, 3, 32, 32), counts=(1, 4), seconds=0.05, progress=lambda *p: told.append(p))
    one, four = found.points
    assert (one.iterations, four.iterations) == (1, 4)
    assert min(one.seconds, four.seconds) > 0
    assert four.training_peak_bytes > one.training_peak_bytes
    assert told == [(1, 2), (2, 2)]
