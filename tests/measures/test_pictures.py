"""What the pictures show, read back out of them: the right numbers, the right way up, nothing covered in silence."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from torchcaps.measures import figure
from torchcaps.measures._axes import COLOURS, DARK, LIGHT, legend, line_style
from torchcaps.measures._fit import Estimate
from torchcaps.measures.accuracy import AccuracyResult
from torchcaps.measures.activity import ActivityResult, LayerActivity
from torchcaps.measures.affine import AffineCurvesResult, Curve
from torchcaps.measures.compactness import CompactnessResult, FactorCompactness
from torchcaps.measures.complexity import QUANTITIES, ComplexityResult, Growth, Law, Point
from torchcaps.measures.invariance import FactorInvariance, InvarianceResult, LayerInvariance
from torchcaps.measures.iterations import Iteration, IterationsResult
from torchcaps.measures.onset import OnsetResult
from torchcaps.measures.predictions import PredictionsResult
from torchcaps.measures.routing_dynamics import Dynamics, DynamicsResult, LayerDynamics
from torchcaps.measures.starvation import LayerLook, Look, StarvationResult
from torchcaps.measures.symmetry import Asymmetry, SymmetryResult


def lines(axes):
    """The points of every line by its label."""
    return {line.get_label(): np.column_stack(line.get_data()).tolist() for line in axes.lines}


def test_confusions_lie_as_they_are_written():
    result = AccuracyResult(("a", "b"), 3, 4, None, "4A==", (2, 2), ((2, 0), (1, 1)))
    axes = figure(result).axes[0]
    picture = axes.images[0]
    assert picture.get_array().tolist() == [[1, 0], [0.5, 0.5]]
    assert axes.yaxis_inverted()  # the first row is on top
    assert {(t.get_position(), t.get_text()) for t in axes.texts} == {
        ((0, 0), "1.00"),
        ((0, 1), "0.50"),
        ((1, 1), "0.50"),
    }
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("named", "shown")


def test_a_word_stands_in_the_middle_of_a_picture_without_anything_to_show():
    page = Figure()
    axes = page.subplots()
    legend(axes)
    page.draw_without_rendering()
    [word] = axes.texts
    frame, found = axes.get_window_extent(), word.get_window_extent()
    assert word.get_text() == "nothing to show"
    for low, high in (("x0", "x1"), ("y0", "y1")):
        assert getattr(found, low) + getattr(found, high) == pytest.approx(
            getattr(frame, low) + getattr(frame, high), abs=4
        )


def test_confusions_have_the_same_colours_in_every_picture():
    unsure = AccuracyResult(("a", "b"), 2, 4, None, "oA==", (2, 2), ((1, 1), (1, 1)))
    assert figure(unsure).axes[0].images[0].get_clim() == (0, 1)


def test_a_large_matrix_names_every_other_class():
    names = tuple("abcdefghijklmnopqrst")
    result = AccuracyResult(names, 20, 20, None, "////", (1,) * 20, tuple(map(tuple, np.eye(20, dtype=int).tolist())))
    axes = figure(result).axes[0]
    for axis in (axes.xaxis, axes.yaxis):
        named = {int(at): text.get_text() for at, text in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)}
        assert named == {k: names[k] for k in range(0, 20, 2)}
    assert not axes.texts


def test_activity_by_layer_and_threshold():
    layers = (
        LayerActivity("primary", 4, "", 3.0, 0.75, 4.0, 1.0, 0, 0.0, (1.0, 0.9), (0.0, 0.1)),
        LayerActivity("hidden 1", 4, "no activations"),
        LayerActivity("classes", 4, "", 1.0, 0.25, 2.0, 0.5, 1, 0.25, (0.8, 0.3), (0.2, 0.6)),
    )
    first, active, dead = figure(ActivityResult(0.1, 0.01, 0.01, (0.01, 0.1), 9, layers)).axes
    assert lines(first) == {
        "mean norm": [[0, 0.75], [1, 0.25]],
        "share active": [[0, 1], [1, 0.5]],
        "share dead": [[0, 0], [1, 0.25]],
    }
    assert [t.get_text() for t in first.get_xticklabels()] == ["primary", "classes"]
    assert lines(active)["classes"] == [[0.01, 0.8], [0.1, 0.3]]
    assert lines(dead)["primary"] == [[0.01, 0], [0.1, 0.1]]
    assert [axes.get_title() for axes in (active, dead)] == ["Share active by threshold", "Share dead by threshold"]


def test_dynamics_with_what_is_undefined():
    known = LayerDynamics("primary", 2, 2, Dynamics(0.5, 1.0, (0.4, 0.6)), Dynamics(0.3, 1.2, (0.2, 0.4)))
    silent = LayerDynamics("hidden 1", 2, None, None, Dynamics(0.1, 0.2, (0.1, None)), "nobody knows")
    rate, targets = figure(DynamicsResult(5, (known, silent))).axes
    assert lines(rate)["living capsules"][0] == [0, 0.5]
    assert np.isnan(lines(rate)["living capsules"][1][1])
    assert lines(targets)["all capsules"] == [[0, 1.2], [1, 0.2]]
    dots = np.concatenate([c.get_offsets() for c in rate.collections])[:, 1]
    assert sorted(dots.tolist()) == pytest.approx([0.1, 0.2, 0.4, 0.4, 0.6])


def test_curves_and_correlations():
    curve = Curve("rotation", (-20.0, 0.0, 20.0), (5, 10, 8))
    axes = figure(AffineCurvesResult(10, (curve,))).axes[0]
    assert np.column_stack(axes.lines[0].get_data()).tolist() == [[-20, 0.5], [0, 1], [20, 0.8]]
    assert axes.get_xlabel() == "rotation (°)"
    layer = LayerInvariance("primary", 3, (0.9, None), (0, 3))
    axes = figure(InvarianceResult(4, (FactorInvariance("shift_x", (4.0, 8.0), (layer,)),), ())).axes[0]
    points = lines(axes)["primary"]
    assert points[:2] == [[0, 1], [4, 0.9]]
    assert np.isnan(points[2][1])
    low, high = axes.get_ylim()
    assert low <= 0.5
    assert high > 1


def test_bars():
    factor = FactorCompactness("scale", (0.8, 1.0, 1.2), 0.7, 0.1, 5, 0)
    axes = figure(CompactnessResult(16, (factor,))).axes[0]
    assert [bar.get_height() for bar in axes.patches] == [0.7]
    [most] = [line for line in axes.lines if "log 16" in str(line.get_label())]
    assert list(most.get_ydata()) == pytest.approx([np.log(16)] * 2)  # nats, as the bars
    axes = figure(PredictionsResult(("a", "b"), (8, 2), (5, 5), 10)).axes[0]
    shown, named = axes.containers
    assert [shown.get_label(), named.get_label()] == ["shown", "named"]
    assert [bar.get_height() for bar in shown] == [0.5, 0.5]
    assert [bar.get_height() for bar in named] == [0.8, 0.2]
    assert max(bar.get_x() + bar.get_width() for bar in shown[:1]) <= named[0].get_x() + 0.03  # side by side


def test_what_happened_over_steps():
    looks = tuple(
        Look(step, (LayerLook(0.1 * (step + 1), None, None, bits),)) for step, bits in ((0, "AA=="), (5, "wA=="))
    )
    dead, capsules, weights = figure(StarvationResult(("classes",), (4,), looks)).axes
    assert lines(dead) == {"classes": [[0, 0], [5, 0.5]]}
    assert lines(capsules)["classes"] == [[0, pytest.approx(0.1)], [5, pytest.approx(0.6)]]
    assert lines(weights) == {}  # the last layer leads nowhere
    axes = figure(OnsetResult(7, 9, 0.2, 3, ((1, 0.1), (9, 0.4)))).axes[0]
    assert lines(axes)["running accuracy"] == [[1, 0.1], [9, 0.4]]
    assert lines(axes)["step 7"] == [[7, 0], [7, 1]]


def test_distances_iterations_and_growth():
    parts = (Asymmetry("scores", 0.001, 1.9), Asymmetry("classes", 2.0, None))
    axes = figure(SymmetryResult(3, parts)).axes[0]
    dots = {c.get_label(): c.get_offsets().tolist() for c in axes.collections}
    assert dots["from f(u)"] == [[0.001, 0], [2.0, 1]]
    assert dots["from −f(u)"][0] == [1.9, 0]
    assert dots["from −f(u)"][1][0] < 1e-6  # not defined: at the left end
    assert axes.yaxis_inverted()
    assert [text.get_text() for text in axes.get_yticklabels()] == ["scores", "classes"]
    costs = (Iteration(1, 0.002, 3 * 2**20, 0.01, 20 * 2**20), Iteration(5, 0.004, 5 * 2**20, 0.03, 40 * 2**20))
    time, memory = figure(IterationsResult(16, costs)).axes
    assert lines(time) == {"inference": [[1, 2], [5, 4]], "forward and backward": [[1, 10], [5, 30]]}
    assert lines(memory) == {"inference": [[1, 3], [5, 5]], "forward and backward": [[1, 20], [5, 40]]}
    one = Estimate(1.0, 1.0, 1.0)
    laws = tuple(Law(name, one, one, ()) for name in QUANTITIES)
    points = (Point(16, 8, 9, 9, 9.0, 9), Point(16, 32, 100, 2000, 0.5, 7000), Point(64, 32, 400, 8000, 1.5, 9000))
    found = figure(ComplexityResult(16, False, (Growth("dynamic", points, laws),))).axes
    drawn = {axes.get_title(): next(iter(lines(axes).values())) for axes in found}
    assert len(drawn) == len(QUANTITIES)
    wanted = {"parameters": [[16, 100], [64, 400]], "seconds": [[16, 0.5], [64, 1.5]]}
    wanted |= {"multiply_adds": [[16, 2000], [64, 8000]], "peak_bytes": [[16, 7000], [64, 9000]]}
    assert drawn == {f"{said.capitalize()} at d = 32": wanted[name] for name, said in QUANTITIES.items()}


def test_laws_over_sizes():
    """The exponents of n and d, each at its letter."""
    points = tuple(Point(n, d, n * d, 2 * n * d, 3.0 * n * d, 4 * n * d) for n in (4, 8) for d in (2, 5))
    laws = tuple(
        Law(quantity, Estimate(2.0 + k, 0.0, 9.0), Estimate(-1.0, -2.0, 0.0), ())
        for k, quantity in enumerate(QUANTITIES)
    )
    panels = figure(ComplexityResult(2, False, (Growth("A", points, laws),))).axes
    for k, axes in enumerate(panels):
        assert lines(axes) == {f"A: $n^{{{2.0 + k}}}d^{{-1.0}}$": [[n, (k + 1) * 5 * n] for n in (4, 8)]}


def test_series_can_be_told_apart_and_dark_is_dark():
    styles = [line_style(k) for k in range(6)]
    assert len({style["color"] for style in styles}) == len({style["marker"] for style in styles}) == 6
    result = PredictionsResult(("a", "b"), (8, 2), (5, 5), 10)
    for dark, ground in ((False, LIGHT), (True, DARK)):
        page = figure(result, dark=dark)
        assert to_hex(page.get_facecolor()) == to_hex(page.axes[0].get_facecolor()) == ground["ground"]
        assert page.axes[0].xaxis.label.get_color() == ground["ink"]


def contrast(one, other):
    """WCAG's contrast of two colours."""

    def light(colour):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_seen_on_either_ground():
    for ground in (LIGHT, DARK):
        assert contrast(ground["ink"], ground["ground"]) > 7
        assert all(contrast(colour, ground["ground"]) > 2 for colour in COLOURS)
        assert all(contrast(colour, ground["ground"]) > 3 for colour in COLOURS[:3])
