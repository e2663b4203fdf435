"""`python -m benchmarks.photographs`: how pictures are parted, and what is said of several trainings."""

import io
import json
import math
import tarfile

import numpy as np
import pytest
from PIL import Image

from benchmarks.photographs import CLASSES, ROWS, Row, part, summary, train, unpack
from tests.docs.markdown import ROOT

EACH, LEARN, TEST = 12, 6, 4


@pytest.fixture
def archive(tmp_path):
    """Pictures of seven classes, in two folders as CIFAR-100 has them."""
    rng = np.random.default_rng(0)
    with tarfile.open(tmp_path / "pictures.tar", "w") as target:
        for place, count in (("train", 9), ("test", 3)):
            for name in (*CLASSES, "wolf"):
                for number in range(count):
                    stream = io.BytesIO()
                    Image.fromarray(rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)).save(stream, "PNG")
                    entry = tarfile.TarInfo(f"set/{place}/{name}/{name}_{place}_{number}.png")
                    entry.size = stream.tell()
                    stream.seek(0)
                    target.addfile(entry, stream)
    return tmp_path / "pictures.tar"


def test_every_class_has_its_share_of_both_parts_and_no_picture_is_in_two(archive, tmp_path):
    files = unpack(archive, tmp_path / "all", LEARN + TEST)
    assert {name: len(pictures) for name, pictures in files.items()} == dict.fromkeys(CLASSES, EACH)
    tests = []
    for split in range(2):
        root = part(files, tmp_path / str(split), split, LEARN, TEST)
        for name in CLASSES:
            learn, test = ({file.name for file in (root / half / name).iterdir()} for half in ("train", "test"))
            assert (len(learn), len(test), len(learn | test)) == (LEARN, TEST, LEARN + TEST)
        tests.append({file.name for file in (root / "test").rglob("*.png")})
    assert tests[0] != tests[1]
    again = part(files, tmp_path / "again", 0, LEARN, TEST)
    assert {file.name for file in (again / "test").rglob("*.png")} == tests[0]


def test_an_archive_with_too_few_pictures_is_refused(archive, tmp_path):
    with pytest.raises(ValueError, match="12 pictures of 'apple': 13 are needed"):
        unpack(archive, tmp_path / "all", EACH + 1)


def test_the_interval_is_students_and_needs_three_splits():
    values = [0.90, 0.92, 0.97]
    splits = [{"split": k, "accuracy": value} for k, value in enumerate(values)]
    told = summary(splits)
    reach = 4.302653 * np.std(values, ddof=1) / math.sqrt(3)
    assert told["interval"] == pytest.approx([np.mean(values) - reach, np.mean(values) + reach], abs=1e-4)
    assert summary(splits[:2])["interval"] is None


def test_a_row_is_trained_and_judged_by_the_held_out_pictures(archive, tmp_path):
    folder = part(unpack(archive, tmp_path / "all", LEARN + TEST), tmp_path / "parted", 0, LEARN, TEST)
    told = train(Row("baselines/small_cnn", {"width": 0.1}, 16, {"epochs": 1}), folder, 0)
    count = len(CLASSES) * TEST
    assert told["accuracy"] * count == pytest.approx(round(told["accuracy"] * count))
    assert told["parameters"] > 0


def test_the_stored_means_are_those_of_the_stored_splits():
    stored = json.loads((ROOT / "benchmarks/results/photographs.json").read_text())
    assert stored["rows"].keys() <= ROWS.keys()
    for name, row in stored["rows"].items():
        assert {key: row[key] for key in summary(row["splits"])} == summary(row["splits"])
        assert row["model"] == ROWS[name].model
