import pytest

from tests.routing.twins import KINDS, assert_twin, norm, softmax, squash_exp
from torchcaps.routing import SelfAttention


def twin(routing, votes, children, position):
    parents, kids, d = range(len(votes[0])), range(len(children)), len(votes[0][0])
    agreement = [[sum(votes[i][j] @ votes[k][j] for k in kids) / d**0.5 for j in parents] for i in kids]
    c = [softmax(row) for row in agreement]
    c = [[c[i][j] + routing.prior[0, 0, child.index, j, 0] for j in parents] for i, child in enumerate(children)]
    poses = [squash_exp(sum(c[i][j] * votes[i][j] for i in kids)) for j in parents]
    return poses, [norm(v) for v in poses], c


@pytest.mark.parametrize("kind", KINDS)
def test_equals_its_twin(kind):
    assert_twin(twin, SelfAttention, kind)
