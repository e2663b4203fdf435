"""Votes: what is the same for several images, positions or children may be given once."""

import ast
import inspect
import itertools
import re
from pathlib import Path

import pytest
import torch
from einops import rearrange

from torchcaps.layers import CapsuleLayer
from torchcaps.ops import stored
from torchcaps.types import CapsShape, Capsules
from torchcaps.votes import Votes

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


@pytest.mark.parametrize("few", [0, 1 << 16], ids=["folded", "stored"])
@pytest.mark.parametrize("asked", [False, True], ids=["prior alone", "query and prior"])
@pytest.mark.parametrize("detach", [False, True])
def test_couplings_that_are_constants_let_no_gradient_through_to_the_prior(asked, detach, few, monkeypatch):
    monkeypatch.setattr(stored, "TINY", few)
    layer = CapsuleLayer(CapsShape((3, 4), 2, 4), 3, 5, window=2).double()
    pose = torch.randn(2, 3, 4, 2, 4, dtype=torch.double, requires_grad=True)
    prior = torch.randn(1, 1, 1, *SIZES[3:], dtype=torch.double, requires_grad=True)
    query = torch.randn(2, 2, 3, 3, 5, dtype=torch.double) if asked else None
    votes, leaves = layer.votes(Capsules(pose, pose.norm(dim=-1))), (pose, prior, layer.weight)
    c = (votes.attention(query, prior.expand(SIZES)) if asked else prior.softmax(-1)).expand(SIZES)
    expected = votes.combine(c.detach() if detach else c)
    found, _ = votes.attend(query, prior, detach=detach)
    mix = torch.randn_like(expected)
    torch.testing.assert_close(found, expected)
    for a, b in zip(
        *(torch.autograd.grad((s * mix).sum(), leaves, allow_unused=True) for s in (found, expected)), strict=True
    ):
        torch.testing.assert_close(
            torch.zeros_like(prior) if a is None else a, torch.zeros_like(prior) if b is None else b
        )


def test_every_pass_sees_the_children_that_were_gathered(monkeypatch):
    """Where they are others than those that lie in the window, as in the release of Apple's code."""
    monkeypatch.setattr(stored, "TINY", 0)
    layer = CapsuleLayer(CapsShape((3, 4), 2, 4), 3, 6, rows=2, window=2, compat="apple").double()
    pose = torch.randn(2, 3, 4, 2, 4, dtype=torch.double)
    votes = layer.votes(Capsules(pose, pose.norm(dim=-1)))
    couplings = torch.rand(SIZES, dtype=torch.double)
    assert not torch.equal(votes.gathered, layer.windows.gather(pose))
    u, w = rearrange(votes.gathered, "b h w i (a x) -> b h w i a x", a=2), layer.maps()
    said = rearrange(torch.einsum("bhwiax,ixv->bhwiav", u, w), "b h w i a (j y) -> b h w i j (a y)", j=3)
    torch.testing.assert_close(votes.combine(couplings), torch.einsum("bhwij,bhwijv->bhwjv", couplings, said))


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_what_is_said_to_parents_and_asked_of_them_has_the_rows_of_their_poses(rows):
    """Votes written out as u W with poses as matrices, beside those that no tensor holds: values and gradients."""
    layer = CapsuleLayer(CapsShape((3, 4), 2, 2 * rows), 3, 3 * rows, rows=rows, window=2).double()
    pose = torch.randn(2, 3, 4, 2, 2 * rows, dtype=torch.double, requires_grad=True)
    v, c = torch.randn(2, 2, 3, 3, 3 * rows, dtype=torch.double, requires_grad=True), torch.rand(SIZES).double()
    votes = layer.votes(Capsules(pose, pose.norm(dim=-1)))
    u = rearrange(layer.windows.gather(pose), "b h w i (a x) -> b h w i a x", a=rows)
    said = torch.einsum("bhwiax,ixv->bhwiav", u, layer.maps())
    said = rearrange(said, "b h w i a (j y) -> b h w i j (a y)", j=3)
    heard, asked = torch.einsum("bhwij,bhwijv->bhwjv", c, said), torch.einsum("bhwijv,bhwjv->bhwij", said, v)
    torch.testing.assert_close(votes.combine(c), heard)
    torch.testing.assert_close(votes.agree(v), asked)
    mix = torch.randn_like(heard), torch.randn_like(asked)
    grads = [
        torch.autograd.grad((a * mix[0]).sum() + (b * mix[1]).sum(), (pose, v, *layer.parameters()), allow_unused=True)
        for a, b in ((votes.combine(c), votes.agree(v)), (heard, asked))
    ]
    torch.testing.assert_close(*grads)


def test_the_page_tells_how_the_verbs_are_called():
    """Which of their arguments go by name alone."""
    rows = re.findall(r"^\| `(\w+)\((.*?)\)` \|", Path("docs/own-routing.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"score", "moments", "attend"} <= {name for name, _ in rows}
    for name, arguments in rows:
        given = ast.parse(f"def f({arguments}): pass").body[0].args
        kinds = {key: one.kind for key, one in inspect.signature(getattr(Votes, name)).parameters.items()}
        for one in given.args:
            assert kinds[one.arg] is inspect.Parameter.POSITIONAL_OR_KEYWORD, (name, one.arg)
        for one in given.kwonlyargs:
            assert kinds[one.arg] is inspect.Parameter.KEYWORD_ONLY, (name, one.arg)
