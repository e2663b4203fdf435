"""Answers about networks that can be followed by hand: trees, differences, drawings, attacks, means."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from tests.explain.networks import IMAGE, by_hand
from torchcaps.attacks import make_attack
from torchcaps.explain import difference, parse_trees, summarise
from torchcaps.explorer import app, average, by_type
from torchcaps.explorer.apart import apart, arrivals
from torchcaps.explorer.attacked import attacked
from torchcaps.explorer.look import REACH, look, strengths
from torchcaps.explorer.numbers import numbers
from torchcaps.explorer.question import Attacked, Changes, Look, Strengths, changed, decoded, fitted
from torchcaps.infer import infer
from torchcaps.measures import ParseTreeResult
from torchcaps.types import Parse, State

from .ask import picture
from .small import capsules, plain

TURNED = {"rotation": 180.0, "shift_x": 1.0}


def seen(exhibit, changes=None, sample=0):
    """The image as the network is to see it."""
    image = exhibit.samples.images[sample].float() / 255
    return changed(image, [Changes(**(changes or {}))])


# ---- trees --------------------------------------------------------------------------------------------------------


def test_a_look_is_at_the_changed_image():
    exhibit = capsules()
    answer = look(exhibit, Look(**picture(exhibit, changes=TURNED)))
    images = torch.cat([seen(exhibit, TURNED), seen(exhibit)])
    now, before = parse_trees(exhibit.model, images, exhibit.classes)
    assert answer["change"] == pytest.approx(difference(now, before).value)
    for tree, same in ((now, True), (before, False)):
        small = summarise(tree)
        for given, coupling in zip(answer["tree"]["links"][-1], small.couplings, strict=True):
            assert torch.allclose(torch.tensor(given).double(), coupling[0, 0], atol=1e-5) == same
    strong = summarise(now).strength
    for layer, strength in zip(answer["tree"]["layers"], strong, strict=True):
        assert layer["strength"] == pytest.approx(strength.flatten().tolist(), abs=1e-5)


def test_a_type_is_dead_if_all_its_capsules_are():
    [tree] = parse_trees(capsules().model, torch.rand(1, *IMAGE))
    dead = tuple(map(torch.zeros_like, tree.dead))
    dead[0][..., 1] = True
    dead[1][0, 1, 2] = True
    told = by_type.layers(replace(tree, dead=dead))
    assert [layer["dead"] for layer in told] == [[False, True], [False] * 3, [False] * 3]


def test_a_routing_that_has_stopped_stays_as_it_was():
    """Two iterations below three; the second image's couplings are nobody's business."""
    exhibit = capsules()
    parse = infer(exhibit.model, torch.rand(2, *IMAGE), record="all")
    first, second = (states[-1] for states in parse.history)

    def state(like, value):
        coupling = torch.full_like(like.coupling, value)
        coupling[1] = 9.0
        return State(like.pose, like.act, None, coupling)

    below, above = [state(first, v) for v in (0.1, 0.2)], [state(second, v) for v in (0.3, 0.4, 0.5)]
    for states, link in ((below, 0), (above, 1)):
        there = exhibit.structure.children(link) >= 0
        for one in states:
            one.coupling[:, ~there] = 0.0  # as every routing has it
    found = by_type.links(exhibit.structure, Parse(parse.scores, parse.capsules, [], [below, above]))
    told = [[{c for row in link for c in row} for link in iteration] for iteration in found]
    assert told == [[{0.1}, {0.3}], [{0.2}, {0.4}], [{0.2}, {0.5}]]


def test_an_opened_layer_shows_the_parent_that_gets_most():
    exhibit = capsules()
    [tree] = parse_trees(exhibit.model, seen(exhibit), exhibit.classes)
    for kind in (0, 1):
        opened = look(exhibit, Look(**picture(exhibit, open={"layer": 0, "type": kind})))["open"]
        by_parent = {}
        for edge in tree.edges():
            if edge.child.layer == 0 and edge.child.type == kind:
                by_parent.setdefault(edge.parent.type, {}).setdefault(edge.child[1:3], []).append(edge.coupling)
        windows = tree.structure.windows(0).by_child(tree.couplings[0][None]).shape[-2]
        got = {parent: {at: sum(c) / windows for at, c in given.items()} for parent, given in by_parent.items()}
        most = max(got, key=lambda parent: sum(got[parent].values()))
        assert opened["parent"] == f"hidden 1 {most}"
        assert opened["coupling"] == pytest.approx([got[most][r, c] for r in range(4) for c in range(3)], abs=1e-5)
        assert opened["uniform"] == pytest.approx(1 / 3)
        assert (opened["layer"], opened["type"], opened["grid"]) == ("primary", kind, [4, 3])


# ---- differences --------------------------------------------------------------------------------------------------


def test_what_arrives_is_shared_out_by_children():
    first = by_hand([[2.0, 2.0], [1.0, 0.0]], strength=[[1.0, 3.0], [1.0, 1.0]])
    assert arrivals(first).tolist() == pytest.approx([3.5 / 4, 0.5 / 4])
    second = by_hand([[1.0, 0.0]], [[0.0, 5.0], [1.0, 0.0]], strength=[[2.0], [1.0, 1.0], [1.0, 1.0]])
    assert arrivals(second).tolist() == pytest.approx([0, 1])
    assert apart(first, second) == {"value": 0.875, "by": "arrivals"}
    assert apart(second, first) == {"value": 0.875, "by": "arrivals"}


def test_networks_with_other_layers_are_compared_by_what_arrives():
    """Both have one link through a window of 1×1, but not the same capsules below."""
    two, three = by_hand([[1.0, 0.0], [0.0, 1.0]]), by_hand([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    assert two.structure.links == three.structure.links
    assert apart(two, three) == {"value": round(2 / 3 - 1 / 2, 5), "by": "arrivals"}
    assert apart(two, by_hand([[0.5, 0.5], [0.0, 1.0]])) == {"value": 0.25, "by": "edges"}


def test_networks_that_tell_other_classes_are_not_compared():
    rows = [[1.0, 0.0], [0.0, 1.0]]
    assert apart(by_hand(rows), by_hand(rows, classes=("ant", "bee"))) is None


def test_the_other_network_is_shown_the_changed_image():
    one, two = capsules(), capsules("other", seed=1)
    found = look(one, Look(**picture(one, changes=TURNED)), two)["between"]
    trees = [parse_trees(each.model, seen(one, TURNED), each.classes)[0] for each in (one, two)]
    assert found == {"value": pytest.approx(difference(*trees).value, abs=1e-5), "by": "edges"}
    still = parse_trees(two.model, seen(one), two.classes)[0]
    assert found["value"] != pytest.approx(difference(trees[0], still).value, abs=1e-3)


# ---- drawings and curves ------------------------------------------------------------------------------------------


def test_a_second_image_is_added_to_the_first():
    exhibit = capsules()
    exhibit.samples.images[:2] = torch.tensor([100, 80], dtype=torch.uint8)[:, None, None, None]
    exhibit.samples.images[1, 0, 0, 0] = 200
    both = look(exhibit, Look(**picture(exhibit, second=picture(exhibit, 1)["pixels"])))["image"]
    wanted = torch.full(IMAGE, 180 / 255)
    wanted[0, 0, 0] = 1
    torch.testing.assert_close(decoded(both, IMAGE), wanted)


def test_a_slider_moves_the_numbers_of_one_class():
    exhibit = capsules()
    exhibit.decoder.conditional = False  # draws from the capsules of all classes
    given = look(exhibit, Look(**picture(exhibit, label=1, deltas=[0.5, -0.25])))["reconstruction"]
    pose = infer(exhibit.model, seen(exhibit)).capsules[-1].pose[0, 0, 0].detach()
    assert given["pose"] == pytest.approx(pose[1].tolist(), abs=1e-5)
    moved = pose.clone()
    moved[1, 0] += 0.5
    moved[1, 1] -= 0.25
    for code, name in ((pose, "plain"), (moved, "moved")):
        wanted = (code.flatten() @ exhibit.decoder.weight.detach()).sigmoid().unflatten(0, IMAGE)
        torch.testing.assert_close(decoded(given[name], IMAGE), wanted, atol=0.6 / 255, rtol=0)


def test_curves_reach_as_far_as_the_sliders():
    script = (Path(app.PAGE) / "state.js").read_text()
    sliders = re.findall(r'key: "(\w+)".*min: (\S+), max: (\S+), step', script)
    assert {key: (float(low), float(high)) for key, low, high in sliders} == REACH
    assert set(REACH) == set(Changes.model_fields)


def test_a_curve_is_the_probability_at_each_strength():
    exhibit = plain()
    curve = strengths(exhibit, Strengths(**picture(exhibit, changes={"noise": 0.1}), factor="shift_x", label=1))
    for at, share in curve[::5]:
        scores = infer(exhibit.model, seen(exhibit, {"shift_x": at, "noise": 0.1})).scores
        assert share == pytest.approx(float(scores.softmax(-1)[0, 1]), abs=1e-4)


# ---- attacks and means --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "options"), [("fgsm", {}), ("pgd", {"steps": 20})])
def test_an_attack_is_the_one_that_was_asked_for(method, options):
    exhibit = plain()
    exhibit.samples.images[0] = 128  # so that every pixel can move both ways
    answer = attacked(exhibit, Attacked(**picture(exhibit), method=method, eps=0.3))
    image = seen(exhibit)
    before = infer(exhibit.model, image).scores.argmax(-1)
    found = decoded(answer["image"], IMAGE)
    wanted = make_attack(method, 0.3, **options)(exhibit.model, image, before)
    torch.testing.assert_close(found, wanted[0], atol=0.6 / 255, rtol=0)
    assert 0.2 < (found - image[0]).abs().max() <= 0.3 + 0.6 / 255
    assert (answer["before"], answer["shape"]) == (exhibit.classes[before], list(IMAGE))
    assert answer["after"] == exhibit.classes[infer(exhibit.model, found[None]).scores.argmax(-1)]
    assert answer["after"] != answer["before"]


def test_two_who_ask_at_once_wait_for_one_mean(monkeypatch):
    exhibit, walks = capsules(), []
    mean, deviation = parse_trees(exhibit.model, torch.rand(2, *IMAGE), exhibit.classes)

    def walk(model, data, measures):
        walks.append(len(data))
        time.sleep(0.2)
        return [ParseTreeResult(4, 0.01, 0.01, (), mean, deviation)]

    monkeypatch.setattr(average, "walk", walk)
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(average.average, [exhibit, exhibit])
    assert walks == [4]
    assert one == two
    assert one["images"] == 4
    for part, tree in (("mean", mean), ("deviation", deviation)):
        small = summarise(tree)
        for given, wanted in zip(one[part]["strength"], small.strength, strict=True):
            assert given == pytest.approx(wanted.flatten().tolist(), abs=1e-5)
        for given, wanted in zip(one[part]["links"], small.couplings, strict=True):
            torch.testing.assert_close(torch.tensor(given).double(), wanted[0, 0], atol=1e-5, rtol=0)


# ---- questions ----------------------------------------------------------------------------------------------------


def test_numbers_keep_their_sign_and_five_digits():
    given = torch.tensor([float("inf"), -float("inf"), float("nan"), -1.0, 0.123456], dtype=torch.double)
    assert numbers(given) == [0.0, 0.0, 0.0, -1.0, 0.12346]


def test_a_question_has_no_other_fields():
    asked = {"model": "small", "pixels": "AAAA", "shape": [1, 1, 3]}
    Look(**asked)
    with pytest.raises(ValidationError, match="Extra inputs"):
        Look(**asked, x=1)
    with pytest.raises(ValidationError, match="Extra inputs"):
        Look(**asked, changes={"rotatoin": 3})


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"rotation": 90.0}, (6, 4)),  # as the hands of a clock go
        ({"scale": 2.0}, (4, 8)),
        ({"shift_x": 1.0}, (4, 7)),
        ({"shift_y": 1.0}, (5, 6)),
    ],
)
def test_a_dot_moves_as_the_slider_says(change, at):
    image = torch.zeros(1, 9, 9)
    image[0, 4, 6] = 1
    moved = changed(image, [Changes(**change)])[0, 0]
    assert moved[at] > 0.99
    assert moved.argmax() == 9 * at[0] + at[1]


def test_noise_is_the_same_for_all_questions():
    image = torch.full((1, 9, 9), 0.5)
    [one], [two] = (changed(image, [Changes(noise=0.1)]) for _ in range(2))
    assert torch.equal(one, two)
    assert 0.05 < (one - image).std() < 0.15


def test_a_smaller_image_stands_in_the_middle_and_colours_become_grey():
    inside = fitted(torch.ones(1, 2, 3), (1, 6, 5))[0]
    assert inside.nonzero().tolist() == [[row, column] for row in (2, 3) for column in (1, 2, 3)]
    for channel in range(3):
        coloured = torch.zeros(3, 2, 2)
        coloured[channel] = 0.9
        torch.testing.assert_close(fitted(coloured, (1, 2, 2)), torch.full((1, 2, 2), 0.3))


def test_more_bytes_than_an_image_has_are_refused():
    with pytest.raises(ValueError, match="has 1 bytes, and 3 were sent"):
        decoded("AAAA", (1, 1, 1))
