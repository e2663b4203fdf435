"""Runs on show, and the cards of networks, from runs and findings made by hand."""

import pytest
import torch
from torch import nn

from torchcaps.data import Placed, Stored
from torchcaps.explain import parse_trees
from torchcaps.explorer import average, gallery, health
from torchcaps.measures import Nothing, ParseTreeResult
from torchcaps.measures.accuracy import AccuracyResult
from torchcaps.measures.activity import ActivityResult, LayerActivity
from torchcaps.measures.routing_dynamics import Dynamics, DynamicsResult, LayerDynamics
from torchcaps.measures.symmetry import Asymmetry, SymmetryResult
from torchcaps.network import ConvNet
from torchcaps.train import Run, Settings
from torchcaps.train.findings import kept
from torchcaps.train.run import RUN

from .small import capsules

ACCURACY = AccuracyResult(("a", "b"), 1500, 2000, None, "", (1000, 1000), ((800, 200), (300, 700)))
FOUND = {
    "accuracy": ACCURACY,
    "affine": Nothing("affine", "no pictures"),
    "activity": ActivityResult(0.1, 0.01, 0.01, (), 500, (LayerActivity("primary", 1152, cds=12, cdr=12 / 1152),)),
    "dynamics": DynamicsResult(9, (LayerDynamics("primary", 8, 8, Dynamics(0.25, 1.0, ()), None),)),
    "symmetry": SymmetryResult(9, (Asymmetry("scores", 0.1, 0.2), Asymmetry(health.NEGATED, 0.3, 0.4))),
}


def test_the_rows_of_a_card():
    exhibit = capsules()
    exhibit.findings = FOUND
    card = health.card(exhibit)
    assert card["note"] == "By 2,000 test images."
    told = {row["name"]: (row["value"], row["note"]) for row in card["rows"]}
    assert told["accuracy"][0] == "75.0 %"
    low, high = map(float, told["accuracy"][1].split("–"))
    assert (low, high) == pytest.approx((73.1, 76.9), abs=0.11)  # Wilson's interval of 1500 in 2000
    assert told["affine accuracy"] == ("–", "no pictures")
    assert told["dead capsules"] == ("12 of 1,152", "for 500 images")
    assert told["routing dynamics"][0] == "0.25"
    assert told["symmetry"][0] == "0.30"


def test_what_ships_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(health, "SHIPPED", tmp_path / "findings")
    assert health.shipped("a/net") is None
    health.ship("a/net", FOUND)
    assert health.shipped("a/net") == FOUND
    assert health.shipped("a/other") is None


def test_only_what_is_missing_is_measured(monkeypatch):
    exhibit, asked = capsules(), []
    known = {name: found for name, found in FOUND.items() if name != "symmetry"}
    monkeypatch.setattr(health, "shipped", lambda name: known)

    def inspect(model, data, what):
        asked.append((data, list(what)))
        return {name: FOUND[name] for name in what}

    monkeypatch.setattr(health, "inspect", inspect)
    assert len(health.card(exhibit)["rows"]) == 5
    health.card(exhibit)
    assert asked == [(exhibit.samples, ["symmetry"])]


def test_a_run_is_measured_by_more_images_than_are_on_show_and_its_figures_are_kept(tmp_path, monkeypatch):
    class Telling(Run):
        def test_data(self, images=0):
            return f"{images} test images"

    exhibit, asked = capsules(), []
    exhibit.run = Telling(exhibit.model, Settings("my/net", "mine"), exhibit.classes, (1, 4, 3), directory=tmp_path)

    def inspect(model, data, what):
        asked.append(data)
        return {name: FOUND[name] for name in what}

    monkeypatch.setattr(health, "inspect", inspect)
    health.card(exhibit)
    assert asked == ["500 test images"]
    assert kept(exhibit.run) == FOUND


def test_the_mean_of_a_run_is_kept_with_it(tmp_path, monkeypatch):
    exhibit = capsules()
    exhibit.run = Run(exhibit.model, Settings("my/net", "mine"), exhibit.classes, (1, 4, 3), directory=tmp_path)
    mean, deviation = parse_trees(exhibit.model, torch.rand(2, 1, 4, 3), exhibit.classes)
    monkeypatch.setattr(average, "walk", lambda *_: [ParseTreeResult(4, 0.01, 0.01, (), mean, deviation)])
    found = average.average(exhibit)
    exhibit.average = None
    monkeypatch.delattr(average, "walk")
    assert average.average(exhibit) == found


class Kept(Run):
    """A run whose test images are these."""

    def test_data(self, images=0):
        return self.data


def on_show(folder, monkeypatch, data):
    run = Kept(capsules().model, Settings("my/net", "mine"), ("ant", "bee", "cat"), data.image_shape)
    run.data = data
    (folder / RUN).touch()
    monkeypatch.setattr(gallery, "load_run", lambda _: run)
    return gallery.exhibit(str(folder))


def test_a_run_is_shown_with_its_classes_and_images(tmp_path, monkeypatch):
    images = torch.randint(0, 256, (3, 1, 4, 3), dtype=torch.uint8)
    stored = Stored(images, torch.tensor([2, 0, 1]), ("ant", "bee", "cat"))
    shown = on_show(tmp_path, monkeypatch, stored)
    assert shown.classes == shown.structure.classes == ("ant", "bee", "cat")
    assert shown.samples is stored
    assert shown.title == tmp_path.name


def test_images_of_a_generator_are_drawn_once(tmp_path, monkeypatch):
    stored = Stored(torch.full((3, 1, 4, 4), 200, dtype=torch.uint8), torch.tensor([2, 0, 1]), ("ant", "bee", "cat"))
    data = Placed(stored, canvas=8)
    shown = on_show(tmp_path, monkeypatch, data)
    assert isinstance(shown.samples, Stored)
    wanted = data.batch(torch.arange(3))
    torch.testing.assert_close(shown.samples.batch(torch.arange(3)).images, wanted.images, atol=0.6 / 255, rtol=0)
    assert wanted.images.max() > 0.7
    assert torch.equal(shown.samples.labels, wanted.labels[:, 0])


def test_pictures_for_digits_have_a_black_ground(monkeypatch):
    """Shipped networks know white digits on black: what is transparent in a picture must not become white."""
    made = ConvNet(nn.Flatten())
    made.recipe = {"name": "chen2019/lenet", "options": {}}
    monkeypatch.setattr(gallery, "create_model", lambda *_, **__: made)
    shown = gallery.exhibit("chen2019/lenet")
    assert shown.reading.background == "black"
    assert shown.title == "chen2019/lenet (no capsules)"
    assert shown.image_shape == (1, 28, 28)


def test_networks_that_take_no_pictures_are_not_on_show():
    names = gallery.shipped_names()
    assert all(gallery.card(name).image[1:] > (1, 1) for name in names)
    assert {"chen2019/lenet", "sabour2017/capsnet"} <= set(names)
