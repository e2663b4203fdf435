"""Votes: what is the same for several images, positions or children may be given once."""

import itertools

import pytest
import torch

from torchcaps.layers import CapsuleLayer
from torchcaps.ops import stored
from torchcaps.types import CapsShape, Capsules

SIZES = 2, 2, 3, 8, 3  # images, rows, columns, children of a window, parents


@pytest.mark.parametrize("shared", list(itertools.product([False, True], repeat=4)), ids=str)
def test_a_prior_that_is_shared_is_the_same_written_out(shared, monkeypatch):
    monkeypatch.setattr(stored, "TINY", 0)
    layer = CapsuleLayer(CapsShape((3, 4), 2, 4), 3, 5, window=2).double()
    pose = torch.randn(2, 3, 4, 2, 4, dtype=torch.double)
    prior = torch.randn([1 if once else size for size, once in zip(SIZES, (*shared, False), strict=True)]).double()
    query = torch.randn(2, 2, 3, 3, 5, dtype=torch.double)
    votes = layer.votes(Capsules(pose, pose.norm(dim=-1)))
    couplings = votes.attention(query, prior.expand(SIZES))
    found, mass = votes.attend(query, prior=prior)
    torch.testing.assert_close(mass, couplings.sum(-2))
    torch.testing.assert_close(found, votes.combine(couplings))
