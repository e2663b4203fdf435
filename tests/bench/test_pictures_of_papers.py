"""The artefacts' pictures, drawn from made-up results that differ by row and seed, and read back."""

import base64
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from torchcaps.bench.evidence import At, Evidence, Number
from torchcaps.bench.gather import Gathered
from torchcaps.bench.papers import artefacts
from torchcaps.measures import ComplexityResult, Result
from torchcaps.measures._fit import Estimate
from torchcaps.measures.complexity import QUANTITIES, Growth, Law, Point


def gathered(name, details, numbers=None):
    """What a picture is drawn from: for each row a list of details, one for each seed."""
    lines = {(row, seed): {"details": of} for row, seeds in details.items() for seed, of in enumerate(seeds)}
    return Gathered(artefacts()[name], "cpu", Evidence(numbers or {}), lines, {}, (), 0)


def drawn(name, found, which=0):
    page = Figure()
    artefacts()[name].pictures[which].draw(found, page)
    return page


def curves(axes):
    """Lines by their labels."""
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()}


@pytest.fixture
def named(monkeypatch):
    """A result that draws nothing but its name and the panel, as titles of axes; known only while the test runs."""
    monkeypatch.setattr(Result, "kinds", dict(Result.kinds))

    @dataclass(frozen=True)
    class Named(Result):
        name: str

        @property
        def panels(self):
            return 3

        def draw(self, axes, panel=0):
            axes.set_title(f"{self.name} {panel}")

    return lambda name: {"kind": "Named", "name": name}


def titles(page):
    return [axes.get_title() for axes in page.axes]


def test_accuracy_against_pairs_has_error_bars_in_percent():
    values = {"capsnet": [0.80, 0.84, 0.82], "convnet": [0.90, 0.91, 0.95]}
    rows = {f"{m}_n{n}": [x + 0.01 * k for x in of] for m, of in values.items() for k, n in enumerate((1, 10))}
    numbers = {At(row, "accuracy"): {s: Number(x) for s, x in enumerate(of)} for row, of in rows.items()}
    found = gathered("gu2021/figure3", {row: [{}] * 3 for row in rows}, numbers)
    [axes] = drawn("gu2021/figure3", found).axes
    assert axes.get_xscale() == "log"
    read = {}
    for bars in axes.containers:
        line, _, [ends] = bars.lines
        read[bars.get_label()] = (line.get_xdata(), line.get_ydata(), [seg[:, 1] for seg in ends.get_segments()])
    for model, title in (("capsnet", "CapsNet"), ("convnet", "ConvNet-FC(LK)")):
        at, means, spans = read[title]
        assert list(at) == [1, 10]
        for k, n in enumerate((1, 10)):
            sample = 100 * np.array(rows[f"{model}_n{n}"])
            reach = stats.t.ppf(0.975, 2) * sample.std(ddof=1) / np.sqrt(3)
            assert means[k] == pytest.approx(sample.mean())
            assert list(spans[k]) == pytest.approx([sample.mean() - reach, sample.mean() + reach])


def test_sheets_stand_under_the_title_of_their_network():
    names = {
        "r_mnist": "ConvNet-R",
        "cr_mnist": "ConvNet-CR",
        "cr_sf_mnist": "ConvNet-CR-SF",
        "capsnet_mnist": "CapsNet",
    }
    sheets = {}
    for k, row in enumerate(names):
        pixels = (np.arange(2 * 3 * 4 * 5) + k).astype(np.uint8).reshape(2, 3, 4, 5)
        sheets[row] = (pixels, [-1.0 - k, 0.0, 1.0 + k])
    details = {
        row: [{"sheet": {"shape": [2, 3, 4, 5], "pixels": base64.b64encode(p.tobytes()).decode(), "deltas": deltas}}]
        for row, (p, deltas) in sheets.items()
    }
    page = drawn("gu2021/figure4", gathered("gu2021/figure4", details))
    assert len(page.axes) == 4
    for axes, (row, title) in zip(page.axes, names.items(), strict=True):
        pixels, deltas = sheets[row]
        assert axes.get_title() == f"{title}, ±{deltas[-1]:g}"
        shown = np.asarray(axes.images[0].get_array())
        for dim in range(2):
            for delta in range(3):
                tile = shown[4 * dim : 4 * dim + 4, 5 * delta : 5 * delta + 5]
                assert np.array_equal(tile, pixels[dim, delta])


def test_decline_is_the_mean_over_seeds_beside_noise():
    def of(level, seed):
        return {
            "universal/0.3": [[0.0, 0.9], [20.0, level + 0.1 * seed]],
            "noise/0.3": [[0.0, 0.9], [20.0, 0.8 + level]],
            "universal/0.5": [[0.0, 0.0], [20.0, 0.0]],
        }

    levels = {"baseline": 0.1, "fc": 0.12, "conv": 0.14}
    found = gathered("chen2019/whitebox", {row: [{"curves": of(x, s)} for s in (0, 1)] for row, x in levels.items()})
    [axes] = drawn("chen2019/whitebox", found).axes
    styles = {line.get_label(): line.get_linestyle() for line in axes.get_lines()}
    for (row, level), title in zip(levels.items(), ("CNN", "FC G-CapsNet", "Conv G-CapsNet"), strict=True):
        assert curves(axes)[title] == ([0, 20], pytest.approx([90, 100 * level + 5])), row
        assert curves(axes)[f"{title}, noise"] == ([0, 20], pytest.approx([90, 80 + 100 * level])), row
        assert (styles[title], styles[f"{title}, noise"]) == ("-", ":")


def test_a_digit_is_above_and_its_warp_below(monkeypatch):
    module = sys.modules["torchcaps.bench.papers.mitterreiter2023.figure2"]
    seen = []
    monkeypatch.setattr(module, "Tree", type("Tree", (), {"from_json": staticmethod(lambda stored: stored)}))
    for name in ("draw_edges", "draw_bars"):
        monkeypatch.setattr(
            module, name, lambda axes, tree, name=name: seen.append((name, tree, axes.get_subplotspec().num1))
        )
    pictures = [[[0.0, 1.0]], [[0.5, 0.25]]]
    kept = {"trees": ["of the digit", "of the warp"], "images": pictures}
    details = {"placed": [kept], "placed_library": [{"trees": ["x", "y"], "images": pictures[::-1]}]}
    page = drawn("mitterreiter2023/figure2", gathered("mitterreiter2023/figure2", details))
    assert seen == [("draw_edges", "of the digit", 0), ("draw_bars", "of the digit", 1),
                    ("draw_edges", "of the warp", 3), ("draw_bars", "of the warp", 4)]  # fmt: skip
    assert [page.axes[0].get_title(), page.axes[3].get_title()] == ["digit", "its warp"]
    assert [np.asarray(page.axes[k].images[0].get_array()).tolist() for k in (2, 5)] == pictures


def both_starts(name, kind, named):
    return gathered(
        name, {row: [{kind: named(row)}, {kind: named("later seed")}] for row in ("placed", "placed_library")}
    )


def test_statistics_of_each_start_have_their_own_picture(named):
    found = both_starts("mitterreiter2023/figure3", "mean tree", named)
    for k, row in enumerate(("placed", "placed_library")):
        assert titles(drawn("mitterreiter2023/figure3", found, k)) == [f"{row} {panel}" for panel in range(3)]
        assert (
            artefacts()["mitterreiter2023/figure3"].pictures[k].title
            == artefacts()["mitterreiter2023/figure3"].row(row).title
        )


def test_invariance_is_drawn_for_the_papers_start(named):
    found = both_starts("mitterreiter2023/figure4", "invariance", named)
    assert titles(drawn("mitterreiter2023/figure4", found)) == ["placed 0", "placed 1", "placed 2"]


def test_activity_is_drawn_for_both_starts(named):
    found = both_starts("mitterreiter2023/table2", "activity", named)
    starts = {"placed": "affine MNIST, N(0, 0.2)", "placed_library": "affine MNIST, the library's start"}
    expected = [f"{title}: {row} {panel}" for row, title in starts.items() for panel in range(3)]
    assert titles(drawn("mitterreiter2023/table2", found)) == expected


def test_starvation_is_drawn_for_every_network(named):
    artefact = artefacts()["mitterreiter2023/starvation"]
    rows = [row for row in artefact.rows if row.id != "formulas"]
    found = gathered(artefact.id, {row.id: [{"starvation": named(row.id)}] for row in rows})
    expected = [f"{row.title}: {row.id} {panel}" for row in rows for panel in range(3)]
    assert titles(drawn(artefact.id, found)) == expected


def test_costs_of_all_contenders_are_drawn():
    one = Estimate(1.0, 1.0, 1.0)

    def result(name, factor):
        points = tuple(Point(n, 8, factor * n, factor * n, float(factor * n), factor * n) for n in (16, 32))
        laws = tuple(Law(quantity, one, one, ()) for quantity in QUANTITIES)
        return ComplexityResult(16, False, (Growth(name, points, laws),)).to_json()

    names = {"attention": ("MHSA", 2), "dense": ("RBA, dense", 3), "fused": ("RBA, fused", 5)}
    found = gathered("mitterreiter2023/table3", {row: [{"growth": result(*of)}] for row, of in names.items()})
    page = drawn("mitterreiter2023/table3", found)
    assert len(page.axes) == len(QUANTITIES)
    for axes in page.axes:
        read = {label.partition(":")[0]: of for label, of in curves(axes).items()}
        assert read == {name: ([16, 32], [16 * k, 32 * k]) for name, k in names.values()}


def test_training_curves_are_drawn_by_depth_with_a_bias_and_without():
    def curve(level):
        return {"curve": [[1, 0.1], [2, level]]}

    details = {}
    for depth in range(5, 10):
        details[f"mnist_{depth}"] = [curve(0.01 * depth), curve(0.9)]
        details[f"mnist_{depth}_bias"] = [curve(0.5 + 0.01 * depth), curve(0.9)]
    page = drawn("peer2021/table3", gathered("peer2021/table3", details))
    assert titles(page) == [f"{depth} layers" for depth in range(5, 10)]
    for depth, axes in zip(range(5, 10), page.axes, strict=True):
        expected = {"no bias": 0.01 * depth, "bias": 0.5 + 0.01 * depth}
        assert curves(axes) == {label: ([1, 2], [0.1, level]) for label, level in expected.items()}


def test_a_depth_that_the_scale_cuts_says_so_in_its_panel():
    details = {f"mnist_{depth}": [{"curve": [[1, 0.1], [2, 0.5]]}] for depth in range(5, 9)}
    page = drawn("peer2021/table3", gathered("peer2021/table3", details))
    words = [[text.get_text() for text in axes.texts] for axes in page.axes]
    assert words == [[], [], [], [], ["nothing to show"]]
    assert [axes.get_legend() is not None for axes in page.axes] == [True, False, False, False, False]


def courses(level):
    """Two seeds, a tenth apart."""
    return [{"course": [[10, 0.1], [20, level]]}, {"course": [[10, 0.2], [20, level + 0.1]]}]


def test_convergence_is_the_mean_over_seeds_for_each_routing_and_iteration():
    kinds = {"dynamic": "Dynamic routing", "em": "EM routing", "inverted": "Inverted attention"}
    levels = {f"{kind}_{t}": 0.1 * k + 0.01 * t for k, kind in enumerate(kinds, 1) for t in (1, 2, 5)}
    page = drawn("tsai2020/figure4", gathered("tsai2020/figure4", {row: courses(x) for row, x in levels.items()}))
    assert titles(page) == list(kinds.values())
    for axes, kind in zip(page.axes, kinds, strict=True):
        means = {("1 iteration" if t == 1 else f"{t} iterations"): 100 * levels[f"{kind}_{t}"] + 5 for t in (1, 2, 5)}
        assert curves(axes) == {label: ([10, 20], pytest.approx([15, mean])) for label, mean in means.items()}


def test_convergence_on_overlapping_digits_is_labelled_by_row():
    artefact = artefacts()["tsai2020/figure5"]
    levels = {row.id: 0.1 * k for k, row in enumerate(artefact.rows, 1)}
    [axes] = drawn(artefact.id, gathered(artefact.id, {row: courses(x) for row, x in levels.items()})).axes
    means = {row.title: 100 * levels[row.id] + 5 for row in artefact.rows}
    assert curves(axes) == {title: ([10, 20], pytest.approx([15, mean])) for title, mean in means.items()}


@pytest.mark.filterwarnings("ignore:No artists with labels")
@pytest.mark.parametrize("name", [name for name, artefact in artefacts().items() if artefact.pictures])
def test_pictures_can_be_drawn_when_no_row_has_numbers(name):
    """Rows come one by one, and all of them may have failed: the report is made all the same."""
    for which in range(len(artefacts()[name].pictures)):
        drawn(name, gathered(name, {}), which)
