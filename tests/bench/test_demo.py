"""The demonstrations as plain data: what is learned from, by whom, and what is said of it."""

from dataclasses import replace

import pytest
import torch

from tests.contracts import few_images
from torchcaps.bench.demo import digits, sign
from torchcaps.bench.demo.digits import QUICK, Plan
from torchcaps.bench.demo.sign import TABLE_1, train_sign
from torchcaps.bench.papers.peer2021.table1 import ACCURACY, ARTEFACT
from torchcaps.data import DataUnavailableError
from torchcaps.measures import Score
from torchcaps.train.splits import load_splits


def test_exactly_as_many_images_are_learned_from_and_held_out_as_planned(monkeypatch, tmp_path):
    few_images.STORED["mnist"](monkeypatch, tmp_path)
    contest = replace(QUICK, train=40, validation=15, test=20).contest()
    train, validation = load_splits(contest.training(contest.entrants[0]))
    assert (len(train), len(validation), len(contest.images())) == (40, 15, 20)
    assert train.image_shape == (1, 36, 36)


@pytest.mark.parametrize("plan", [Plan(), QUICK])
def test_images_of_both_demos_are_whole_numbers(plan):
    settings = plan.contest().settings
    assert settings["images"] == plan.train + plan.validation
    assert round(settings["images"] * settings["validation"]) == plan.validation
    assert settings["epochs"] == plan.epochs


def test_two_capsule_networks_and_one_that_is_none():
    contest = Plan(seed=7, source="glyphs").contest()
    assert [(one.name, one.capsules) for one in contest.entrants] == [
        ("CapsNet", True),
        ("Inverted attention", True),
        ("ConvNet", False),
    ]
    assert (contest.seeds, contest.first, contest.count, contest.title) == (1, 7, 2000, "glyphs")
    assert {job.seed for job in contest.artefact().judgings("cpu")} == {7}
    assert contest.settings["data_options"] == {"canvas": 36, "source": "glyphs"}


def test_networks_of_the_quick_demo_are_narrow():
    assert {one.options["width"] for one in QUICK.contest().entrants} == {0.06}
    assert [one.options["width"] for one in Plan().contest().entrants] == [0.125, 0.25, 0.125]
    assert QUICK.contest().entrants[2].options["units"] == [480, 192]


def test_digits_that_are_not_mnists_are_said_to_be_others():
    assert Plan().told == (
        "Three networks, each trained for 4 epochs on the same 10,000 single digits of MNIST, placed at random on "
        "36×36, and judged on 2,000 others."
    )
    assert "single digits of glyphs" in Plan(source="glyphs").told
    assert "MNIST cannot be had here: these are 'glyphs'" in Plan(source="glyphs").told


def test_the_source_is_mnist_where_it_can_be_had(monkeypatch):
    said = []

    def refuse(*_, **__):
        raise DataUnavailableError("no network")

    monkeypatch.setattr(digits, "load", lambda *_, **__: None)
    assert digits.source(said.append) == "mnist"
    monkeypatch.setattr(digits, "load", refuse)
    assert digits.source(said.append) == "glyphs"
    assert said[0].startswith("no network\nMNIST cannot be had here")


def test_the_figures_are_those_of_the_papers_table():
    """Table 1 of peer2021, as read there: without a bias and with one, routing by agreement and EM."""
    assert [(row.routing, row.bias, row.paper) for row in TABLE_1] == [
        ("dynamic", False, 49.61),
        ("dynamic", True, 99.70),
        ("em", False, 49.42),
        ("em", True, 99.81),
    ]
    of_the_bench = [({**row.settings["options"]}, row.printed[ACCURACY]) for row in ARTEFACT.rows]
    assert of_the_bench == [({"routing": row.routing, "bias": row.bias}, row.paper) for row in TABLE_1]


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize("row", TABLE_1)
def test_the_sign_is_learned_as_in_the_paper_and_judged_on_the_same_numbers(monkeypatch, row):
    asked, ticks, judged = [], [], []

    class Run:
        model = torch.nn.Identity()

    def fit(model, data, **settings):
        asked.append((model, data, settings))
        for callback in settings["callbacks"]:
            callback.after_epoch(None, {})
        return Run

    monkeypatch.setattr(sign, "fit", fit)
    monkeypatch.setattr(sign, "accuracy", lambda model, data, **_: judged.append((model, data)) or Score.of(3, 4))
    assert train_sign(row, 9, 3, lambda: ticks.append(1)).value == 0.75
    [(model, data, settings)] = asked
    assert (model, data) == ("peer2021/sign", "sign")
    assert settings["options"] == {"routing": row.routing, "bias": row.bias}
    assert (settings["seed"], settings["data_options"], settings["epochs"]) == (3, {"seed": 3}, 9)
    for name in ("loss", "batch_size", "lr", "validation"):
        assert settings[name] == ARTEFACT.settings[name]
    assert settings["loss"] == {"name": "margin", "down_weight": 1.0}
    assert ticks == [1]
    [(network, numbers)] = judged
    assert network is Run.model
    learned = sign.load("sign", **settings["data_options"])
    index = torch.arange(50)
    assert torch.equal(numbers.batch(index).images, learned.batch(index).images)
    assert len(numbers) == len(learned)
