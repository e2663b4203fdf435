"""The report of made-up summaries, read back from the page."""

import base64
import re
from dataclasses import replace

import pytest

from tests.bench.made_up import keep, line_of
from tests.bench.toy import toy
from torchcaps.bench import page as paging
from torchcaps.bench.artefact import Picture
from torchcaps.bench.page import Entry, counts, embedded, expected_wrong, has_printed, render, shown, write_page

NASTY = "</script><b>bold</b>"


def cell(printed=None, ours=50.0, apart=0, interval=(40.0, 60.0)):
    return {"printed": printed, "ours": ours, "interval": interval, "seeds": 3, "form": "percent", "apart": apart}


def made(name="peer2021/table1", scale="cpu", **more):
    """A summary as `summary` makes them."""
    plain = {"id": name, "title": "Title", "paper": name.split("/")[0], "kind": "table", "scale": scale, "target": 0.8}
    plain |= {"seeds": [0, 1, 2], "claims": [], "tables": [], "about": "", "cuts": [], "done": 2, "expected": 3}
    return {**plain, "failed": [], "seconds": 9600.0, "commits": [], **more}


def claim(name, word, *, counted=False, **more):
    plain = {"id": name, "sentence": f"Sentence of {name}.", "deterministic": counted, "word": word, "told": name}
    return {**plain, "reason": f"why {name}", "needs": "", "members": [], **more}


CLAIMS = [
    claim("r1", "reproduced"),
    claim("r2", "refuted"),
    claim("r3", "refuted"),
    claim("u1", "undecided", needs="five seeds"),
    claim("s1", "shown"),
    claim("c1", "reproduced", counted=True),
    claim("c2", "undecided", counted=True),
    claim("c3", "undecided", counted=True),
]
TABLE = {
    "title": "Numbers",
    "columns": ["clean", "affine"],
    "lines": [
        ["First", [cell(90.0, 80.0, -1), cell(10.0, 20.0, 1)]],
        ["Second", [None, cell(None, None, 0, None)]],
        ["Third", [cell(0, 0.5, 0), cell("> 9", 9.5)]],
    ],
}


def text(*summaries):
    return re.sub(r"\s+", " ", render([Entry(one) for one in summaries], 28))


def test_verdicts_are_counted_apart_and_a_share_is_decided():
    entries = [Entry(made(claims=CLAIMS))]
    assert counts(entries) == {
        "trained": {"reproduced": 1, "refuted": 2, "undecided": 1, "shown": 1},
        "deterministic": {"reproduced": 1, "undecided": 2},
    }
    trained, counted = re.findall(r'<p class="tally">(.*?)</p>', text(made(claims=CLAIMS)))
    assert "5 claims about trained networks" in trained
    assert "decided: 75 %" in trained  # 3 of 4: what is only shown cannot be decided
    assert "3 claims that are counted, not trained" in counted
    assert "decided: 33 %" in counted


def test_how_many_wrong_decisions_are_to_be_expected():
    claims = [
        claim("decided", "refuted", look=5, seeds=0),
        claim("open", "undecided", seeds=5),
        claim("few", "undecided", seeds=4),
        claim("counted", "reproduced", counted=True, seeds=9),
    ]
    assert expected_wrong([Entry(made(claims=claims))]) == (2, pytest.approx(0.1))
    told = "2 claims about trained networks have been looked at. If the seeds are roughly normal, at most 0.1 of them"
    assert told in text(made(claims=claims))


def test_every_claim_is_there_with_its_verdict_reason_and_needs():
    page = text(made(claims=CLAIMS))
    cards = re.findall(r'<div class="card claim" id="peer2021-table1-(\w+)">(.*?)</div>', page)
    assert [name for name, _ in cards] == [one["id"] for one in CLAIMS]
    for (_, card), one in zip(cards, CLAIMS, strict=True):
        assert f'<span class="chip {one["word"]}">{one["word"]}</span> {one["sentence"]}' in card
        assert f"why {one['id']}." in card
        assert ("It would take five seeds." in card) == bool(one["needs"])


def test_the_papers_figures_stand_before_ours_which_are_marked():
    page = text(made(tables=[TABLE]))
    head, body = re.search(r"<thead>(.*?)</thead> <tbody>(.*?)</tbody>", page).groups()
    assert re.findall(r"<th[^>]*>(\w+)</th>", head) == ["clean", "affine", "paper", "here", "paper", "here"]
    first, second, third = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", body)
    marked = re.findall(r'<td class="(\w*)"[^>]*>(?:<b>)?(.*?)(?:</b>.*?)?</td>', first)
    assert marked == [("printed", "90.0"), ("lower", "80.0"), ("printed", "10.0"), ("higher", "20.0")]
    assert re.findall(r'<td class="(\w*)"[^>]*>(?:<b>)?(.*?)(?:</b>.*?)?</td>', second) == [("printed", "–"), ("", "–")]
    assert re.findall(r'<td class="printed">(.*?)</td>', third) == ["0.0", "&gt; 9"]
    assert "<small>40.0 – 60.0</small>" in first


def test_a_table_has_a_column_of_the_papers_only_if_it_printed_something():
    lines = lambda printed: {**TABLE, "lines": [["Only", [cell(printed), None]]]}  # noqa: E731
    assert [has_printed(lines(printed)) for printed in (None, 0, 0.0, 1.5, "–")] == [False, True, True, True, True]
    assert ">paper</th>" not in text(made(tables=[lines(None)]))


def test_facts_of_the_run_are_told():
    page = text(made(cuts=["half the images"], failed=[["row", 1, "failed", "it broke"]]))
    for told in ("cpu, rows compared at 80 %, 3 seeds, 2 of 3 judgings", "half the images", "row, seed 1: it broke",
                 "2 h 40 min of one core", "1 of 28 tables and figures"):  # fmt: skip
        assert told in page


def test_whatever_stands_in_the_results_stays_text():
    one = made(title=NASTY, about=NASTY, claims=[claim("x", "refuted", sentence=NASTY, reason=NASTY)])
    page = render([Entry(one)], 1)
    assert "<b>bold" not in page
    assert "&lt;b&gt;bold" in page
    assert page.count("</script>") == 1
    assert embedded(page) == {one["id"]: one}


def test_the_largest_scale_that_has_results_is_shown():
    smoke, cpu, paper = ({"scale": scale} for scale in ("smoke", "cpu", "paper"))
    results = {"smoke": {"a": smoke, "b": smoke}, "cpu": {"a": cpu}, "paper": {"c": paper}}
    assert shown(results) == {"a": cpu, "b": smoke, "c": paper}
    assert shown({"paper": {"a": paper}, "cpu": {"a": cpu}}) == {"a": paper}
    trained = {"scale": "trained"}
    assert shown({"trained": {"a": trained, "b": trained}, "cpu": {"a": cpu}, "paper": {"b": paper}}) == {
        "a": trained,
        "b": paper,
    }


def drawing(found, page):
    """A picture that tells by its text which results and which ground it was drawn for."""
    import matplotlib as mpl

    page.text(0.5, 0.5, f"{found.scale} {found.seeds('rba')} {mpl.rcParams['text.color']}")


@pytest.fixture
def drawn_page(tmp_path, monkeypatch):
    monkeypatch.setattr(
        paging, "_draw", lambda picture, found, *, dark: f"data:{picture.title}-{found.seeds('rba')}-{dark}"
    )
    artefact = replace(toy(), pictures=(Picture("Loss", "The paper's shows less.", drawing),))
    rba = [job for job in artefact.judgings("cpu") if job.row == "rba"]
    keep(tmp_path / "smoke", [line_of(rba[0], {"accuracy": 1.0})])
    keep(tmp_path / "cpu", [line_of(job, {"accuracy": 1.0}) for job in rba])
    summaries = {scale: {artefact.id: made(scale=scale)} for scale in ("smoke", "cpu")}
    return write_page(tmp_path / "new" / "report.html", [artefact, toy(name="peer2021/table2")], summaries, tmp_path)


def test_pictures_are_of_the_scale_shown_light_and_dark(drawn_page):
    page = drawn_page.read_text()
    [picture] = re.findall(r"<picture>(.*?)</picture>", page)
    assert 'media="(prefers-color-scheme: dark)" srcset="data:Loss-[0, 1]-True"' in picture
    assert 'src="data:Loss-[0, 1]-False"' in picture
    assert "The paper&#39;s shows less." in page
    assert "1 of 2 tables and figures" in page
    assert embedded(page)["peer2021/table1"]["scale"] == "cpu"


def test_a_picture_is_drawn_for_its_ground():
    artefact = toy()
    found = paging.gather(artefact, "cpu", {})
    light, dark = (paging._draw(Picture("Loss", "", drawing), found, dark=dark) for dark in (False, True))
    assert light != dark
    assert b"<svg" in base64.b64decode(light.removeprefix("data:image/svg+xml;base64,"))
