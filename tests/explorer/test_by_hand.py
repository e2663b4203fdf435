"""Answers about networks that can be followed by hand: trees, drawings, curves, means."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
import torch

from tests.explain.networks import IMAGE
from torchcaps.explain import difference, parse_trees, summarise
from torchcaps.explorer import app, average, by_type
from torchcaps.explorer.look import REACH, look, strengths
from torchcaps.explorer.question import Changes, Look, Strengths, decoded
from torchcaps.infer import infer
from torchcaps.measures import ParseTreeResult
from torchcaps.types import Parse, State

from .ask import picture
from .small import capsules, plain, seen

TURNED = {"rotation": 180.0, "shift_x": 1.0}


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
    """Of each capsule the mean over the windows it lies in, which are fewer at the border."""
    exhibit = capsules()
    [tree] = parse_trees(exhibit.model, seen(exhibit), exhibit.classes)
    for kind in (0, 1):
        opened = look(exhibit, Look(**picture(exhibit, open={"layer": 0, "type": kind})))["open"]
        by_parent = {}
        for edge in tree.edges():
            if edge.child.layer == 0 and edge.child.type == kind:
                by_parent.setdefault(edge.parent.type, {}).setdefault(edge.child[1:3], []).append(edge.coupling)
        got = {parent: {at: fmean(c) for at, c in given.items()} for parent, given in by_parent.items()}
        most = max(got, key=lambda parent: sum(got[parent].values()))
        assert opened["parent"] == f"hidden 1 {most}"
        assert opened["coupling"] == pytest.approx([got[most][r, c] for r in range(4) for c in range(3)], abs=1e-5)
        assert opened["uniform"] == pytest.approx(1 / 3)
        assert (opened["layer"], opened["type"], opened["grid"]) == ("primary", kind, [4, 3])


def test_the_other_network_is_shown_the_changed_image():
    one, two = capsules(), capsules("other", seed=1)
    found = look(one, Look(**picture(one, changes=TURNED)), two)["between"]
    trees = [parse_trees(each.model, seen(one, TURNED), each.classes)[0] for each in (one, two)]
    assert found == {"value": pytest.approx(difference(*trees).value, abs=1e-5), "by": "edges"}
    still = parse_trees(two.model, seen(one), two.classes)[0]
    assert found["value"] != pytest.approx(difference(trees[0], still).value, abs=1e-3)


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
