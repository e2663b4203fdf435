"""The sections about what was measured: figures of the results, in words and pictures that say the same."""

import re
from dataclasses import replace

import pytest
import torch

from tests.report.test_report import EVIL, Reader
from torchcaps.attacks.robustness import Point, Robustness
from torchcaps.data import load
from torchcaps.explain import arrange, parse_trees
from torchcaps.measures import Score, inspect
from torchcaps.measures.accuracy import AccuracyResult
from torchcaps.models import create_model
from torchcaps.report import Network, Row, Scores, about, dead_of, dynamics_of, others
from torchcaps.report._gather_trees import network_trees
from torchcaps.report._page import render
from torchcaps.report._tree_svg import picture

NETS = {
    "deep": ("mitterreiter2023/capsnet", {"width": 0.2}),
    EVIL: ("sabour2017/capsnet", {"width": 0.25}),
    "normed": ("tsai2020/inverted_simple", {"width": 0.1}),
    "plain": ("chen2019/lenet", {}),
}


def attacked():
    result = AccuracyResult(tuple("0123456789"), 8, 10, None, "/8A=", (1,) * 10, ((1,) * 10,) * 10)
    return Robustness("eps", "L∞ ≤ eps", result, {"pgd": (Point(0.1, result), Point(0.3, result))})


@pytest.fixture(scope="module")
def networks():
    digits = load("glyphs", "test", count=12)
    digits.classes = (*"012345678", EVIL)
    batch = digits.batch(torch.arange(12))
    made = []
    for name, (model, options) in NETS.items():
        torch.manual_seed(0)
        net = create_model(model, image_size=28, in_chans=1, **options)
        found = {**inspect(net, digits), **({"attack pgd": attacked()} if name == "deep" else {})}
        made.append(Network(name, net, found, batch, digits.classes))
    return made


@pytest.fixture(scope="module")
def page(networks):
    rows = [
        Row(one.name, "", 1, 0, 1.0, {"clean": Score.of(1, 2)} if one.name != "plain" else {},
            dead_of(one.found["activity"]), dynamics_of(one.found["dynamics"]))
        for one in networks
    ]  # fmt: skip
    sections = [Scores(tests={"clean": "as they are"}, rows=rows), *about(networks), *others(networks)]
    return render(sections, title="T", lead="L")


@pytest.fixture(scope="module")
def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def test_every_section_is_there_and_safe(page, read):
    for title in (
        "Capsule health", "How active, layer by layer", "How they parse an image", "How much they withstand",
        "How compact their capsules are", "What else was measured",
    ):  # fmt: skip
        assert title in read.text
    assert "<script" not in page
    assert not re.search(r"https?:|[\"'(]//", page)
    for tag, attrs in read.tags:
        if tag == "svg":
            assert attrs.get("aria-label") or attrs.get("aria-hidden") == "true"
        if tag == "img":
            assert attrs["alt"]


def test_dead_and_dynamics_are_those_of_the_results(networks, read):
    deep, _, normed, plain = networks
    layers = deep.found["activity"].layers
    assert dead_of(deep.found["activity"]) == (sum(a.cds for a in layers), sum(a.capsules for a in layers))
    rates = [layer.living.dyr for layer in deep.found["dynamics"].layers if layer.living.dyr is not None]
    assert dynamics_of(deep.found["dynamics"]) == pytest.approx(sum(rates) / len(rates))
    assert dead_of(normed.found["activity"]) is None
    assert dynamics_of(normed.found["dynamics"]) == pytest.approx(
        sum(layer.printed.dyr for layer in normed.found["dynamics"].layers) / 3
    )
    assert (dead_of(plain.found["activity"]), dynamics_of(plain.found["dynamics"])) == (None, None)
    assert f"{dynamics_of(deep.found['dynamics']):.2f}" in read.text
    assert re.search(r"\d of 298\b", read.text)  # 6×6 positions of 8 types, and the classes


def test_all_layers_are_listed_even_without_activations(networks, read):
    normed = networks[2]
    sizes = [s.act[0].numel() for s in normed.model(torch.rand(1, 1, 28, 28), "last").capsules]
    assert f"{sum(sizes):,}" in read.text
    assert "it is not known which capsules are dead" in read.text


def test_a_network_has_one_colour_all_over_the_page(page):
    seen = re.findall(r'class="k(\d)"[^>]*>\s*(?:<th scope="row">)?<span class="dot"></span>([^<]+)<', page)
    by_name = {}
    for colour, name in seen:
        by_name.setdefault(name.strip(), set()).add(colour)
    assert by_name["deep"] == {"0"}
    assert by_name["normed"] == {"2"}
    assert all(len(colours) == 1 for colours in by_name.values())


def test_curves_are_told_in_words(networks, read):
    told = [attrs["aria-label"] for tag, attrs in read.tags if tag == "svg" and "aria-label" in attrs]
    rotation = networks[0].found["affine_curves"].curves[0]
    share = f"deep: {100 * rotation.hits[0] / 12:.1f} %"
    assert any(text.startswith("Rotation by rotation (°)") and share in text for text in told)
    assert any(text.startswith("Attack: pgd by eps (L∞ ≤ eps)") and "deep: 80.0 %, 80.0 %" in text for text in told)
    assert "plain" in read.text.split("How much they withstand")[2]  # every network has its line


def test_nothing_to_say_is_no_section(networks):
    plain = networks[3]
    assert [type(section).__name__ for section in about([plain])] == ["Confusion", "RobustnessCurves"]
    quiet = Network("quiet", plain.model, {}, plain.batch, plain.classes)
    assert about([quiet]) == []
    assert others([quiet]) == []


def test_an_example_marks_who_is_dead_for_all_images(networks):
    for one in networks[:3]:
        found = one.found["parse_tree"]
        dead = tuple(torch.zeros_like(d) for d in found.mean.dead)
        dead[0].flatten()[1] = True
        marked = replace(found, mean=replace(found.mean, dead=dead))
        rows = network_trees(one.name, one.model, marked, one.batch, one.classes).rows
        assert [row.image != "" for row in rows[:4]] == [False, False, True, True]
        for row in rows[2:]:
            assert [k for k, spot in enumerate(row.tree.spots) if spot.dead] == [1]


def test_the_picture_of_a_tree_is_its_layout(networks):
    deep = networks[0]
    layout = arrange(parse_trees(deep.model, deep.batch.images[:1], deep.classes)[0])
    made = picture(layout)
    assert len(made.spots) == len(layout.dots)
    assert sum(path.count("M") for _, path in made.shades) == len(layout.lines)
    assert [shade for shade, _ in made.shades] == sorted(shade for shade, _ in made.shades)
    assert [spot.label for spot in made.classes] == list(deep.classes)
    for spot, dot in zip(made.spots, layout.dots, strict=True):
        assert 0 <= spot.bar <= made.room
        assert spot.bar == pytest.approx(made.room * dot.strength / made.bar, abs=0.06)
        assert made.room / 2 <= spot.x <= made.width - made.room / 2
        assert 0 < spot.y < made.height
