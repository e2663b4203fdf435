"""What is shown: verdicts, tables and the page, and that they can be computed again."""

import json
import re
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tests.bench.toy import inline, place, toy
from torchcaps.bench import store
from torchcaps.bench.artefact import Picture
from torchcaps.bench.listing import listing
from torchcaps.bench.page import embedded, write_page
from torchcaps.bench.runner import run
from torchcaps.bench.summary import differences, summaries, write
from torchcaps.bench.verify import gaps, verify
from torchcaps.cli import app


def draw(found, page):
    axes = page.add_subplot()
    axes.plot([entry["loss"] for entry in found.histories("rba")[0]])
    axes.set_title(f"seeds {found.seeds('rba')}")


ARTEFACT = replace(
    toy(others={"broken <b>": {"options": {"depth": 3}}}),
    pictures=(Picture("Loss", "The paper has no such figure.", draw),),
    about="How & why",
)


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("once")
    run([ARTEFACT], "cpu", place(folder), inline)
    return folder / "results"


@pytest.fixture
def root(once, tmp_path):
    return shutil.copytree(once, tmp_path / "results")


@pytest.fixture
def page(root):
    return write_page(root / "report.html", [ARTEFACT], write([ARTEFACT], root), root)


def test_the_table_has_the_papers_rows_and_ours_beside(root):
    one = summaries([ARTEFACT], "cpu", root / "cpu")[0]["peer2021/table1"]
    [table] = one["tables"]
    assert [title for title, _ in table["lines"]] == ["rba", "rba_bias", "broken <b>"]
    [cell] = table["lines"][0][1]
    low, high = cell["interval"]
    assert cell["printed"] == 49.61
    assert low < cell["ours"] < high
    assert cell["seeds"] == 2
    assert table["lines"][2][1][0]["ours"] is None
    assert [entry[0] for entry in one["failed"]] == ["broken <b>"] * 2
    assert {claim["id"]: claim["word"] for claim in one["claims"]}.keys() == {"no_bias", "bias"}


def test_the_page_needs_nothing_but_itself_and_escapes_what_it_shows(page):
    text = page.read_text()
    assert "broken &lt;b&gt;" in text
    assert "broken <b>" not in text
    assert "How &amp; why" in text
    assert not re.search(r'(src|href|srcset)="(?!data:|#)', text)
    assert text.count("data:image/svg+xml;base64,") == 2
    assert "torchcaps bench run peer2021/table1 --scale cpu" in text
    assert embedded(text)["peer2021/table1"]["scale"] == "cpu"


def test_verify_finds_nothing_where_all_is_well(root, page):
    assert verify([ARTEFACT], root, page) == []


def test_verify_finds_a_verdict_that_was_changed(root, page):
    path = root / "cpu" / "verdicts.json"
    stored = json.loads(path.read_text())
    stored["peer2021/table1"]["claims"][0]["word"] = "reproduced!"
    path.write_text(json.dumps(stored))
    [found] = verify([ARTEFACT], root, page)
    assert found.startswith("cpu.peer2021/table1.claims.0.word: stored 'reproduced!'")


def test_verify_finds_a_figure_changed_on_the_page(root, page):
    text = page.read_text()
    ours = embedded(text)["peer2021/table1"]["tables"][0]["lines"][0][1][0]["ours"]
    page.write_text(text.replace(f'"ours": {ours}', '"ours": 99.9'))
    assert any("ours: stored 99.9" in found for found in verify([ARTEFACT], root, page))


def test_verify_finds_results_that_were_changed_or_taken_away(root, page):
    path = root / "cpu" / "peer2021-table1.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0].replace('"seed": 0', '"seed": 9'), *lines[2:]]) + "\n")
    found = verify([ARTEFACT], root, page)
    assert any(f"{path}, line 1" in difference for difference in found)
    assert any("done" in difference for difference in found)


def test_merged_in_any_order_the_report_is_the_same(root, tmp_path):
    before = summaries([ARTEFACT], "cpu", root / "cpu")[0]
    lines = [line for path in sorted((root / "cpu").glob("*.jsonl")) for line in path.read_text().splitlines()]
    for name, order in (("forth", lines), ("back", lines[::-1])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "all.jsonl").write_text("\n".join(order) + "\n")
        after, problems = summaries([ARTEFACT], "cpu", tmp_path / name)
        assert not problems
        assert json.dumps(after) == json.dumps(before)


def test_gaps_name_what_is_missing(root):
    assert any("broken" in gap for gap in gaps([ARTEFACT], root, "cpu"))
    assert gaps([ARTEFACT], root, "smoke") == ["peer2021/table1: no results"]
    assert gaps([ARTEFACT], root, "trained") == [], "it has no such scale"


def test_differences_are_named_by_their_place():
    assert differences({"a": [1.0, {"b": 2}]}, {"a": [1.0 + 1e-9, {"b": 3}]}) == ["a.1.b: stored 2, computed 3"]
    assert differences({"a": 1}, {"a": 1, "c": 2}) == ["c: stored None, computed 2"]
    assert differences([1], [1, 2], "x") == ["x: stored [1], computed [1, 2]"]


def test_the_list_has_sentences_and_stored_verdicts(root):
    [before] = listing([ARTEFACT], root)
    assert before["claims"][0]["verdicts"] == {}
    write([ARTEFACT], root)
    [entry] = listing([ARTEFACT], root)
    assert set(entry) == {"id", "title", "paper", "kind", "claims"}
    assert entry["claims"][0]["sentence"].startswith("Without a bias")
    assert set(entry["claims"][0]["verdicts"]) == {"cpu"}


def test_the_command_lists_and_plans(tmp_path):
    told = CliRunner().invoke(app, ["bench", "list", "--json", "--results", str(tmp_path)])
    entries = {entry["id"]: entry for entry in json.loads(told.stdout)}
    assert entries["peer2021/table1"]["claims"][1]["sentence"] == "With a bias both are above 99 %."
    told = CliRunner().invoke(app, ["bench", "run", "peer2021/table1", "--dry-run", "--results", str(tmp_path)])
    assert told.stdout.startswith("8 judgings to do, 0 finished; 8 trainings between them")
    assert not list(tmp_path.iterdir())
    wrong = CliRunner().invoke(app, ["bench", "run", "peer2021/tabel1"])
    assert str(wrong.exception).startswith("there is no artefact 'peer2021/tabel1': did you mean 'peer2021/table1'")
    empty = CliRunner().invoke(app, ["bench", "report", "--results", str(tmp_path)])
    assert "there are no results" in str(empty.exception)


def test_stored_results_are_what_the_report_says(tmp_path):
    from pathlib import Path

    from torchcaps.bench.papers import artefacts

    root, plain = Path(__file__).parents[2] / "results", [replace(one, pictures=()) for one in artefacts().values()]
    before = (root / "cpu" / "verdicts.json").read_bytes()
    page = write_page(tmp_path / "report.html", plain, write(plain, root), root)
    assert verify(plain, root, page) == []
    assert (root / "cpu" / "verdicts.json").read_bytes() == before, "float noise is not written"
    assert store.results(root / "cpu")[1] == []
