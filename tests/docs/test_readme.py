"""What the README shows of the demo is what was stored of it."""

import json
import re

from tests.docs.markdown import ROOT

SCREENS = 2 * 60  # lines


def test_the_table_is_that_of_the_stored_demo():
    stored = json.loads((ROOT / "benchmarks/results/demo.json").read_text())["rows"]
    above = (ROOT / "README.md").read_text().partition("<!-- written by")[0]
    rows = re.findall(r"^\| (?:CapsNet|Inverted|ConvNet).*", above, re.MULTILINE)
    shown = [re.findall(r"[\d,]+(?:\.\d+)?(?= %| \|)", row)[-4:] for row in rows]
    wanted = [
        [f"{row['parameters']:,}", *(f"{100 * row['scores'][view]['value']:.1f}" for view in row["scores"])]
        for row in stored
    ]
    assert shown == wanted


def test_it_fits_two_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) <= SCREENS
