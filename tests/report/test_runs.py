"""A page about runs, from findings made by hand: what is kept reaches its place, what is missing is measured once."""

import json

import pytest
import torch
from torch import nn

from tests.report.reading import Told
from tests.report.test_sections import counted
from torchcaps.attacks.robustness import Point, Robustness
from torchcaps.data import Stored
from torchcaps.measures import INSPECTIONS, Nothing
from torchcaps.network import ConvNet
from torchcaps.report import report_on, runs
from torchcaps.train import Run, Settings
from torchcaps.train.findings import keep, kept

CLASSES = ("a", "b", "c")
FOUND = {"accuracy": counted(8), "affine": counted(5), "overlap": counted(2)}
MISSING = ("symmetry", "overlap")


class Kept(Run):
    """A run whose test images are these."""

    def test_data(self, images=0):
        return self.images


def run(folder, ink):
    net = ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)))
    history = [
        {"loss": 2.0, "validation_accuracy": 0.5, "seconds": 2.0, "step": 1},
        {"loss": 1.0, "validation_accuracy": 0.25, "seconds": 2.5, "step": 3},
    ]
    made = Kept(net, Settings("my/net", "mine"), CLASSES, (1, 8, 8), history, folder)
    images = torch.zeros(6, 1, 8, 8, dtype=torch.uint8)
    images[:, :, 3:5, 3:5] = ink
    made.images = Stored(images, torch.tensor([0, 1, 2, 0, 1, 2]), CLASSES)
    folder.mkdir()
    return made


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Two networks; of the second a part has still to be measured, and an attack is kept with it."""
    tmp_path = tmp_path_factory.mktemp("runs")
    both = {"one": run(tmp_path / "one", 200), "two": run(tmp_path / "two", 100)}
    every = {name: FOUND.get(name, Nothing(name, "not here")) for name in INSPECTIONS}
    keep(both["one"], every)
    keep(both["two"], {name: found for name, found in every.items() if name not in MISSING})
    point = Point(0.1, counted(4))
    attack = Robustness("eps", "L∞ ≤ eps", counted(8), {"pgd": (point,)})
    (tmp_path / "two" / "attacks").mkdir()
    (tmp_path / "two" / "attacks" / "pgd.json").write_text(json.dumps(attack.to_json()))
    asked, heard = [], []

    def measured(model, data, missing, progress):
        asked.append((model, data, tuple(missing)))
        progress("clean", 2, 6)
        return {name: every[name] for name in missing}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "inspect", measured)
        path = report_on(both, tmp_path / "page.html", images=6, progress=lambda *told: heard.append(told))
    assert [(model, data, sorted(missing)) for model, data, missing in asked] == [
        (both["two"].model, both["two"].images, sorted(MISSING))
    ]
    assert heard == [("two", "clean", 2, 6)]
    assert kept(both["two"]) == every
    return Told(path.read_text(encoding="utf-8"))


def test_findings_of_a_run_reach_its_page(page):
    assert page.texts["h1"] == ["A report on one, two"]
    head, *rows = page.rows[:3]
    assert head == ["Network", "clean", "affine", "overlap", "parameters", "training"]
    for name, row in zip(("one", "two"), rows, strict=True):
        assert [cell.split(" %")[0] for cell in row[1:4]] == ["80.0", "50.0", "20.0"]
        assert (row[0], *row[4:]) == (f"{name} my/net on mine", str(64 * 3 + 3), "4 s")
    told = page.attributes("svg", "aria-label")
    assert told[:2] == [
        "Training loss (logarithmic axis) by epoch. one: 2, 1. two: 2, 1.",
        "Validation accuracy by epoch. one: 50.0 %, 25.0 %. two: 50.0 %, 25.0 %.",
    ]
    assert told[2] == "Attack: pgd by eps (L∞ ≤ eps). one: . two: 80.0 %, 40.0 %."
    assert any("3 steps of adam" in text for text in page.texts["dd"])


def test_networks_are_shown_their_own_test_images(page):
    """Both data sets have the same classes and images of the same size."""
    assert [text for text in page.texts["h2"] if text.startswith("What they saw")] == [
        "What they saw: one",
        "What they saw: two",
    ]


def test_a_view_that_the_images_do_not_allow_is_left_out(tmp_path, monkeypatch):
    def none(model, data):
        raise ValueError("no such view")

    monkeypatch.setitem(runs.VIEWS, "overlap", none)
    one = run(tmp_path / "one", 200)
    keep(one, {name: FOUND.get(name, Nothing(name, "not here")) for name in INSPECTIONS})
    told = Told(report_on({"one": one}, tmp_path / "page.html", images=6, progress=print).read_text(encoding="utf-8"))
    assert "Affine" in told.texts["h3"]
    assert "Overlap" not in told.texts["h3"]


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize("damage", ["half", "empty", "foreign", "a number", "unheard", "no text"])
def test_a_damaged_file_of_an_attack_is_named(damage, tmp_path):
    one, path = run(tmp_path / "one", 200), tmp_path / "one" / "attacks" / "pgd-linf.json"
    keep(one, {name: FOUND.get(name, Nothing(name, "not here")) for name in INSPECTIONS})
    whole = json.dumps(Robustness("eps", "L∞ ≤ eps", counted(8), {"pgd": (Point(0.1, counted(4)),)}).to_json())
    contents = {
        "half": whole[: len(whole) // 2],
        "empty": "",
        "foreign": "[1]",
        "a number": "7",
        "unheard": '{"kind": "Unheard"}',
        "no text": "\udcff",
    }
    path.parent.mkdir()
    path.write_bytes(contents[damage].encode(errors="surrogateescape"))
    with pytest.raises(
        ValueError, match=r"pgd-linf\.json cannot be read .*: delete it, and 'torchcaps attack' makes it"
    ):
        report_on({"one": one}, tmp_path / "page.html", images=6, progress=print)
    assert not (tmp_path / "page.html").exists()
