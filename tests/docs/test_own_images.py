"""The table of photographs in docs/own-images.md, and what README says of it, are what was measured."""

import json
import re

from tests.docs.markdown import ROOT

ROWS = json.loads((ROOT / "benchmarks/results/photographs.json").read_text())["rows"]


def accuracy(row):
    value = f"{100 * row['mean']:.1f} %"
    return f"{value} ({100 * row['interval'][0]:.1f}–{100 * row['interval'][1]:.1f})" if row["interval"] else value


def test_the_table_is_that_of_the_stored_rows():
    text = (ROOT / "docs/own-images.md").read_text()
    shown = dict(re.findall(r"^\| ((?:frozen|scratch), [^|]+?) \| ([^|]+?) \|", text, re.MULTILINE))
    assert shown == {name: accuracy(row) for name, row in ROWS.items()}


def test_the_readme_tells_its_model_and_the_baselines():
    text = " ".join((ROOT / "README.md").read_text().split())
    for name in ("frozen, inverted attention", "frozen, linear head"):
        assert accuracy(ROWS[name]) in text
