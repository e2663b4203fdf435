"""What is shown, from results written by hand; and that it can be computed again."""

import json
from dataclasses import replace

import pytest

from tests.bench.made_up import keep, line_of, share, training_line
from tests.bench.toy import toy
from torchcaps.bench import verify as verifying
from torchcaps.bench.listing import listing
from torchcaps.bench.page import write_page
from torchcaps.bench.summary import differences, summaries, write
from torchcaps.bench.verdict import CUT
from torchcaps.bench.verify import gaps, verify

ARTEFACT = toy(rows=("rba", "mid", "rba_bias"))
NAME = ARTEFACT.id
JOBS = {(job.row, job.seed): job for job in ARTEFACT.judgings("cpu")}


def done(jobs, first=50):
    """Rows apart by twenty percent, seeds by one."""
    rows = list(dict.fromkeys(job.row for job in jobs.values()))
    return [
        line_of(job, {"accuracy": share(first + 20 * rows.index(row) + seed)}, commit=f"c{seed}")
        for (row, seed), job in jobs.items()
    ]


def summary_of(tmp_path, lines, artefact=ARTEFACT):
    return summaries([artefact], "cpu", keep(tmp_path / "cpu", lines))[0].get(artefact.id)


def test_what_is_done_of_what_is_expected(tmp_path):
    lines = done(JOBS)[:4]
    broken = line_of(JOBS["rba_bias", 0], state="failed", commit="broken")
    trainings = [training_line(job.training, seconds=10.0) for job in JOBS.values()]
    found = summary_of(tmp_path, [*lines, broken, *trainings])
    assert (found["done"], found["expected"], found["seeds"]) == (4, 6, [0, 1])
    assert found["failed"] == [["rba_bias", 0, "failed", "no\nreason"]]
    assert found["commits"] == ["c0", "c1"]
    assert found["seconds"] == pytest.approx(4 * 1 + 2 * 10), "two rows share their trainings"
    assert (found["id"], found["paper"], found["scale"], found["kind"]) == (NAME, "peer2021", "cpu", "table")
    assert found["target"] is None
    assert {claim["id"]: claim["word"] for claim in found["claims"]} == {"no_bias": "not run", "bias": "not run"}


def test_an_artefact_all_of_whose_jobs_failed_is_shown(tmp_path):
    found = summary_of(tmp_path, [line_of(job, state="failed") for job in JOBS.values()])
    assert found["done"] == 0
    assert len(found["failed"]) == 6
    assert summaries([ARTEFACT], "cpu", tmp_path / "none")[0] == {}


def test_rows_are_compared_at_the_lowest_of_their_targets(tmp_path):
    rows = [
        replace(row, settings={"until_accuracy": at}) for row, at in zip(ARTEFACT.rows, (0.9, 0.8, 0.95), strict=True)
    ]
    aimed = replace(ARTEFACT, settings={**ARTEFACT.settings, "validation": 0.1}, rows=tuple(rows))
    lines = [line_of(job, {"accuracy": share(90)}) for job in aimed.judgings("cpu")]
    assert summary_of(tmp_path, lines, aimed)["target"] == 0.8


def test_a_hundredth_is_a_difference_and_so_is_what_is_new():
    assert differences({"a": 1.0}, {"a": 1.01}) == ["a: stored 1.0, computed 1.01"]
    assert differences({"a": 1.0}, {"a": 1.00001}) != []
    assert differences({"a": 1.0}, {"a": 1.0 + 1e-8}) == []
    assert differences({}, {"a": 1}) == ["a: stored None, computed 1"]
    assert differences({"a": 1}, {}) == ["a: stored 1, computed None"]


@pytest.fixture
def root(tmp_path):
    keep(tmp_path / "cpu", done(JOBS))
    write_page(tmp_path / "report.html", [ARTEFACT], write([ARTEFACT], tmp_path), tmp_path)
    return tmp_path


def test_nothing_differs_from_what_was_just_stored(root):
    assert verify([ARTEFACT], root, root / "report.html") == []


def test_what_was_changed_in_the_stored_verdicts_is_found(root):
    path = root / "cpu" / "verdicts.json"
    stored = json.loads(path.read_text())
    stored[NAME]["claims"][0]["word"] = "changed"
    path.write_text(json.dumps(stored))
    [found] = verify([ARTEFACT], root, root / "report.html")
    assert found.startswith(f"cpu.{NAME}.claims.0.word: stored 'changed', computed ")


def test_what_was_changed_on_the_page_is_found(root):
    page = root / "report.html"
    page.write_text(page.read_text().replace('"done": 6', '"done": 7'))
    assert verify([ARTEFACT], root, page) == [f"report.html.{NAME}.done: stored 7, computed 6"]


def test_damage_is_found(root):
    with (root / "cpu" / "judgings.jsonl").open("a") as file:
        file.write("noise\n")
    [found] = verify([ARTEFACT], root)
    assert found.startswith("damaged: ")
    assert "judgings.jsonl, line 7" in found


def claim(name, word="not run", reason="no result yet", members=()):
    return {"id": name, "word": word, "reason": reason, "members": list(members)}


def test_gaps_are_what_could_be_there_and_is_not(tmp_path, monkeypatch):
    cut, absent = claim("", reason=CUT), claim("", reason="rba: data unavailable")
    made = {
        "claims": [
            claim("there", "undecided"),
            claim("missing"),
            claim("cut", reason=CUT),
            claim("absent", reason="rba: data unavailable"),
            claim("all excused", members=[cut, absent, claim("", "reproduced")]),
            claim("half excused", reason="of 2 parts: 2 not run", members=[cut, claim("")]),
        ],
        "failed": [["rba", 0, "unavailable", "no network"], ["rba", 1, "failed", "it broke"]],
    }
    monkeypatch.setattr(verifying, "summaries", lambda *_: ({NAME: made}, []))
    other = toy(name="peer2021/table2")
    assert gaps([ARTEFACT, other], tmp_path, "cpu") == [
        "peer2021/table2: no results",
        f"{NAME}: missing has no number: no result yet",
        f"{NAME}: half excused has no number: of 2 parts: 2 not run",
        f"{NAME}: rba, seed 1 failed: it broke",
    ]


def test_the_list_has_every_claim_with_its_sentence_and_its_words(tmp_path):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "smoke").mkdir()
    verdicts = {"cpu": ("refuted", "undecided"), "smoke": ("not run", "shown")}
    for scale, words in verdicts.items():
        claims = [
            {"id": name, "word": word, "reason": "why"} for name, word in zip(ARTEFACT.sentences, words, strict=True)
        ]
        (tmp_path / scale / "verdicts.json").write_text(json.dumps({NAME: {"claims": claims}}))
    assert listing([ARTEFACT], tmp_path) == [
        {
            "id": "peer2021/table1",
            "title": "The sign of a number",
            "paper": "peer2021",
            "kind": "table",
            "claims": [
                {
                    "id": "no_bias",
                    "sentence": "Without a bias, routing by agreement and EM routing are at chance on the sign of a "
                    "number.",
                    "verdicts": {"smoke": "not run", "cpu": "refuted"},
                },
                {
                    "id": "bias",
                    "sentence": "With a bias both are above 99 %.",
                    "verdicts": {"smoke": "shown", "cpu": "undecided"},
                },
            ],
        }
    ]


def test_a_difference_is_told_in_a_line_however_much_it_is():
    [line] = differences(None, {"rows": ["a row"] * 1000}, "report.html")
    assert line.startswith("report.html: stored None, computed {'rows': ['a row', 'a row'")
    assert len(line) < 160
