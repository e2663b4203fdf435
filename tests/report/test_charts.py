"""Charts of the report, read back out of the page: the ticks tell the scale, the colours whose line it is."""

import math
import re
from xml.etree import ElementTree

import pytest

from torchcaps.report import Curve, Curves
from torchcaps.report._page import render
from torchcaps.report.robustness import RobustnessCurves, Sweep

LOSSES = {"CapsNet": [0.5, 0.125, 0.031], "ConvNet": [2.0, 0.9, 0.7, 0.6]}
SHARES = {"CapsNet": [0.62, 0.9, 0.984], "ConvNet": [0.3, 0.55, 0.5, 0.81]}


def names_by_colour(page):
    return dict(re.findall(r'<li class="(k\d)"><span class="dot"></span>([^<]+)</li>', page))


def number(text):
    return float(text.replace("−", "-").removesuffix(" %")) / (100 if text.endswith(" %") else 1)


def scale(ticks, *, log):
    """From places to values, by the ticks at both ends; those between must lie where they say."""
    f, back = (math.log, math.exp) if log else (float, float)
    (first, low), (last, high) = ticks[0], ticks[-1]

    def value(at):
        return back(f(low) + (at - first) / (last - first) * (f(high) - f(low)))

    assert [value(at) for at, _ in ticks] == pytest.approx([told for _, told in ticks], rel=0.02, abs=0.01)
    return value


def read(svg, names, *, log=False):
    """The points of every line by the name of its network, as an eye would read them."""
    picture = ElementTree.fromstring(svg)
    ys = [float(line.get("y1")) for line in picture.iter("line")]
    words = [(text.get("text-anchor"), float(text.get("x")), text.text) for text in picture.iter("text")]
    high = [number(text) for anchor, _, text in words[: len(ys)] if anchor == "end"]
    wide = [(x, number(text)) for anchor, x, text in words if anchor == "middle"]
    up, across = scale(list(zip(ys, high, strict=True)), log=log), scale(wide, log=False)
    assert ys == sorted(ys, reverse=True), "greater values lie higher"
    assert high == sorted(high)
    lines = {}
    for group in picture.iter("g"):
        dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in group.iter("circle")]
        [line] = group.iter("polyline")
        assert [tuple(map(float, pair.split(","))) for pair in line.get("points").split()] == dots
        lines[names[group.get("class")]] = [(across(x), up(y)) for x, y in dots]
    return lines


def charts(page):
    return re.findall(r'<svg class="chart".*?</svg>', page, re.DOTALL)


def test_training_curves():
    page = render([Curves(curves=[Curve(name, LOSSES[name], SHARES[name]) for name in LOSSES])], title="T", lead="L")
    loss, accuracy = charts(page)
    for svg, log, wanted in ((loss, True, LOSSES), (accuracy, False, SHARES)):
        found = read(svg, names_by_colour(page), log=log)
        assert found.keys() == wanted.keys()
        for name, values in wanted.items():
            assert [x for x, _ in found[name]] == pytest.approx(range(1, len(values) + 1), abs=0.01)
            assert [y for _, y in found[name]] == pytest.approx(values, rel=0.01)


def test_robustness_curves_of_networks_of_which_some_were_not_judged():
    at, seen = (-20.0, 0.0, 10.0, 40.0), {"CapsNet": [0.5, 0.98, 0.9, 0.1], "ConvNet": [0.4, 0.97, 0.7, 0.0]}
    sweep = Sweep("Rotation", "degrees", at, seen)
    before = Curves(curves=[Curve(name, LOSSES[name], SHARES[name]) for name in LOSSES])
    section = RobustnessCurves(networks=["ConvNet", "LeNet", "CapsNet"], sweeps=[sweep])
    page = render([before, section], title="T", lead="L")  # colours are given out by the first
    found = read(charts(page)[-1], names_by_colour(page))
    assert found.pop("LeNet") == []
    for name, values in seen.items():
        assert [x for x, _ in found[name]] == pytest.approx(at, abs=0.1)
        assert [y for _, y in found[name]] == pytest.approx(values, abs=0.01)
