"""Fitted laws against scipy's regression and numpy's weighted polynomials."""

import numpy as np
import pytest
from scipy.stats import linregress, t

from torchcaps.measures._fit import fit, powers, shares


@pytest.fixture
def noise():
    return np.random.default_rng(4).normal(size=9)


def test_a_line_and_its_intervals_are_scipys(noise):
    x = np.arange(9.0)
    y = 2 + 0.5 * x + noise
    theirs = linregress(x, y)
    reach = t.ppf(0.975, 7)
    ours = fit([np.ones(9).tolist(), x.tolist()], y.tolist())
    pairs = ((theirs.intercept, theirs.intercept_stderr), (theirs.slope, theirs.stderr))
    for one, (value, error) in zip(ours, pairs, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((value, value - reach * error, value + reach * error))


def test_a_power_is_a_line_through_logarithms(noise):
    n = 2.0 ** np.arange(9)
    cost = 7 * n**1.5 * np.exp(0.1 * noise)
    [ours] = powers([n.tolist()], cost.tolist())
    theirs = linregress(np.log(n), np.log(cost))
    assert ours.value == pytest.approx(theirs.slope)
    assert ours.high - ours.value == pytest.approx(t.ppf(0.975, 7) * theirs.stderr)


def test_every_point_counts_by_its_relative_error(noise):
    """Over six decades: numpy's polynomial with weights of one over each value."""
    x = 10.0 ** np.linspace(0, 3, 9)
    y = (5 * x + 2 * x**2) * (1 + 0.1 * noise)
    ours = shares([x.tolist(), (x**2).tolist()], y.tolist())
    slope, start = np.polyfit(x, y / x, 1, w=x / y)  # y / x = 5 + 2 x, of the same relative errors
    assert [one.value for one in ours] == pytest.approx([start, slope])
    absolute = np.linalg.lstsq(np.stack([x, x**2], 1), y, rcond=None)[0]
    assert abs(absolute[0] / start - 1) > 0.1  # they do differ here
