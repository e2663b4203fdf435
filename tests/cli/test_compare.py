"""A comparison on real photographs, from the command to the page."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tests.bench.photographs import PHOTOGRAPHS, make_folder
from torchcaps.bench.compare.contest import Contest, Entrant
from torchcaps.cli import app

TINY = ["--seeds", "2", "--steps", "2", "--width", "0.05", "--image-size", "20", "--workers", "1"]


def compare(*words):
    return CliRunner().invoke(app, ["compare", *map(str, words)])


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("own") / "photos")


@pytest.fixture(scope="module")
def finished(photographs, tmp_path_factory):
    out = tmp_path_factory.mktemp("compared")
    done = compare(photographs, "--tests", "clean,affine,pgd", "--out", out, *TINY)
    assert done.exit_code == 0, done.exception
    return out, done


@pytest.mark.timeout(600)
def test_photographs_from_start_to_page(photographs, finished):
    out, done = finished
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    page = (out / "report.html").read_text(encoding="utf-8")
    names = ["dynamic", "inverted attention", "ConvNet", "linear head", "small CNN"]
    assert [row["name"] for row in results["rows"]] == names
    capsules, _, plain, *_ = results["rows"]
    assert abs(plain["parameters"] - capsules["parameters"]) < 0.02 * capsules["parameters"]
    tested = {score["count"] for row in results["rows"] for score in row["scores"].values()}
    [count] = tested
    assert 0 < count < 30 * len(PHOTOGRAPHS)
    for row in results["rows"]:
        assert row["scores"].keys() == {"clean", "affine", "pgd"}
        for score in row["scores"].values():
            assert 0 <= score["interval"][0] <= score["value"] <= score["interval"][1] <= 1
            assert f"{100 * score['value']:.1f} %" in done.output
            assert f"{100 * score['value']:.1f} %" in page
    assert len(results["answer"]) == 3
    for sentence in results["answer"]:
        assert sentence in done.output
        assert sentence in re.sub(r"\s+", " ", page)
    assert len(results["differences"]) == 3 * 10, "three tests of every two of five networks"
    assert f"photos: 3 classes, {count} images to test" in page
    for name in PHOTOGRAPHS:
        assert name in page
    assert "http" not in re.sub(r"http://www.w3.org/\S+", "", page), "the page needs nothing but itself"


@pytest.mark.timeout(600)
def test_what_is_finished_is_not_done_again(photographs, finished):
    out, before = finished
    stored = {path: path.read_bytes() for path in (out / "results").glob("*.jsonl")}
    assert stored
    told = compare(photographs, "--tests", "clean,affine,pgd", "--out", out, "--dry-run", *TINY)
    assert "0 judgings to do, 10 finished" in told.output
    again = compare(photographs, "--tests", "clean,affine,pgd", "--out", out, *TINY)
    assert {path: path.read_bytes() for path in stored} == stored
    assert [line for line in again.output.splitlines() if " names " in line] == [
        line for line in before.output.splitlines() if " names " in line
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--routings", "dynamc"], "routing 'dynamc' is not allowed: choose from uniform, trainable, dynamic"),
        (["--tests", "clean,upside"], "test 'upside' is not allowed: choose from clean, affine, overlap, pgd"),
        (["--models", "sabour2017/capsnt"], "there is no model 'sabour2017/capsnt': did you mean 'sabour2017/capsnet'"),
        (["--models", "gu2021/convnet_fc"], "is one network: name another"),
        (["--steps", "3", "--epochs", "1"], "epochs=1 and steps=3 exclude each other"),
    ],
)
def test_mistakes_are_quoted_with_what_is_allowed(photographs, tmp_path, words, said):
    done = compare(photographs, "--out", tmp_path / "out", *words)
    assert done.exit_code != 0
    assert said in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_there(tmp_path):
    assert "there is no data set and no folder 'nowhere'" in str(compare("nowhere", "--out", tmp_path).exception)


@pytest.fixture
def arranged(spy):
    contest = Contest("photos", (Entrant("LeNet", "chen2019/lenet", {}),), {"data": "glyphs", "epochs": 1}, seeds=4)
    spy("torchcaps.bench.compare.hold.foresee", return_value=contest.artefact())
    return spy("torchcaps.bench.compare.arrange.arrange", return_value=contest)


@pytest.fixture
def held(spy):
    spy("torchcaps.bench.compare.printed.printed", return_value="a table")
    spy("torchcaps.bench.compare.answer.answer", return_value=["take LeNet"])
    spy("torchcaps.bench.compare.page.write", return_value=Path("out/report.html"))
    found = SimpleNamespace(gathered=SimpleNamespace(evidence={}))
    return spy("torchcaps.bench.compare.hold.hold", return_value=found)


def test_what_is_asked_for_is_arranged(arranged, held, here, spy):
    made = spy("torchcaps.bench.executors.make_executor", return_value="an executor")
    done = compare("photos", "--models", "a/b, c/d", "--routings", "em", "--tests", "affine,pgd", "--seeds", 4,
                   "--steps", 30, "--width", 0.5, "--image-size", 20, "--backend", "slurm",
                   "--workers", 2, "--out", "out")  # fmt: skip
    assert done.exit_code == 0, done.exception
    asked = {"models": ["a/b", "c/d"], "routings": ["em"], "tests": ["affine", "pgd"], "seeds": 4, "epochs": None}
    assert arranged.call_args.args == ("photos",)
    assert arranged.call_args.kwargs == {**asked, "steps": 30, "conv_width": 0.5, "image_size": 20}
    assert held.call_args.args[1].results == Path("out/results")
    made.assert_called_once_with("slurm", 2)
    assert held.call_args.args[2] == "an executor"
    assert done.stdout.splitlines() == ["LeNet: chen2019/lenet", "a table", "take LeNet", "The page: out/report.html"]
    assert compare("photos", "--epochs", 6).exit_code == 0
    again = arranged.call_args.kwargs
    assert (again["epochs"], again["steps"], again["image_size"]) == (6, None, None)
    assert again["tests"] == ["clean", "affine"], "images as they are decide, unless somebody says otherwise"


def test_a_dry_run_trains_nothing(arranged, held, here):
    done = compare("photos", "--dry-run")
    assert done.exit_code == 0, done.exception
    assert "4 judgings to do, 0 finished" in done.stdout
    held.assert_not_called()
    assert not list(here.iterdir())
