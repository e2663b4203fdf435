"""Pages speak of files that are there, link to places that are there, and those written by programs are up to date."""

import doctest
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pages import choosing, deviations, doctests, figures, findings, found, links, readme, reference
from pages.__main__ import PAGES as WRITTEN
from tests.docs.markdown import PAGES, ROOT, blocks
from torchcaps.bench.papers import artefacts

FILES = re.compile(r"`((?:torchcaps|tests|benchmarks|examples|docs|pages)/[\w./-]+)`")
LINKS = re.compile(r"\]\(([^)\s]+)\)")


def text_of(page):
    text = (ROOT / page).read_text()
    for block in blocks(page):
        text = text.replace(block.text, "")
    return text


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_files_that_are_named_are_there(page):
    missing = [name for name in FILES.findall(text_of(page)) if "<" not in name and not (ROOT / name).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_to_files_lead_somewhere(page):
    """As a reader of the repository follows them; anchors are checked on the site."""
    for link in LINKS.findall(text_of(page)):
        if not re.match(r"[a-z]+:", link) and not link.startswith("#"):
            assert (ROOT / page.parent / link.partition("#")[0]).exists(), link


@pytest.mark.parametrize("name", WRITTEN)
def test_written_pages_are_up_to_date(name):
    assert (ROOT / "docs" / name).read_text() == WRITTEN[name](), "run `make pages`"


def test_the_readme_is_up_to_date():
    text = readme.README.read_text()
    assert text.count(readme.BEGIN) == text.count(readme.END) == 1
    assert text == readme.render(text), "run `make pages`"


def test_the_written_part_of_the_readme_is_the_table_of_sentences():
    made = readme.render(f"before\n{readme.BEGIN}old\n{readme.END}after\n", Path("nowhere"))
    assert made.startswith(f"before\n{readme.BEGIN}\n| sentence | paper, A/B | verdict |")
    assert "old" not in made
    assert made.endswith(f"|\n\n{readme.END}after\n")


def test_intervals_tell_who_is_behind():
    def line(title, ours, width):
        return [title, [{"ours": ours, "interval": [ours - width, ours + width], "form": "percent"}]]

    lines = [line("near", 89, 2), line("best", 92, 1.5), line("far", 80, 3), ["absent", [None]]]
    summary = {"tables": [{"columns": ["clean"], "lines": lines}]}
    assert choosing.behind(summary, "clean") == ("best", ["near"], ["far"])
    lines[0] = line("near", 89, 1.4)
    assert choosing.behind(summary, "clean") == ("best", [], ["near", "far"])


def test_drawings_and_reference_are_up_to_date(tmp_path):
    figures.write(tmp_path / "figures")
    reference.write(tmp_path / "reference")
    for folder in ("figures", "reference"):
        made = {path.name: path.read_text() for path in (tmp_path / folder).iterdir()}
        assert made == {path.name: path.read_text() for path in (ROOT / "docs" / folder).iterdir()}, "run `make pages`"


def test_findings_come_from_results(monkeypatch):
    claim = {"id": "order", "word": "refuted", "reason": "0.1, 95 % interval 0 to 0.2", "needs": ""}
    cell = {"ours": 81.26, "interval": [79.0, 83.52], "form": "percent", "printed": 94.11}
    table = {"title": "MNIST", "columns": ["affine", "clean"], "lines": [["ConvNet-Avg", [cell, None]]]}
    told = {"scale": "cpu", "seeds": [0, 1, 2], "cuts": ["half the images"]}
    summary = {"claims": [claim], "tables": [table], **told}
    assert f"0 of {len(artefacts())} artefacts have results" in findings.render(Path("nowhere"))
    monkeypatch.setattr(found, "summaries", lambda *_: ({"gu2021/table1": summary}, []))
    part = findings.of_paper("gu2021", Path("nowhere")).split("## gu2021/table1")[1].split("##")[0]
    assert "At scale `cpu`, 3 seeds. Cut: half the images." in part
    assert '| <span class="verdict refuted">refuted</span> | 0.1, 95 % interval 0 to 0.2 |' in part
    assert "| MNIST | affine | clean |\n|---|---|---|\n| ConvNet-Avg | 81.3 (79.0 – 83.5) [94.1] |  |\n" in part
    assert f"1 of {len(artefacts())} artefacts have results" in findings.overview(found.chosen(Path("nowhere")))


def test_deviations_tell_what_changed_and_what_would_have_been(tmp_path):
    (tmp_path / "cpu").mkdir()
    listed = tmp_path / "deviations.toml"
    listed.write_text("""[[change]]
date = "2026-12-01"
artefact = "a/b"
row = "c"
scale = "cpu"
before = "0123"
after = "4567"
what = "Wider."
reason = "It was too narrow."
without = "Refuted."
""")
    page = deviations.render(listed, tmp_path)
    assert "## 2026-12-01: a/b, row `c`, scale `cpu`\n\nWider.\n" in page
    assert "*Why.* It was too narrow.\n\n*Without it.* Refuted.\n\n*Digests.* `0123`, since then `4567`." in page
    assert "old rule" not in page, "nothing was kept"
    entry = {"date": "2026-12-02", "reason": "A disk.", "jobs": ["x", "y"], "before": "a" * 64, "after": "b" * 64}
    (tmp_path / "cpu/lines.json").write_text(json.dumps({"accepted": [entry]}))
    assert "2 lines changed or vanished. *Why.* A disk." in deviations.render(listed, tmp_path)
    kept = {"note": "Kept.", "verdicts": {"a/b": {"one": {"word": "refuted"}, "two": {"word": "reproduced"}}}}
    (tmp_path / deviations.OLD).write_text(json.dumps(kept))
    (tmp_path / "cpu/verdicts.json").write_text('{"a/b": {"claims": [{"id": "one", "word": "undecided"}]}}')
    page = deviations.render(listed, tmp_path)
    still = "of 1 that were reproduced 0 still are; of 1 that were refuted 0 still are"
    assert f"Kept.\n\nOf 2 claims 2 have another word; {still}.\n" in page
    said = re.sub("<.*?>", "", page)
    assert "| a/b `one` | refuted | undecided |\n| a/b `two` | reproduced | withdrawn |\n" in said


def test_deviations_begin_with_what_changed_before_the_freeze():
    page = (ROOT / "docs/deviations.md").read_text()
    for said in ("mitterreiter2023/table3, claim `multiply_adds`", "1.858", "40.3 %", "16.3 %", "the rule\n"):
        assert said in page


def test_findings_show_the_larger_scale_first(monkeypatch):
    """Trained networks say more than those stopped early; what has no cpu scale is told to be run where it can."""
    first, second, third = (replace(artefacts()[name], about="") for name in list(artefacts())[:3])
    trained = replace(second, budgets={"smoke": second.budgets["smoke"], "trained": second.budgets["cpu"]})
    for module in (findings, found):
        monkeypatch.setattr(module, "artefacts", lambda: {one.id: one for one in (first, trained, third)})
    at = lambda scale: {"claims": [], "tables": [], "scale": scale, "seeds": [0], "cuts": []}  # noqa: E731
    made = {"cpu": {first.id: at("cpu"), third.id: at("cpu")}, "trained": {first.id: at("trained")}, "paper": {}}
    monkeypatch.setattr(found, "summaries", lambda _, scale, __: (made[scale], []))
    parts = findings.of_paper("gu2021", Path("nowhere")).split("\n## ")
    assert f"`torchcaps bench run {second.id} --scale trained`" in parts[2]
    assert ["At scale `trained`" in parts[1], "At scale `cpu`" in parts[3]] == [True, True]


def test_every_artefact_with_results_has_words_and_pictures():
    """Why we think that it came out so stands beside every verdict."""
    for name in json.loads((ROOT / "results/cpu/verdicts.json").read_text()):
        assert (findings.THOUGHTS / f"{name.replace('/', '-')}.md").is_file(), name
        for file, _ in findings.pictures(artefacts()[name]):
            assert (ROOT / "docs/findings" / file).is_file(), "run `make pages`"


def test_docstrings_are_made_ready_for_the_site():
    assert doctest.testmod(doctests) == (0, 2)


def test_broken_links_of_a_site_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">x</a><a href="b.html#gone">x</a><a href="c.html">x</a>')
    (tmp_path / "b.html").write_text('<h1 id="here"></h1><a href="https://elsewhere.org">x</a><img src="no.png">')
    broken, outside = links.check(tmp_path)
    assert broken == ["a.html: b.html#gone", "a.html: c.html", "b.html: no.png"]
    assert outside == ["https://elsewhere.org"]


def test_every_page_is_in_the_navigation():
    listed = (ROOT / "mkdocs.yml").read_text()
    docs = [page.relative_to("docs") for page in PAGES if page.is_relative_to("docs")]
    assert not [str(page) for page in docs if f" {page}" not in listed]
