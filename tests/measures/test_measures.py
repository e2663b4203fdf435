"""What accuracy promises on every view of every network: a share with its interval, repeatable, network untouched."""

import pytest
import torch

from tests.measures.scripted import Eyes, specks
from torchcaps.data import Overlapping, Sign
from torchcaps.data.glyphs import load_glyphs
from torchcaps.measures import VIEWS, check_views, judge, measure
from torchcaps.models import create_model

MODELS = ("sabour2017/capsnet", "tsai2020/inverted_simple", "gu2021/convnet_avg", "gu2021/convnet_cr")


@pytest.fixture(scope="module")
def digits():
    return load_glyphs("test", 60)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("what", VIEWS)
def test_the_contract(name, what, digits):
    net = create_model(name, width=0.05, in_chans=1, image_size=28).train()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    told = []
    first = measure(net, [what], digits, batch_size=25, progress=lambda *progress: told.append(progress))
    again = measure(net, (what,), digits)
    assert first == again
    score = first[what]
    assert 0 <= score.interval[0] <= score.value <= score.interval[1] <= 1
    assert score.count == 60
    assert told[-1] == (what, 60, 60)
    assert all(module.training for module in net.modules())
    assert all(torch.equal(before[key], value) for key, value in net.state_dict().items())
    assert all(p.grad is None for p in net.parameters())


def test_several_at_once(digits):
    net = create_model("gu2021/convnet_avg", width=0.02, image_size=28)
    scores = measure(net, list(VIEWS), digits)
    assert list(scores) == list(VIEWS)
    assert scores == {name: measure(net, name, digits)[name] for name in VIEWS}


def test_it_is_the_view_that_is_shown_and_judged():
    """Pairs ask for two classes, whatever the data they are made of asks for; progress tells what is done, of all."""
    diverse, told = Overlapping(specks(), single=0.5), []
    net = Eyes(3)
    found = judge(net, ["overlap", "clean"], diverse, batch_size=4, progress=lambda *now: told.append(now))
    assert (found["overlap"].threshold, found["clean"].threshold) == (None, 0.0)
    assert told == [(view, done, 9) for view in ("overlap", "clean") for done in (4, 8, 9)]
    for view, images in (("overlap", torch.cat(net.seen[:3])), ("clean", torch.cat(net.seen[3:]))):
        torch.testing.assert_close(images, VIEWS[view](net, diverse).batch(torch.arange(9)).images)
    assert not torch.equal(torch.cat(net.seen[:3]), torch.cat(net.seen[3:]))


def test_wrong_names_are_quoted():
    with pytest.raises(ValueError, match="no view 'afine', 'x': choose from 'clean', 'affine', 'overlap'"):
        check_views(["clean", "afine", "x"])
    with pytest.raises(ValueError, match="nothing to judge by: choose from 'clean'"):
        check_views([])
    with pytest.raises(ValueError, match="no view 'wrong'"):
        measure(create_model("peer2021/sign"), "wrong", Sign(count=10))


def test_generators_are_judged_as_they_are():
    net = create_model("peer2021/sign")
    assert measure(net, ["clean"], Sign(count=100))["clean"].count == 100
    with pytest.raises(ValueError, match="judge it on 'clean' alone"):
        measure(net, ["clean", "affine"], Sign(count=100))
