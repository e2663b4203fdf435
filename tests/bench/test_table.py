"""Tables filled by hand."""

import numpy as np
import pytest
from scipy import stats

from tests.bench.made_up import results
from torchcaps.bench.artefact import Row
from torchcaps.bench.evidence import At, Evidence, Number
from torchcaps.bench.table import Column, fill, grid

VALUES = [0.88, 0.90, 0.92]


def value(form="percent", printed=None, values=tuple(VALUES)):
    table = grid([Row("a", "A", printed={} if printed is None else {"shown": printed})], [Column("shown", "x", form)])
    return fill(table, results({"a": list(values)}, on="x")).lines[0][1][0]


@pytest.mark.parametrize(
    ("form", "unit", "rest"), [("percent", 100, 0), ("error", -100, 100), ("number", 1, 0), ("count", 1, 0)]
)
def test_each_form_has_its_unit(form, unit, rest):
    found = value(form)
    reach = abs(unit) * stats.t.ppf(0.975, 2) * np.std(VALUES, ddof=1) / np.sqrt(3)
    assert found.ours == pytest.approx(rest + unit * 0.9)
    assert found.interval == pytest.approx((found.ours - reach, found.ours + reach))
    assert (found.seeds, found.form) == (3, form)


def test_ours_is_higher_or_lower_than_the_papers_or_holds_it():
    assert [value("percent", printed).apart for printed in (80.0, 90.0, 99.0)] == [1, 0, -1]
    assert [value("error", printed).apart for printed in (1.0, 10.0, 20.0)] == [1, 0, -1]
    assert value("percent", "> 99").apart == 0


def test_printed_figures_are_found_by_the_title_of_their_column():
    rows = [Row("a", "First", printed={"A": 1.0, "y": 5.0}), Row("b", "Second", printed={"B": 2.0})]
    table = grid(rows, [Column("A", "x"), Column("B", "y", "number")], "Both")
    assert (table.title, table.columns) == ("Both", ("A", "B"))
    cells = [(title, [(cell.at, cell.printed, cell.form) for cell in line]) for title, line in table.lines]
    assert cells == [
        ("First", [(At("a", "x"), 1.0, "percent"), (At("a", "y"), None, "number")]),
        ("Second", [(At("b", "x"), None, "percent"), (At("b", "y"), 2.0, "number")]),
    ]


def test_one_seed_has_no_interval_and_none_has_no_number():
    one = value("percent", 10.0, [0.9])
    assert (one.ours, one.interval, one.seeds, one.apart) == (pytest.approx(90), None, 1, 0)
    table = grid([Row("a", "A", printed={"x": 7.0})], [Column("x", "x")])
    undefined = fill(table, Evidence({At("a", "x"): {0: Number(None)}})).lines[0][1][0]
    assert (undefined.printed, undefined.ours, undefined.interval, undefined.seeds) == (7.0, None, None, 0)
