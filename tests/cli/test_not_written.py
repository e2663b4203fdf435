"""What was computed is shown even if it cannot be kept; then a line names the file, and the command fails."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.bench.made_up import keep, line_of, share
from tests.bench.toy import toy
from tests.cli.test_attack import FOUND
from tests.full_disk import WHY, room_for
from tests.train.separable import Separable
from torchcaps._atomic import NotWrittenError
from torchcaps.cli import main
from torchcaps.measures import AccuracyResult, Nothing

CLASSES = ("black", "white")
COUNTED = AccuracyResult(CLASSES, 1, 2, None, "gA==", (1, 1), ((1, 0), (1, 0)))


def refused(done, path, shown):
    """A command that showed something, and then failed because of a file."""
    assert isinstance(done.exception, NotWrittenError), done.exception
    assert str(done.exception) == f"{path} could not be written: {WHY}"
    assert shown in done.stdout
    assert done.exit_code == 1
    assert not list(Path().rglob("*.part"))


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_attacks(words, a_run, spy, invoke):
    run = a_run(CLASSES, (1, 1, 1))
    spy("torchcaps.train.Run.test_data", return_value=Separable())
    spy("torchcaps.attacks.robustness", return_value=FOUND)
    with room_for(10):
        done = invoke("attack", "run", "--method", "fgsm", *words)
    refused(done, run.directory / "attacks" / "fgsm-linf.json", '"kind"' if words else str(FOUND))
    assert list((run.directory / "attacks").iterdir()) == []


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_evaluations(words, a_run, spy, invoke):
    run = a_run(CLASSES, (1, 1, 1))
    spy("torchcaps.train.Run.test_data", return_value=Separable())
    spy("torchcaps.measures.judge", return_value={"clean": COUNTED})
    with room_for(10):
        done = invoke("evaluate", "run", *words)
    refused(done, run.directory / "inspect" / "accuracy.json", '"confusion"' if words else "50.00%")


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_inspections(words, a_run, spy, invoke):
    run = a_run(CLASSES, (1, 1, 1))
    spy("torchcaps.train.Run.test_data", return_value=Separable())
    spy("torchcaps.measures.inspect", return_value={"activity": Nothing("activity", "the reason why")})
    with room_for(10):
        done = invoke("inspect", "run", *words)
    refused(done, run.directory / "inspect" / "activity.json", "the reason why")


def test_predictions(a_run, spy, invoke, here):
    """One picture that cannot be written is said once; nothing is drawn after it."""
    a_run(CLASSES, (1, 1, 1))
    for k in range(2):
        Image.fromarray(np.full((1, 1), k, np.uint8)).save(here / f"{k}.png")
    drawn = spy("torchcaps.explain.figure_of_couplings")
    drawn.return_value.savefig = lambda part, **_: part.write_bytes(bytes(100))
    with room_for(10):
        done = invoke("predict", "run", "0.png", "1.png", "--explain", "--to", "pictures")
    refused(done, Path("pictures/0.png"), "1.png")
    assert drawn.call_count == 1


@pytest.mark.usefixtures("no_shape_checks")
def test_pages(a_run, spy, invoke):
    """Where neither the measures nor the page can be written, the measures are printed."""
    run = a_run(CLASSES, (1, 1, 1))
    spy("torchcaps.train.Run.test_data", return_value=Separable())
    spy("torchcaps.report.runs.inspect", return_value={"activity": Nothing("activity", "the reason why")})
    for part in ("about", "others", "perturbations"):
        spy(f"torchcaps.report.runs.{part}", return_value=[])
    with room_for(10), pytest.warns(UserWarning, match=r"activity\.json could not be written: .*, but not kept"):
        done = invoke("report", "run", "--images", 4)
    refused(done, Path("report.html"), "run\n═══\nactivity\n────────\n")
    assert "the reason why" in done.stdout
    (run.directory / "inspect").rmdir()
    (run.directory / "inspect").write_text("in the way")
    with pytest.warns(UserWarning, match=r"activity\.json could not be written"):
        done = invoke("report", "run", "--images", 4)
    assert (done.exit_code, done.stdout) == (0, "The page is report.html\n"), "a run need not be writable for a page"


@pytest.mark.parametrize("name", ["verdicts.json", "report.html"])
def test_verdicts(name, monkeypatch, invoke, here):
    monkeypatch.setattr("torchcaps.cli.bench._all", lambda: [toy()])
    keep(here / "results" / "cpu", [line_of(job, {"accuracy": share(50)}) for job in toy().judgings("cpu")])
    assert invoke("bench", "report").exit_code == 0
    path = here / "results" / ("cpu/verdicts.json" if name == "verdicts.json" else name)
    path.unlink()
    path.mkdir()
    done = invoke("bench", "report")
    assert str(done.exception) == f"{path} could not be written: Is a directory"
    assert done.exit_code == 1
    assert done.stdout == "peer2021/table1, no_bias: undecided at cpu\npeer2021/table1, bias: undecided at cpu\n"


def test_the_shell_is_told_which_file(monkeypatch, capsys, spy, a_run):
    a_run(CLASSES, (1, 1, 1))
    spy("torchcaps.train.Run.test_data", return_value=Separable())
    spy("torchcaps.measures.inspect", return_value={"activity": Nothing("activity", "the reason why")})
    monkeypatch.setattr(sys, "argv", ["torchcaps", "inspect", "run", "--json"])
    with room_for(10), pytest.raises(SystemExit) as stop:
        main()
    said = capsys.readouterr()
    assert stop.value.code == 1
    assert said.err == f"torchcaps: run/inspect/activity.json could not be written: {WHY}\n"
    assert json.loads(said.out)["activity"]["why"] == "the reason why"
