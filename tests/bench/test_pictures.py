"""The papers' figures drawn again: every line has the numbers of its own row, by the name it is given."""

import base64
import math
from importlib import import_module

import numpy as np
import pytest
from matplotlib.figure import Figure

from torchcaps.bench.evidence import At, Evidence, Number
from torchcaps.bench.gather import Gathered

SEEDS = (0, 1)


def gathered(artefact, details, numbers=None):
    """As if every row had been judged: `details(row, seed)` is what its measures kept, told apart by both."""
    rows = [row.id for row in artefact.rows]
    lines = {(row, seed): {"details": details(rows.index(row), seed)} for row in rows for seed in SEEDS}
    return Gathered(artefact, "cpu", Evidence(numbers or {}), lines, {}, (), len(lines))


def drawn(name, details, numbers=None):
    artefact, page = import_module(f"torchcaps.bench.papers.{name.replace('/', '.')}").ARTEFACT, Figure()
    [picture] = artefact.pictures
    picture.draw(gathered(artefact, details, numbers), page)
    return artefact, page


def points(axes):
    return {
        line.get_label(): [list(map(float, pair)) for pair in zip(*line.get_data(), strict=True)] for line in axes.lines
    }


def course(row, seed):
    return {"course": [(100, 0.001 * row + 0.1 * seed), (200, 0.4 + 0.001 * row + 0.1 * seed)]}


def means(row):
    """Of both seeds, in percent."""
    return [[100, pytest.approx(0.1 * row + 5)], [200, pytest.approx(40 + 0.1 * row + 5)]]


def test_convergence_on_diverse_multi_mnist():
    artefact, page = drawn("tsai2020/figure5", course)
    assert points(page.axes[0]) == {row.title: means(k) for k, row in enumerate(artefact.rows)}


def test_convergence_by_iterations():
    artefact, page = drawn("tsai2020/figure4", course)
    titles = {"Dynamic routing": "dynamic", "EM routing": "em", "Inverted attention": "inverted"}
    assert [axes.get_title() for axes in page.axes] == list(titles)
    rows = [row.id for row in artefact.rows]
    for axes in page.axes:
        kind = titles[axes.get_title()]
        expected = {
            ("1 iteration" if t == 1 else f"{t} iterations"): means(rows.index(f"{kind}_{t}")) for t in range(1, 6)
        }
        assert points(axes) == expected


def test_decline_under_a_universal_perturbation():
    def curves(row, seed):
        kept = {
            "universal/0.3": [(0, 0.9), (20, 0.1 * row + 0.1 * seed)],
            "noise/0.3": [(0, 0.95), (20, 0.8 + 0.01 * row)],
        }
        return {"curves": {**kept, "universal/0.1": [(0, 0.0)], "noise/0.1": [(0, 0.0)]}}

    artefact, page = drawn("chen2019/whitebox", curves)
    expected = {}
    for k, row in enumerate(artefact.rows):
        expected[row.title] = [[0, pytest.approx(90)], [20, pytest.approx(10 * k + 5)]]
        expected[f"{row.title}, noise"] = [[0, pytest.approx(95)], [20, pytest.approx(80 + k)]]
    assert points(page.axes[0]) == expected


def test_accuracy_by_the_size_of_the_training_set():
    """Means of two seeds with their intervals: t of one degree of freedom is 12.706 at 95 %."""
    numbers = {
        At(f"{model}_n{n}", "accuracy"): {seed: Number(base + 0.01 * k + 0.02 * seed) for seed in SEEDS}
        for model, base in (("capsnet", 0.6), ("convnet", 0.8))
        for k, n in enumerate((1, 10, 100, 1000))
    }
    _, page = drawn("gu2021/figure3", lambda *_: {}, numbers)
    [axes] = page.axes
    for container, base in zip(axes.containers, (61, 81), strict=True):
        line, _, [bars] = container.lines
        assert [list(pair) for pair in zip(*line.get_data(), strict=True)] == [
            [n, pytest.approx(base + k)] for k, n in enumerate((1, 10, 100, 1000))
        ]
        reach = 100 * 12.7062 * 0.01 * math.sqrt(2) / math.sqrt(2)
        ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
        assert ends == [pytest.approx([base + k - reach, base + k + reach], rel=1e-4) for k in range(4)]
    assert [container.get_label() for container in axes.containers] == ["CapsNet", "ConvNet-FC(LK)"]


def test_onset_by_depth_with_and_without_a_bias():
    artefact, page = drawn("peer2021/table3", lambda row, seed: {"curve": [(1, 0.01 * row + 0.5 * seed), (50, 0.3)]})
    rows = [row.id for row in artefact.rows]
    for axes in page.axes:
        depth = axes.get_title().split()[0]
        for label, found in points(axes).items():
            [row] = [
                k for k, name in enumerate(rows) if name == f"mnist_{depth}" + ("_bias" if label == "bias" else "")
            ]
            assert found == [[1, pytest.approx(0.01 * row)], [50, 0.3]]


def test_drawings_lie_row_by_row():
    """Each dimension's drawings in a row from left to right, each network's in its own panel."""

    def sheet(row, seed):
        pixels = np.arange(2 * 3 * 2 * 2, dtype=np.uint8).reshape(2, 3, 2, 2) + 30 * row
        kept = {"pixels": base64.b64encode(pixels.tobytes()).decode(), "shape": [2, 3, 2, 2]}
        return {"sheet": {**kept, "deltas": [-0.5, 0.0, 0.5 + row]}}

    artefact, page = drawn("gu2021/figure4", sheet)
    first = [[0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11], [12, 13, 16, 17, 20, 21], [14, 15, 18, 19, 22, 23]]
    for k, (row, axes) in enumerate(zip(artefact.rows, page.axes, strict=True)):
        [image] = axes.images
        assert image.get_array().tolist() == [[value + 30 * k for value in line] for line in first]
        assert axes.get_ylim()[0] > axes.get_ylim()[1], "the first row is on top"
        assert axes.get_title().endswith(f"±{0.5 + k:g}"), row.title
