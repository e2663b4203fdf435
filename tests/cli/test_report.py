"""`torchcaps report`: which runs, by which names, into which file."""

from pathlib import Path

import pytest

from torchcaps.cli.report import named


def test_runs_and_images_reach_the_page(a_run, spy, invoke):
    run, made = a_run(), spy("torchcaps.report.report_on", return_value=Path("page.html"))
    done = invoke("report", "run", "--images", 7, "--out", "page.html")
    assert (done.exit_code, done.stdout) == (0, "The page is page.html\n")
    assert made.call_args.args == ({"run": run}, Path("page.html"))
    assert made.call_args.kwargs["images"] == 7


def test_every_run_has_a_name_of_its_own(here):
    assert named([Path(), Path("a/run"), Path("b/run"), Path("a/run")]) == {
        "here": Path(),
        "a/run": Path("a/run"),
        "b/run": Path("b/run"),
    }


@pytest.mark.parametrize("out", ["notes.txt", "run/run.json", "page", "run", "folder.html", "run/run.json/page.html"])
def test_a_page_takes_the_place_of_pages_only(out, a_run, spy, invoke, here):
    a_run()
    made = spy("torchcaps.report.report_on", return_value=Path("page.html"))
    (here / "folder.html").mkdir()
    (here / "notes.txt").write_text("mine")
    assert f"{out} is not allowed for a page" in str(invoke("report", "run", "--out", out).exception)
    made.assert_not_called()
    (here / "old.htm").write_text("an older page")
    assert invoke("report", "run", "--out", "old.htm").exit_code == 0
