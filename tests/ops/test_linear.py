"""Scores and combinations of votes, against sums that are written out."""

import torch

from torchcaps import ops

I, X, A, M, J, Y = 3, 2, 2, 4, 5, 3


def votes(u, w, bias):
    """û of child i for parent j, (i j y a m)."""
    return torch.einsum("ixam,ixjy->ijyam", u, w.reshape(I, X, J, Y)) + bias


def drawn(*shape):
    return torch.randn(*shape, dtype=torch.double)


def test_agreement_less_weighted_squares_of_distances():
    u, w, bias = drawn(I, X, A, M), drawn(I, X, J * Y), drawn(J, Y, A, 1)
    query, centre, precision = (drawn(J, Y, A, M) for _ in range(3))
    v = votes(u, w, bias)
    agreement = (v * query).sum((2, 3))
    torch.testing.assert_close(ops.score(u, w, bias, query, None, None, j=J), agreement)
    distance = (precision * (v - centre) ** 2).sum((2, 3))
    torch.testing.assert_close(ops.score(u, w, bias, None, centre, precision, j=J), -distance)
    torch.testing.assert_close(ops.score(u, w, bias, query, centre, precision, j=J), agreement - distance)


def test_votes_combined():
    u, w, bias, r = drawn(I, X, A, M), drawn(I, X, J * Y), drawn(J, Y, A, 1), drawn(I, J, M)
    expected = torch.einsum("ijm,ijyam->jyam", r, votes(u, w, bias))
    torch.testing.assert_close(ops.combine(u, w, bias, r, j=J), expected)
