"""What the tables say, read cell by cell: every figure under its own title, of results written by hand."""

import json

import pytest

from torchcaps.measures._fit import Estimate
from torchcaps.measures.accuracy import AccuracyResult
from torchcaps.measures.activity import ActivityResult, LayerActivity
from torchcaps.measures.affine import AffineCurvesResult, Curve
from torchcaps.measures.compactness import CompactnessResult, FactorCompactness
from torchcaps.measures.complexity import ComplexityResult, Growth, Law, Point
from torchcaps.measures.invariance import FactorInvariance, InvarianceResult, LayerInvariance
from torchcaps.measures.iterations import Iteration, IterationsResult
from torchcaps.measures.predictions import PredictionsResult
from torchcaps.measures.result import Result, Table, number
from torchcaps.measures.routing_dynamics import Dynamics, DynamicsResult, LayerDynamics
from torchcaps.measures.starvation import LayerLook, Look, StarvationResult
from torchcaps.measures.symmetry import Asymmetry, SymmetryResult

LIVING, PRINTED = Dynamics(0.5, 1.5, (0.4, 0.6)), Dynamics(0.25, 1.25, (0.2, 0.3))
EXPONENTS = Law("parameters", Estimate(2.0, 1.9, 2.1), Estimate(1.0, 0.9, 1.1), (("n²d", Estimate(3.0, 2.0, 4.0)),))

WRITTEN = {
    "accuracy": (
        AccuracyResult(("a", "b"), 3, 4, 0.5, "4A==", (1, 3), ((1, 0), (1, 2))),
        [
            {"class": "all", "accuracy": "75.00%", "images": "4"},
            {"class": "a", "accuracy": "100.00%", "images": "1"},
            {"class": "b", "accuracy": "66.67%", "images": "3"},
        ],
    ),
    "predictions": (
        PredictionsResult(("a", "b"), (8, 2), (1, 9), 10),
        [
            {"class": "a", "named": "8", "of images": "80.00%", "shown": "10.00%"},
            {"class": "b", "named": "2", "of images": "20.00%", "shown": "90.00%"},
        ],
    ),
    "activity": (
        ActivityResult(
            0.1,
            0.01,
            0.01,
            (),
            9,
            (
                LayerActivity("primary", 8, "", cns=1.6, cnm=0.2, cas=2.0, car=0.25, cds=3, cdr=0.375),
                LayerActivity("classes", 4, "no activations"),
            ),
        ),
        [
            {"layer": "primary", "capsules": "8", "cns": "1.60", "cnm": "0.20", "cas": "2.00", "car": "0.25",
             "cds": "3", "cdr": "0.38"},
            {"layer": "classes", "capsules": "4", "cns": "–", "cnm": "–", "cas": "–", "car": "–", "cds": "–",
             "cdr": "–"},
        ],
    ),
    "dynamics": (
        DynamicsResult(
            5,
            (
                LayerDynamics("primary", 6, 4, LIVING, PRINTED),
                LayerDynamics("hidden 1", 3, None, None, PRINTED, "nobody knows"),
            ),
        ),
        [
            {"layer": "primary", "capsules": "6", "alive": "4", "dyr": "0.50", "dys": "1.50", "dyr, all": "0.25",
             "dys, all": "1.25"},
            {"layer": "hidden 1", "capsules": "3", "alive": "–", "dyr": "–", "dys": "–", "dyr, all": "0.25",
             "dys, all": "1.25"},
        ],
    ),
    "curves": (
        AffineCurvesResult(10, (Curve("rotation", (-20.0, 0.0, 20.0), (5, 10, 8)),)),
        [{"factor": "rotation", "range": "-20 … 20°", "-1": "50.0%", "0": "100.0%", "1": "80.0%"}],
    ),
    "compactness": (
        CompactnessResult(16, (FactorCompactness("shift_x", (-8.0, 0.0, 8.0), 0.7, 0.1, 5, 2),)),
        [{"factor": "shift x", "range": "-8 … 8 px", "compactness": "0.7000", "deviation": "0.1000", "images": "5",
          "still": "2"}],
    ),
    "invariance": (
        InvarianceResult(
            4,
            (
                FactorInvariance(
                    "rotation",
                    (10.0, 20.0),
                    (
                        LayerInvariance("primary", 3, (0.9, 0.8), (0, 1)),
                        LayerInvariance("classes", 2, (0.7, None), (0, 2)),
                    ),
                ),
            ),
            (),
        ),
        [
            {"strength": "rotation ±10°", "primary": "0.900", "classes": "0.700"},
            {"strength": "rotation ±20°", "primary": "0.800", "classes": "–"},
        ],
    ),
    "iterations": (
        IterationsResult(4, (Iteration(1, 0.002, 1 << 20, 0.005, 3 << 20), Iteration(3, 0.25, 1 << 19, 0.5, 7 << 20))),
        [
            {"iterations": "1", "ms": "2.0", "ms, training": "5.0", "MB": "1.0", "MB, training": "3.0"},
            {"iterations": "3", "ms": "250.0", "ms, training": "500.0", "MB": "0.5", "MB, training": "7.0"},
        ],
    ),
    "complexity": (
        ComplexityResult(2, False, (Growth("MHSA", (Point(4, 8, 1, 1, 1.0, 1),), (EXPONENTS,)),)),
        [{"": "MHSA: parameters", "exponent of n": "2.00 [1.90, 2.10]", "exponent of d": "1.00 [0.90, 1.10]",
          "as two terms": "3 n²d"}],
    ),
    "starvation": (
        StarvationResult(
            ("primary",),
            (4,),
            (Look(0, (LayerLook(0.5, 0.25, 2.0, "wA=="),)), Look(5, (LayerLook(0.1, 0.01, 0.3, "QA=="),))),
        ),
        [{"layer": "primary", "capsules": "4", "dead": "1", "revived": "1", "‖∂L/∂u‖": "1.0e-01",
          "of the dead": "1.0e-02", "‖∂L/∂W‖": "3.0e-01"}],
    ),
    "symmetry": (
        SymmetryResult(3, (Asymmetry("scores", 0.5, 2.0), Asymmetry("poses", None, None))),
        [
            {"f": "scores", "‖f(−u) − f(u)‖": "5.0e-01", "‖f(−u) + f(u)‖": "2.0e+00"},
            {"f": "poses", "‖f(−u) − f(u)‖": "–", "‖f(−u) + f(u)‖": "–"},
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_every_figure_stands_under_its_title(name):
    result, expected = WRITTEN[name]
    table = result.table()
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [{title: row[title] for title in wanted} for row, wanted in zip(rows, expected, strict=True)] == expected


@pytest.mark.parametrize("name", WRITTEN)
def test_json_holds_plain_data_alone(name):
    result, _ = WRITTEN[name]
    stored = result.to_json()
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored  # lists, no tuples
    assert Result.from_json(stored) == result


def test_nothing_is_not_unknown():
    assert (number(0), number(0.0, 3), number(0, 0), number(None)) == ("0.00", "0.000", "0", "–")


def test_columns_are_as_wide_as_their_widest_text():
    assert str(Table(("a", "a long title"), [("a long name", "1")], "Note.")) == (
        "a            a long title\na long name             1\nNote."
    )
