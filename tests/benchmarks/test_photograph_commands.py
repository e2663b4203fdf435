"""`python -m benchmarks.photograph_commands` in small: 102 pictures, one network, each command a process of its own."""

import io
import json
import tarfile

import pytest
from PIL import Image

from benchmarks import photograph_commands
from benchmarks.photograph_commands import (
    Command,
    Photographs,
    done_before,
    facts,
    generate,
    tour,
    unpack,
    write,
    wrong,
)

EACH = 34  # three classes of them are more than the 100 that `predict` asks at once


@pytest.mark.timeout(900)
def test_the_four_commands_work_on_more_pictures_than_fit_in_a_batch(tmp_path):
    photos = generate(tmp_path / "photos", each=EACH)
    (tmp_path / "here").mkdir()
    row = tour("sabour2017/capsnet", photos, tmp_path / "here")
    assert row["fault"] is None
    assert list(row["seconds"]) == ["train", "evaluate", "predict", "report"]


def test_a_command_that_fails_is_the_last(tmp_path):
    photos = Photographs(tmp_path / "nowhere", ("a", "b"), 2)
    row = tour("chen2019/lenet", photos, tmp_path)
    assert row["fault"].startswith("train: exit code 1: ")
    assert "nowhere" in row["fault"]
    assert list(row["seconds"]) == ["train"]


@pytest.mark.parametrize(
    ("code", "out", "errors", "fault"),
    [
        (0, "fine", "loading torch", ""),
        (0, "Traceback (most recent call last):", "", "exit code 0: "),
        (-11, "", "", "exit code -11: "),
        (1, "", "one\n\ntwo\nthree\nfour\n", "exit code 1: two three four"),
    ],
)
def test_faults_are_told(code, out, errors, fault):
    assert Command(code, out, errors, 0.0).fault == fault


def test_answers_are_looked_at(tmp_path):
    photos = Photographs(tmp_path, ("a", "b"), 2)
    right, other, unsure = ({"class": name, "probability": p} for name, p in (("a", 0.5), ("c", 0.5), ("b", 1.5)))

    def predicted(*answers):
        return wrong("predict", json.dumps(answers), tmp_path, photos)

    assert predicted(right, right) == ""
    assert predicted(right) == "1 answers for 2 images"
    assert predicted(right, other).startswith("1 answers such as ")
    assert predicted(unsure, other).startswith("2 answers such as ")
    assert wrong("evaluate", '{"clean": {"accuracy": 0.5, "classes": ["a"]}}', tmp_path, photos) == ""
    assert wrong("evaluate", '{"clean": [{"accuracy": NaN}]}', tmp_path, photos).startswith("not finite")
    assert wrong("train", "", tmp_path, photos) == "no run.json"
    (tmp_path / "run.html").write_text("<html>")
    assert wrong("report", "", tmp_path, photos) == "the page has no end"


def test_an_archive_gives_its_first_folders_that_have_enough(tmp_path):
    picture = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(picture, "PNG")
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        for name, count in (("train/cat", 3), ("train/ant", 1), ("train/bee", 2), ("train/dog", 2)):
            for k in range(count):
                entry = tarfile.TarInfo(f"{name}/{k}.png")
                entry.size = len(picture.getvalue())
                archive.addfile(entry, io.BytesIO(picture.getvalue()))
    photos = unpack(tmp_path / "all.tar", tmp_path / "photos", classes=2, each=2)
    assert (photos.classes, photos.images) == (("bee", "cat"), 4)
    found = sorted(str(file.relative_to(photos.root)) for file in photos.root.rglob("*.png"))
    assert found == ["bee/0.png", "bee/1.png", "cat/0.png", "cat/1.png"]
    with pytest.raises(ValueError, match=r"all.tar has 1 folders of at least 3 files: 2 are needed"):
        unpack(tmp_path / "all.tar", tmp_path / "more", classes=2, each=3)


def test_what_had_no_fault_is_not_run_again(tmp_path, monkeypatch):
    file, photos = tmp_path / "found.json", Photographs(tmp_path, ("a",), 1)
    good, bad = ({"model": name, "seconds": {}, "fault": why} for name, why in (("chen2019/cnn", None), ("b", "no")))
    made = facts(photos, "generated")
    write(file, made, {"b": bad, "chen2019/cnn": good})
    assert done_before(file, made) == {"chen2019/cnn": good}
    assert done_before(file, facts(photos, "all.tar")) == {}
    assert done_before(tmp_path / "none.json", made) == {}

    asked = list[str]()
    monkeypatch.setattr(photograph_commands, "generate", lambda _: photos)
    monkeypatch.setattr(photograph_commands, "tour", lambda name, *_: asked.append(name) or {**bad, "model": name})
    monkeypatch.setattr("sys.argv", ["", "chen2019/cnn*", "--json", str(file)])
    with pytest.raises(SystemExit) as end:
        photograph_commands.main()
    assert end.value.code == 1
    assert asked == ["chen2019/cnn_cifar"]
