from functools import partial

import pytest

from tests.routing.twins import KINDS, assert_twin, softmax
from torchcaps.routing import SelfRouting


def twin(routing, votes, children, position):
    parents, kids = range(len(votes[0])), range(len(children))
    c = []
    for child in children:
        logits = child.pose @ routing.gate[child.index]
        if routing.bias is not None:
            logits = logits + routing.bias[child.index]
        c.append(softmax(list(logits)))
    weight = [[c[i][j] * children[i].act for j in parents] for i in kids]
    total = [sum(weight[i][j] for i in kids) for j in parents]
    poses = [sum(weight[i][j] * votes[i][j] for i in kids) / total[j] for j in parents]
    return poses, [t / sum(child.act for child in children) for t in total]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [False, True])
def test_equals_its_twin(kind, bias):
    assert_twin(twin, partial(SelfRouting, bias=bias), kind)
