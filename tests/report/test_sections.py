"""Every section from hand-made results, read back cell by cell."""

import math

import pytest
import torch
from jinja2 import UndefinedError
from scipy.stats import binomtest
from torch import nn

from tests.report.reading import told
from torchcaps.attacks.robustness import Point, Robustness
from torchcaps.data import Batch
from torchcaps.measures import Nothing, Score
from torchcaps.measures.accuracy import AccuracyResult
from torchcaps.measures.activity import ActivityResult, LayerActivity
from torchcaps.measures.affine import AffineCurvesResult, Curve
from torchcaps.measures.compactness import CompactnessResult, FactorCompactness
from torchcaps.measures.routing_dynamics import Dynamics, DynamicsResult, LayerDynamics
from torchcaps.measures.symmetry import Asymmetry, SymmetryResult
from torchcaps.network import ConvNet
from torchcaps.report import Differences, Network, Row, Scores, Section, _page, about, dead_of, dynamics_of, others
from torchcaps.report._page import Colours, render, write_report
from torchcaps.report.compactness import CompactnessTable
from torchcaps.report.confusion import Confusion

WHY = "the routing gives every capsule activation 1"
ACTIVITY = ActivityResult(
    0.1, 0.01, 0.01, (), 8,
    (
        LayerActivity("primary", 10, cnm=0.25, car=0.5, cds=0, cdr=0.0),
        LayerActivity("hidden 1", 4, cnm=0.75, car=0.3, cds=1, cdr=0.25),
        LayerActivity("hidden 2", 3, WHY),
        LayerActivity("classes", 2, WHY),
    ),
)  # fmt: skip


def dynamics(targets):
    """The living are known in the first layer only."""
    none = Dynamics(0.1, 0.5, ())
    return DynamicsResult(
        8,
        (
            LayerDynamics("primary", 10, 9, Dynamics(0.75, targets, ()), none),
            LayerDynamics("hidden 1", 4, None, None, Dynamics(0.25, targets, ())),
            LayerDynamics("hidden 2", 3, None, None, None, "there are no couplings"),
        ),
    )


def network(name, **found):
    batch = Batch(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, dtype=torch.long))
    return Network(
        name, ConvNet(nn.Flatten()), {key.replace("__", " "): one for key, one in found.items()}, batch, "ab"
    )


def counted(hits, count=10, shown=(5, 5), confusion=((4, 1), (2, 3)), classes=("a", "b")):
    return AccuracyResult(classes, hits, count, None, "/8A=", shown, confusion)


def sections(*networks):
    return {type(section).__name__: section for section in (*about(networks), *others(networks))}


def test_what_is_known_of_layers_is_put_together():
    assert dead_of(ACTIVITY) == (1, 14)
    assert dynamics_of(dynamics(3.0)) == pytest.approx(0.5)
    found = sections(network("net", activity=ACTIVITY, dynamics=dynamics(3.0)))
    page = told(found["ActivityByLayer"])
    assert page.rows == [
        ["Layer", "capsules", "mean activation", "active", "dead", "dynamics", "targets"],
        ["primary", "10", "25 %", "50 %", "0 %", "0.75", "3.0"],
        ["hidden 1", "4", "75 %", "30 %", "25 %", "0.25", "3.0"],
        ["hidden 2", "3", "–", "–", "–", "–", "–"],
        ["classes", "2", "–", "–", "–", "–", "–"],
    ]
    assert [text for text in page.texts["p"] if text.endswith(f"{WHY}.")] == [f"hidden 2, classes: {WHY}."]
    assert found["ActivityByLayer"].networks[0].whys == [f"hidden 2, classes: {WHY}."]


@pytest.mark.parametrize(
    ("targets", "said"), [(1.5, "1.5 targets per capsule: routes are mostly fixed"), (3.0, "3.0 targets per capsule")]
)
def test_the_card_of_a_network(targets, said):
    found = sections(network("net", activity=ACTIVITY, dynamics=dynamics(targets)))
    page = told(found["HealthCards"])
    assert page.texts["h3"] == ["net"]
    assert list(zip(page.texts["dt"], page.texts["b"], page.texts["small"], strict=True)) == [
        ("capsules", "19", "in 4 layers"),
        ("dead", "1 of 14", "most in hidden 1, 25 %"),
        ("active for an image", "40 %", "mean over layers"),
        ("routing dynamics", "0.50", said),
    ]
    cards = [words.split() for words in page.attributes("div", "class") if "card" in words.split()]
    assert ["alarm" in words for words in cards] == [False, True, False, targets < 2]


@pytest.mark.parametrize(("count", "cells"), [(40, 40), (41, 0)])
def test_a_matrix_has_forty_classes_at_most(count, cells):
    classes = tuple(f"class {k}" for k in range(count))
    matrix = tuple(tuple(int(j == k) for j in range(count)) for k in range(count))
    [(_, _, made)] = Confusion(networks=[("net", counted(count, count, (1,) * count, matrix, classes))]).matrices
    assert [len(row.cells) for row in made] == [cells] * count


def test_confusions_are_each_networks_own_and_rows_stay_with_their_class():
    first = counted(2, 4, (2, 0, 2), ((1, 0, 1), (0, 0, 0), (1, 0, 1)), ("a", "b", "c"))
    second = counted(3, 6, (2, 0, 4), ((0, 2, 0), (0, 0, 0), (0, 1, 3)), ("a", "b", "c"))
    page = told(Confusion(networks=[("one", first), ("two", second)]))
    assert page.texts["h3"] == ["one: 50.0 % of 4 images", "two: 50.0 % of 6 images"]

    def interval(hits, count):
        found = binomtest(hits, count).proportion_ci(0.95, "wilson")
        return f"{found.low:.1%}–{found.high:.1%}"

    head = ["shown", "accuracy", "images", "a", "b", "c"]
    assert page.rows == [
        head,
        ["a", f"50.0% {interval(1, 2)}", "2", "1", "", "1"],
        ["c", f"50.0% {interval(1, 2)}", "2", "1", "", "1"],
        head,
        ["a", f"0.0% {interval(0, 2)}", "2", "", "2", ""],
        ["c", f"75.0% {interval(3, 4)}", "4", "", "1", "3"],
    ]
    shares = [float(style.removeprefix("--share:")) for style in page.attributes("td", "style")]
    assert shares == [0.5, 0, 0.5, 0.5, 0, 0.5, 0, 1, 0, 0, 0.25, 0.75]


def test_attacks_begin_without_attack_and_every_network_is_drawn():
    def attacked(clean, *under):
        points = tuple(Point(0.1 * k, counted(hits)) for k, hits in enumerate(under, 1))
        return Robustness("eps", "L∞ ≤ eps", counted(clean), {"pgd": points})

    later = Robustness("iteration", "each ≤ 0.1", counted(9), {"universal": (Point(5.0, counted(7)),)})
    turned = AffineCurvesResult(10, (Curve("shift_x", (-2.0, 0.0, 2.0), (1, 9, 2)),))
    made = sections(
        network("one", attack__pgd=attacked(9, 8, 5), attack__u=later, affine_curves=turned),
        network("two", attack__pgd=attacked(7, 2, 0)),
    )
    assert list(made) == ["RobustnessCurves"]
    assert told(made["RobustnessCurves"]).attributes("svg", "aria-label") == [
        "Attack: pgd by eps (L∞ ≤ eps). one: 90.0 %, 80.0 %, 50.0 %. two: 70.0 %, 20.0 %, 0.0 %.",
        "Attack: universal by iteration (each ≤ 0.1). one: 70.0 %. two: .",
        "Shift x by shift x (px). one: 10.0 %, 90.0 %, 20.0 %. two: .",
    ]
    [first, *_] = made["RobustnessCurves"].sweeps
    assert first.values == pytest.approx((0.0, 0.1, 0.2))


def test_compactness_is_mean_and_deviation_in_nats():
    parts = (
        FactorCompactness("shift_x", (-1.0, 1.0), 0.5, 0.125, 3, 0),
        FactorCompactness("rotation", (-9.0, 9.0), None, None, 0, 3),
    )
    made = sections(network("net", compactness=CompactnessResult(16, parts)))["CompactnessTable"]
    page = told(made)
    assert page.rows == [["Network", "shift x", "rotation"], ["net at most 2.77", "0.50 ± 0.12", "–"]]
    [width] = [w for w, kind in zip(page.attributes("rect", "width"), page.attributes("rect", "class"), strict=True)
               if kind == "low"]  # fmt: skip
    assert float(width) == pytest.approx(100 * 0.5 / math.log(16), abs=0.06)
    with pytest.raises(TypeError, match="factors"):
        CompactnessTable(rows=[])


def test_a_capsule_of_one_number_has_nothing_to_be_compact_with():
    """peer2021/sign's have one: log 1 is the most there can be, and no bar can show a part of it."""
    parts = (FactorCompactness("shift_x", (-1.0, 1.0), 0.0, 0.0, 3, 0),)
    page = told(sections(network("net", compactness=CompactnessResult(1, parts)))["CompactnessTable"])
    assert page.rows == [["Network", "shift x"], ["net at most 0.00", "0.00 ± 0.00"]]
    assert page.attributes("rect", "width") == []


def test_whatever_has_no_section_is_a_table():
    symmetry = SymmetryResult(3, (Asymmetry("scores", 0.5, 2.0),))
    found = {name: counted(5) for name in ("accuracy", "affine", "overlap")}
    net = network("net", **found, activity=ACTIVITY, dynamics=dynamics(3.0), my_own=symmetry, none=Nothing("x", "no"))
    [section] = others([net, network("quiet")])
    page = told(section)
    assert page.texts["h2"] == ["What else was measured"]
    assert (page.texts["h3"], page.texts["summary"]) == (["net"], ["my own"])
    assert page.rows == [["f", "‖f(−u) − f(u)‖", "‖f(−u) + f(u)‖"], ["scores", "5.0e-01", "2.0e+00"]]


def test_dynamics_are_told_where_nobody_knows_the_dead():
    rows = [Row("net", "small", 1234, 56, 7.0, {"clean": Score.of(1, 2)}, None, 0.3), Row("plain", "", 5, 0, 1.0, {})]
    page = told(Scores(tests={"clean": "as they are"}, rows=rows))
    assert page.rows[0] == ["Network", "clean", "dead capsules", "routing dynamics", "parameters", "training"]
    [clean] = [cell for cell in page.rows[1] if cell.startswith("50.0 %")]
    assert page.rows[1] == ["net small", clean, "–", "0.30", "1,234 + 56 decoder", "7 s"]
    assert page.rows[2] == ["plain", "–", "–", "–", "5", "1 s"]
    assert page.texts["dt"] == ["clean", "dead capsules", "routing dynamics"]
    bare = told(Scores(tests={"clean": "as they are"}, rows=[rows[1]]))
    assert bare.texts["dt"] == ["clean"]


def test_differences_are_a_line_each():
    line = ("affine", "a − b", "+1.0 (0.2 to 1.8)", "a is better")
    page = told(Differences(lines=[line]))
    assert page.texts["h2"] == ["Who is better, and how sure it is"]
    assert page.rows == [["Test", "networks", "difference", "sure?"], list(line)]
    with pytest.raises(TypeError, match="lines"):
        Differences()


def test_a_section_needs_a_heading_and_nothing_else():
    with pytest.raises(TypeError, match="title"):
        Section()
    assert Section(title="Mine").note == ""


def test_what_a_template_misses_is_an_error(tmp_path, monkeypatch):
    for template in _page.TEMPLATES.iterdir():
        (tmp_path / template.name).write_text(template.read_text())
    (tmp_path / "differences.html").write_text("<p>{{ s.nobody }}</p>")
    monkeypatch.setattr(_page, "TEMPLATES", tmp_path)
    with pytest.raises(UndefinedError, match="nobody"):
        render([Differences(lines=[])], title="T", lead="L")


def test_a_page_makes_its_folders(tmp_path):
    assert write_report(tmp_path / "a" / "b" / "c.html", [], title="T", lead="L").read_text().startswith("<!DOCTYPE")


def test_a_seventh_network_has_the_first_ones_colour():
    colour = Colours()
    assert [colour(name) for name in "abcdefgg"] == [0, 1, 2, 3, 4, 5, 0, 0]
    style = (_page.TEMPLATES / "style.css").read_text()
    assert [f".k{k} " in style or f".k{k}{{" in style for k in range(7)] == [True] * 6 + [False]
