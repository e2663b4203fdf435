"""The tables of the artefacts against those of the papers, cell by cell; and the papers' figures put to the rule."""

import tomllib
from pathlib import Path

import pytest

from torchcaps.bench.evidence import At, Evidence, Number
from torchcaps.bench.papers import artefacts
from torchcaps.bench.verdict import judge
from torchcaps.routing import ROUTINGS

TABLES = tomllib.loads(Path(__file__).with_name("tables_of_papers.toml").read_text(encoding="utf-8"))
NOTHING, ABSENT = "", "-"


def cells(table, key, printed):
    """For each column the row, the number's name, the form and the figure of a line; None where there is no cell."""
    forms = table.get("forms", [table.get("form", "percent")] * len(table["columns"]))
    made = []
    for column, place, form, figure in zip(table["columns"], table["places"], forms, printed, strict=True):
        row, name = place.replace("*", key).replace("#", column.split()[0]).split("|")
        made.append(None if figure == ABSENT else (row, name, form, None if figure == NOTHING else figure))
    return made


def lines(artefact, table):
    """Titles and cells of a table's lines; where it has one for every routing, those that are not written out too."""
    written = [(title, cells(table, key, printed)) for key, title, *printed in table["lines"]]
    for routing in [name for name in ROUTINGS if "others" in table and name not in ("dynamic", "em")]:
        title, nothing = routing.replace("_", " "), [NOTHING] * len(table["columns"])
        keys = (
            {title: routing}
            if artefact == "cross/table"
            else {f"{title}, bias": f"{routing}_bias", f"{title}, no bias": routing}
        )
        written += [(said, cells(table, key, nothing)) for said, key in keys.items()]
    return written


def test_every_artefact_has_its_tables_here():
    """Sentences have no table in their papers."""
    here = {n: len(a.tables) for n, a in artefacts().items() if not n.endswith("sentences")}
    assert {name: len(tables) for name, tables in TABLES.items()} == here


@pytest.mark.parametrize(("artefact", "k"), [(name, k) for name, tables in TABLES.items() for k in range(len(tables))])
def test_a_table_shows_what_the_paper_printed_beside_the_right_number(artefact, k):
    made, table = artefacts()[artefact].tables[k], TABLES[artefact][k]
    assert made.title == table.get("title", "")
    assert list(made.columns) == table["columns"]
    found = [
        (title, [None if cell is None else (*cell.at, cell.form, cell.printed) for cell in line])
        for title, line in made.lines
    ]
    assert sorted(found, key=repr) == sorted(lines(artefact, table), key=repr)


def as_printed(artefact):
    """Evidence of five seeds, all of which found exactly what the paper printed."""
    numbers = {}
    for table in TABLES[artefact]:
        every = [cell for _, line in lines(artefact, table) for cell in line if cell is not None]
        for row, name, form, figure in every:
            if isinstance(figure, int | float):
                value = {"percent": figure / 100, "error": 1 - figure / 100}.get(form, figure)
                numbers[At(row, name)] = dict.fromkeys(range(5), Number(value))
    return numbers


ONSETS = {At(f"{row}{bias}{end}", "onset"): dict.fromkeys(range(5), Number(0.01))
          for row in ("rba", "em", *(f"{d}_{n}" for d in ("mnist", "fashion") for n in range(2, 10)))
          for bias in ("", "_bias") for end in ("", "_released")}  # fmt: skip
"""Every network of peer2021 started to learn early: what claims of chance need as a control."""
REFUTED = {("gu2021/table3", "lead")}
"""What the paper's own table contradicts: the specification says so."""
DECIDED = {
    "gu2021/table1": ["order"],
    "gu2021/table2": ["routing", "transformation", "squash", "loss", "plain", "reconstruction"],
    "gu2021/table3": ["capsnet", "convnet_fc", "convnet_avg", "avg_wins", "lead"],
    "gu2021/table4": ["routing", "transformation", "squash", "reconstruction", "loss", "plain", "most"],
    "gu2021/table5": ["conditional_mnist", "squash_mnist", "routing_mnist"],
    "chen2019/table2": ["mnist", "cifar10"],
    "chen2019/table3": ["epoch1", "epoch2", "epoch3", "later"],
    "chen2019/blackbox": ["below_units", "alike_units"],
    "mitterreiter2023/table1": ["static"],
    "mitterreiter2023/table2": ["deaths", "output", "norms", "active", "primary"],
    "peer2021/table1": ["no_bias", "bias"],
    "peer2021/table2": ["shallow", "deep", "bias"],
    "peer2021/table3": ["shallow", "seven", "deep", "bias"],
    "tsai2020/table1": [
        f"{name}_{data}" for name in ("routings", "backbones", "cnn", "resnet18") for data in ("cifar10", "cifar100")
    ],
    "tsai2020/figure5": ["order"],
}


@pytest.mark.parametrize(("artefact", "claim"), [(name, claim) for name, claims in DECIDED.items() for claim in claims])
def test_the_papers_own_figures_reproduce_its_claims(artefact, claim):
    found = Evidence({**ONSETS, **as_printed(artefact)})
    word = judge(artefacts()[artefact].claims[claim], found).word
    assert word == ("refuted" if (artefact, claim) in REFUTED else "reproduced")
