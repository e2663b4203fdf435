"""Charts read back out of their drawing: points where their values are, ticks that say so."""

import math

import pytest

from tests.report.reading import told
from torchcaps.report import Curve, Curves
from torchcaps.report._chart import chart
from torchcaps.report.robustness import RobustnessCurves, Sweep

LEFT, MIDDLE, RIGHT = 60.0, 230.0, 400.0  # of three places: 8 inside of the frame from 52 to 408
LOW, HALF, HIGH = 226.0, 119.0, 12.0  # the frame's ends: 34 over the bottom of 260, and 12 under the top


def test_points_and_ticks_of_a_chart():
    made = chart([[0.0, 1.0, 0.5], [0.0, math.nan, 0.5]], percent=True)
    assert made.lines == [[(LEFT, LOW), (MIDDLE, HIGH), (RIGHT, HALF)], [(LEFT, LOW), (RIGHT, HALF)]]
    assert [(tick.at, tick.text) for tick in made.y] == [(LOW, "0 %"), (HALF, "50 %"), (HIGH, "100 %")]
    assert [(tick.at, tick.text) for tick in made.x] == [(LEFT, "1"), (MIDDLE, "2"), (RIGHT, "3")]
    assert (made.left, made.right, made.top, made.bottom) == (LEFT - 8, RIGHT + 8, HIGH, LOW)
    assert (made.width, made.height) == (420, 260)


def test_on_a_logarithmic_axis_factors_are_steps():
    made = chart([[1.0, 10.0, 100.0], [100.0, 0.0, 1.0]], log=True)
    assert made.lines == [[(LEFT, LOW), (MIDDLE, HALF), (RIGHT, HIGH)], [(LEFT, HIGH), (RIGHT, LOW)]]
    assert {tick.text: tick.at for tick in made.y}["10"] == HALF


def test_curves_of_a_training():
    page = told(Curves(curves=[Curve("a", [1.0, 10.0, 100.0], [0.0, 1.0, 0.5])]))
    assert page.attributes("svg", "aria-label") == [
        "Training loss (logarithmic axis) by epoch. a: 1, 10, 100.",
        "Validation accuracy by epoch. a: 0.0 %, 100.0 %, 50.0 %.",
    ]
    rising, peaked = (
        [tuple(map(float, point.split(","))) for point in points.split()]
        for points in page.attributes("polyline", "points")
    )
    assert rising == [(LEFT, LOW), (MIDDLE, HALF), (RIGHT, HIGH)]
    assert peaked == [(LEFT, LOW), (MIDDLE, HIGH), (RIGHT, HALF)]


def test_robustness_curves_lie_over_their_values_on_the_whole_axis():
    sweep = Sweep("Rotation", "rotation (°)", (-20.0, 0.0, 20.0), {"a": [0.5, 0.75, 0.5], "z": [0.5, 0.25, 0.5]})
    section = RobustnessCurves(networks=["z", "a", "absent"], sweeps=[sweep])
    [(_, made, said)] = section.charts
    assert said == [["50.0 %", "25.0 %", "50.0 %"], ["50.0 %", "75.0 %", "50.0 %"], []]
    quarter = (HIGH - LOW) / 4
    for line, middle in zip(made.lines, (LOW + quarter, LOW + 3 * quarter), strict=False):
        assert line == [(LEFT, HALF), (MIDDLE, pytest.approx(middle)), (RIGHT, HALF)]
    assert made.lines[2] == []
    assert (made.x[0].text, made.x[-1].text) == ("−20", "20")
    assert (made.x[0].at, made.x[-1].at) == (LEFT, RIGHT)
    assert [tick.text for tick in made.y] == ["0 %", "50 %", "100 %"]
    [label] = told(section).attributes("svg", "aria-label")
    assert label.startswith("Rotation by rotation (°). z: 50.0 %, 25.0 %, 50.0 %. a: 50.0 %, 75.0 %, 50.0 %.")
