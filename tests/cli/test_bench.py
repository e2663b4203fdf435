"""`torchcaps bench`: where results go, how many seeds are run, and how it ends."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.made_up import keep, line_of, share
from tests.bench.toy import toy
from torchcaps.bench.artefact import Budget


@pytest.fixture(autouse=True)
def _one_artefact(monkeypatch, here):
    monkeypatch.setattr("torchcaps.cli.bench._all", lambda: [toy()])
    for name in ("thawed", "unfrozen"):  # it is another table 1 than the frozen one
        monkeypatch.setattr(f"torchcaps.bench.freeze.{name}", lambda *_: [])


@pytest.fixture
def held(spy):
    spy("torchcaps.bench.executors.make_executor", side_effect=lambda *asked: asked)
    return spy("torchcaps.bench.runner.run", return_value=Counter())


def test_what_is_asked_for_is_run(held, invoke):
    done = invoke("bench", "run", "--scale", "cpu", "--seeds", 5, "--backend", "ray", "--workers", 3, "--results", "r")
    assert done.exit_code == 0, done.exception
    [artefact], scale, place, executor = held.call_args.args
    assert (artefact.id, scale, place.scale, executor) == ("peer2021/table1", "cpu", "cpu", ("ray", 3))
    assert (place.results, place.work) == (Path("r/cpu"), Path("r/.work"))
    assert held.call_args.kwargs["seeds"] == 5
    assert "10 judgings to do" in done.stdout, "two rows, five seeds"
    assert "with 3 processes" in done.stdout
    assert done.stdout.endswith("nothing was left to do\n")
    assert invoke("bench", "run", "--work", "w").exit_code == 0
    assert held.call_args.args[2].results == Path("results/smoke"), "a folder for each scale"
    assert held.call_args.args[2].work == Path("w")
    assert held.call_args.kwargs["seeds"] is None


def test_a_scale_takes_the_artefacts_that_have_it(held, invoke, monkeypatch):
    wide = replace(toy(name="peer2021/table2"), budgets={**toy().budgets, "trained": Budget(1)})
    monkeypatch.setattr("torchcaps.cli.bench._all", lambda: [toy(), wide])
    assert invoke("bench", "run", "--scale", "trained").exit_code == 0
    [artefact], scale, *_ = held.call_args.args
    assert (artefact.id, scale) == ("peer2021/table2", "trained")
    wrong = invoke("bench", "run", "peer2021/table1", "--scale", "trained")
    assert str(wrong.exception) == "peer2021/table1 has no scale 'trained': it has 'smoke', 'cpu'"


def test_a_dry_run_does_nothing(held, invoke, here):
    assert "4 judgings to do" in invoke("bench", "run", "--dry-run").stdout
    held.assert_not_called()
    assert not list(here.iterdir())


@pytest.mark.parametrize(("states", "code"), [({"done": 3, "failed": 2}, 1), ({"done": 5}, 0)])
def test_failed_jobs_are_an_error(states, code, held, invoke):
    held.return_value = Counter(states)
    done = invoke("bench", "run")
    assert done.exit_code == code
    assert ", ".join(f"{number} {state}" for state, number in states.items()) in done.stdout
    assert ("2 jobs failed" in str(done.exception)) == (code == 1)


def test_a_report_says_where_it_is(spy, invoke, here):
    write = spy("torchcaps.bench.summary.write", return_value={"a": "summary"})
    computed = spy("torchcaps.bench.summary.computed", return_value={"b": "summary"})
    page = spy("torchcaps.bench.page.write_page", side_effect=lambda out, *_: out)
    assert invoke("bench", "report", "--results", "r").stdout == "written: r/report.html\n"
    assert page.call_args.args[2:] == ({"a": "summary"}, Path("r"))
    computed.assert_not_called()
    assert invoke("bench", "report", "--out", "o.html").stdout == "written: o.html\n"
    assert page.call_args.args[2:] == ({"b": "summary"}, Path("results"))
    (here / "folder").mkdir()
    assert invoke("bench", "report", "--out", "folder").stdout == "written: folder/report.html\n"
    write.assert_called_once()
    write.return_value = {}
    for command in ("report", "verify"):
        done = invoke("bench", command, "--results", "none")
        assert str(done.exception) == "there are no results in none: torchcaps bench run makes some"


@pytest.fixture
def results(here):
    keep(here / "results" / "cpu", [line_of(job, {"accuracy": share(90)}) for job in toy().judgings("cpu")])
    return here / "results"


def test_a_report_elsewhere_writes_nothing_beside_the_results(results, invoke, here):
    assert invoke("bench", "report").exit_code == 0
    verdicts = results / "cpu" / "verdicts.json"
    verdicts.write_text(verdicts.read_text().replace("undecided", "reproduced"))
    (results / "report.html").unlink()
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert invoke("bench", "report", "--out", "elsewhere/page.html").exit_code == 0
    after = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before
    assert after.keys() - before.keys() == {here / "elsewhere" / "page.html"}
    assert invoke("bench", "verify", "--page", "elsewhere/page.html").exit_code == 1, "verdicts were changed"


def test_nothing_to_verify_is_an_error(results, invoke, here):
    (here / "empty").mkdir()
    empty = invoke("bench", "verify", "--results", "empty")
    assert (empty.exit_code, empty.stdout.splitlines()[0]) == (
        1, "there are no results in empty: torchcaps bench run makes some"
    )  # fmt: skip
    assert invoke("bench", "report").exit_code == 0
    assert invoke("bench", "verify").exit_code == 0
    (results / "report.html").unlink()
    missing = invoke("bench", "verify")
    assert missing.exit_code == 1
    assert missing.stdout.startswith("results/report.html is missing: torchcaps bench report --results results --out ")


def test_pictures_that_were_not_compared_are_told(spy, invoke, here):
    spy("torchcaps.bench.verify.verify", return_value=[])
    drawn = spy("torchcaps.bench.page_check.drawn_elsewhere", return_value=3)
    (here / "results").mkdir()
    told = invoke("bench", "verify").stdout.splitlines()
    assert told[1:] == ["3 pictures of the page were drawn by another version of Matplotlib: they were not compared"]
    assert drawn.call_args.args == (Path("results/report.html"),)


def test_differences_and_gaps_are_errors(spy, invoke, here):
    verify = spy("torchcaps.bench.verify.verify", return_value=[])
    gaps = spy("torchcaps.bench.verify.gaps", return_value=["no figure4"])
    (here / "results").mkdir()
    fine = invoke("bench", "verify")
    assert (fine.exit_code, fine.stdout) == (0, "every verdict and every table is what the results say\n")
    assert verify.call_args.args[1:] == (Path("results"), Path("results/report.html"))
    gaps.assert_not_called()
    missing = invoke("bench", "verify", "--complete", "cpu")
    assert (missing.exit_code, missing.stdout) == (1, "no figure4\n")
    assert gaps.call_args.args[2] == "cpu"
    verify.return_value = ["a word", "a table"]
    wrong = invoke("bench", "verify", "--page", "other.html")
    assert (wrong.exit_code, wrong.stdout) == (1, "a word\na table\n")
    assert "2 differences" in str(wrong.exception)
    assert verify.call_args.args[2] == Path("other.html")


def test_the_list_tells_verdicts_by_scale(spy, invoke):
    claims = [{"id": "better", "verdicts": {"smoke": "unclear", "cpu": "refuted"}}, {"id": "faster", "verdicts": {}}]
    spy("torchcaps.bench.listing.listing", return_value=[{"id": "gu2021/table1", "title": "Digits", "claims": claims}])
    assert invoke("bench", "list").stdout.splitlines() == [
        "gu2021/table1: Digits",
        "  better: unclear at smoke, refuted at cpu",
        "  faster: not run",
    ]


def test_what_is_not_as_frozen_is_an_error(spy, invoke, here):
    spy("torchcaps.bench.verify.verify", return_value=[])
    spy("torchcaps.bench.freeze.thawed", return_value=["claim order is another"])
    spy("torchcaps.bench.freeze.unfrozen", return_value=["was not frozen"])
    (here / "results").mkdir()
    done = invoke("bench", "verify")
    assert (done.exit_code, done.stdout) == (1, "claim order is another\nwas not frozen\n")


def test_a_paper_is_frozen(spy, invoke):
    freeze = spy("torchcaps.bench.freeze.freeze", return_value=Path("frozen.json"))
    assert invoke("bench", "freeze", "peer2021", "--results", "r").stdout == "written: frozen.json\n"
    assert (freeze.call_args.args[0], freeze.call_args.args[2]) == ("peer2021", Path("r"))
