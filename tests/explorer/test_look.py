"""What a page is told is what the network did."""

import base64

import pytest
import torch
from einops import rearrange

from torchcaps.explain import difference, grow, parse_trees, summarise
from torchcaps.explorer import by_type
from torchcaps.explorer.apart import apart
from torchcaps.explorer.look import look, strengths
from torchcaps.explorer.question import Changes, Look, Strengths, changed, decoded, fitted
from torchcaps.infer import infer
from torchcaps.models import create_model
from torchcaps.network import CapsNet

from .ask import picture


def asked(exhibit, other=None, **more):
    return look(exhibit, Look(**picture(exhibit, **more)), other)


def test_scores_and_classes_are_the_networks_own(gallery):
    for exhibit in gallery.values():
        answers = [asked(exhibit, sample=k) for k in range(20)]
        scores = infer(exhibit.model, exhibit.samples.batch(torch.arange(20)).images).scores
        assert [answer["best"] for answer in answers] == scores.argmax(-1).tolist()
        given = torch.tensor([answer["probabilities"] for answer in answers])
        torch.testing.assert_close(given, exhibit.model.probabilities(scores), atol=2e-4, rtol=0)


@pytest.mark.parametrize("name", ["tsai2020/em_simple", "chen2019/multi_gcaps", "mitterreiter2023/capsnet"])
def test_types_are_those_of_a_summary_at_every_iteration(name):
    """The slow way: the tree of each iteration on its own, made smaller."""
    net = create_model(name, width=0.1, image_size=28, in_chans=1).eval()
    assert isinstance(net, CapsNet)
    images = torch.rand(1, 1, 28, 28)
    parse = infer(net, images, record="all")
    [tree] = parse_trees(net, images)
    small = summarise(tree)
    for layer, strength, dead in zip(by_type.layers(tree), small.strength, small.dead, strict=True):
        assert layer["strength"] == pytest.approx(strength.flatten().tolist(), abs=1e-5)
        assert layer["dead"] == dead.flatten().tolist()
    links = by_type.links(tree.structure, parse)
    assert len(links) == max(map(len, parse.history))
    for t, found in enumerate(links):
        states = [states[min(t, len(states) - 1)].coupling for states in parse.history]
        [then] = grow(tree.structure, parse._replace(couplings=states))
        for link, wanted in zip(found, summarise(then).couplings, strict=True):
            torch.testing.assert_close(
                torch.tensor(link).double(), rearrange(wanted, "1 1 i j -> i j"), atol=1e-5, rtol=0
            )


def test_a_change_moves_the_tree_and_none_does_not(gallery):
    exhibit = gallery["mitterreiter2023/capsnet"]
    assert asked(exhibit)["change"] == 0
    turned = asked(exhibit, changes={"rotation": 90})
    assert turned["change"] > 0.01
    image = decoded(turned["image"], (1, 28, 28))
    assert not torch.equal(image, decoded(picture(exhibit)["pixels"], (1, 28, 28)))


def test_changes_are_what_they_are_called():
    image = torch.zeros(1, 9, 9)
    image[0, 4, 6] = 1
    kinds = [Changes(), Changes(rotation=90), Changes(shift_x=2), Changes(shift_y=-1), Changes(noise=0.5)]
    still, turned, right, up, noisy = changed(image, kinds)
    assert torch.equal(still, image)
    assert turned[0, [2, 6], [4, 4]].max() > 0.99
    assert right[0, 4, 8] > 0.99
    assert up[0, 3, 6] > 0.99
    assert (noisy - image).abs().mean() > 0.1
    assert torch.equal(noisy, changed(image, [Changes(noise=0.5)])[0])


def test_a_second_image_is_laid_over(gallery):
    exhibit = gallery["mitterreiter2023/capsnet"]
    second = picture(exhibit, 1)["pixels"]
    seen = decoded(asked(exhibit, second=second)["image"], (1, 28, 28))
    both = [decoded(pixels, (1, 28, 28)) for pixels in (picture(exhibit)["pixels"], second)]
    assert torch.equal(seen, (both[0] + both[1]).clamp(max=1))


def test_a_capsule_moves_its_drawing(gallery):
    for exhibit in gallery.values():
        drawn = asked(exhibit, deltas=[0.5], label=3)["reconstruction"]
        if exhibit.decoder is None:
            assert drawn is None
            continue
        assert drawn["plain"] != drawn["moved"]
        rest = asked(exhibit, label=3)["reconstruction"]
        assert rest["plain"] == rest["moved"] == drawn["plain"]
        assert len(rest["pose"]) == exhibit.decoder.classes.d


def test_a_large_layer_opens_by_position(gallery):
    exhibit = gallery["sabour2017/capsnet"]
    [tree] = parse_trees(exhibit.model, exhibit.samples.batch(torch.arange(1)).images)
    opened = asked(exhibit, open={"layer": 0, "type": 2})["open"]
    assert opened["grid"] == [6, 6]
    assert opened["strength"] == pytest.approx(tree.strength[0][..., 2].flatten().tolist(), abs=1e-4)
    parent = exhibit.classes.index(opened["parent"].removeprefix("classes "))
    couplings = rearrange(tree.couplings[0], "1 1 (h w n) j -> h w n j", h=6, w=6)
    assert opened["coupling"] == pytest.approx(couplings[:, :, 2, parent].flatten().tolist(), abs=1e-4)
    top = asked(exhibit, open={"layer": 1, "type": 3})["open"]
    assert (top["grid"], top["coupling"]) == ([1, 1], None), "class capsules have no parents to go to"
    assert top["strength"] == pytest.approx(tree.strength[1][..., 3].flatten().tolist(), abs=1e-4)
    assert asked(exhibit, open={"layer": 9, "type": 0})["open"] is None


def test_two_networks_differ_by_a_number(gallery):
    first, second = gallery["mitterreiter2023/capsnet"], gallery["sabour2017/capsnet"]
    found = asked(first, second)["between"]
    assert found["by"] == "arrivals"
    assert 0 < found["value"] < 1
    assert asked(first, first)["between"] == {"value": 0, "by": "edges"}
    assert asked(first, gallery["chen2019/lenet"])["between"] is None
    images = first.samples.batch(torch.arange(2)).images
    one, two = parse_trees(first.model, images, first.classes)
    assert apart(one, two)["value"] == pytest.approx(difference(one, two).value, abs=1e-5)


def test_strengths_meet_the_scores(gallery):
    exhibit = gallery["chen2019/lenet"]
    curve = strengths(exhibit, Strengths(**picture(exhibit), factor="rotation", label=7))
    assert [at for at, _ in curve][::10] == [-180, 0, 180]
    assert dict(curve)[0.0] == pytest.approx(asked(exhibit)["probabilities"][7], abs=1e-4)
    turned = asked(exhibit, changes={"rotation": 90})["probabilities"][7]
    assert dict(curve)[90.0] == pytest.approx(turned, abs=1e-4)


def test_images_of_another_size_are_fitted():
    assert fitted(torch.ones(3, 56, 56), (1, 28, 28)).shape == (1, 28, 28)
    inside = fitted(torch.ones(1, 20, 20), (3, 28, 28))
    assert inside.sum() == 3 * 400
    assert inside[:, 14, 14].min() == 1
    for size in ((28, 56), (56, 28), (20, 56)):  # all of it, whichever side is too long
        ends = torch.zeros(1, *size)
        ends[:, 0, 0] = ends[:, -1, -1] = 1
        small = fitted(ends, (1, 28, 28))
        assert small.shape == (1, 28, 28)
        assert small[0, 0, 0] > 0.1
        assert small[0, -1, -1] > 0.1


def test_pixels_that_do_not_fit_are_refused():
    for pixels, why in (("!", "not base64"), (base64.b64encode(b"123").decode(), "has 4 bytes, and 3 were sent")):
        with pytest.raises(ValueError, match=why):
            decoded(pixels, (1, 2, 2))
