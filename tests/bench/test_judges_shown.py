"""What judges show to a network, and how its answers are counted."""

import torch

from tests.bench.judged import TEST, TRAIN, Constant, Quadrants, show, subject, values
from torchcaps.bench import judges
from torchcaps.bench.judges import JUDGES
from torchcaps.bench.judges._images import shown
from torchcaps.data import Affine, Overlapping, Stored
from torchcaps.measures._canvas import Framed

TEN = Stored(
    torch.randint(0, 256, (20, 1, 28, 28), dtype=torch.uint8), torch.arange(20) % 10, [str(k) for k in range(10)]
)


def test_every_judge_is_found_under_its_own_name():
    assert {name: judge.__name__ for name, judge in JUDGES.items()} == {name: name for name in JUDGES}
    assert set(JUDGES) == {name for name, of in vars(judges).items() if callable(of) and name[0].islower()}


def test_a_view_makes_of_the_images_what_its_name_says(monkeypatch):
    show(monkeypatch)
    clean, affine, overlap = (shown(subject(), view, 0) for view in ("clean", "affine", "overlap"))
    assert clean is TEST
    assert isinstance(affine, Affine)
    assert affine.source is TEST
    assert isinstance(overlap, Framed)
    assert isinstance(overlap.data, Overlapping)
    assert overlap.data.source is TEST


def test_count_split_and_options_reach_the_images(monkeypatch):
    show(monkeypatch)
    assert len(shown(subject(), "clean", 5)) == 5
    assert shown(subject(), "clean", 0, split="train") is TRAIN
    assert shown(subject(), "affine", 0, split="train").source is TRAIN
    framed = shown(subject(), "overlap", 4, pairs=3)
    assert (framed.data.pairs, len(framed.data.source)) == (3, 4)
    drawn = subject(data="multi_mnist", data_options={"pairs": 7})
    assert shown(drawn, "clean", 0).pairs == 7
    assert shown(drawn, "clean", 0, data={"pairs": 2}).pairs == 2
    assert len(shown(drawn, "clean", 3, data={"pairs": 2})) == 6


def test_accuracy_tells_every_image_and_what_was_answered(monkeypatch):
    show(monkeypatch)
    found = JUDGES["accuracy"](subject(Constant(2)))
    assert found.details == {"answers/clean": [0, 0, 12, 0]}
    assert found.numbers["clean"].images.tolist() == [label == 2 for label in TEST.labels.tolist()]
    assert (found.numbers["clean"].value, found.numbers["clean"].answers) == (2 / 12, 4)
    assert values(JUDGES["accuracy"](subject(Constant(2)), split="train", on="train")) == {"train": 0.25}


def test_chance_is_among_classes_pairs_or_both(monkeypatch):
    show(monkeypatch, TEN)

    class Ten(Quadrants):
        def forward(self, x, record="none"):
            return super().forward(x)._replace(scores=torch.rand(len(x), 10))

    answers = {}
    for data, view in (
        ("mnist", "clean"),
        ("mnist", "overlap"),
        ("multi_mnist", "clean"),
        ("diverse_multi_mnist", "clean"),
    ):
        [number] = JUDGES["accuracy"](subject(Ten(), data=data), view=view).numbers.values()
        answers[data, view] = number.answers
    assert list(answers.values()) == [10, 45, 45, 55]


def test_of_one_object_or_two_a_network_must_know_how_many(monkeypatch):
    show(monkeypatch)
    sure, unsure = Quadrants(), Quadrants(moved=1.0)  # the second names all classes, the right ones first
    either = {"data": "diverse_multi_mnist", "data_options": {"single": 0.5}}
    assert values(JUDGES["accuracy"](subject(sure, **either))) == {"clean": 1.0}
    assert values(JUDGES["accuracy"](subject(unsure, **either))) == {"clean": 0.0}
    assert values(JUDGES["accuracy"](subject(unsure, data="multi_mnist"))) == {"clean": 1.0}
