"""Views at validation accuracies: where they are taken, what is looked at, and what comes out."""

from collections import Counter

import pytest
import torch

from tests.bench.judged import TEST, Quadrants, module_of, show, subject, values
from torchcaps.bench.jobs import Training
from torchcaps.bench.judges import JUDGES
from torchcaps.bench.place import Place
from torchcaps.bench.subject import Subject, from_json, to_json
from torchcaps.bench.trained import trained
from torchcaps.train import Settings, checkpoint
from torchcaps.train.checkpoint import Checkpoint
from torchcaps.train.run import CHECKPOINTS
from torchcaps.train.trajectory import FOLDER, Point


class Partial(Quadrants):
    """Knows the first so many classes, as its one weight says; never the others."""

    def __init__(self):
        super().__init__()
        self.knows = torch.nn.Parameter(torch.tensor(4.0))

    def forward(self, x, record="none"):
        parse = super().forward(x)
        known = torch.arange(4) < self.knows
        return parse._replace(scores=torch.where(known, parse.scores, -1.0))


# Of the twelve test images 5, 3, 2 and 2 are of the four classes; validation accuracies fall once on the way.
RIGHT = {1: 5, 2: 8, 3: 10, 4: 12}
COURSE = [(1, 10, 50, 100, 1), (2, 20, 70, 100, 2), (3, 30, 60, 100, 1), (4, 40, 80, 100, 3), (5, 50, 90, 100, 4)]


def kept(tmp_path, course=COURSE):
    own = subject(Partial(), seen={"trajectory": [list(point[:4]) for point in course]}, folder=tmp_path)
    for *point, knows in course:
        record = {"settings": own.own.settings.to_json(), "point": Point(*point)._asdict()}
        weights = {"model.knows": torch.tensor(float(knows))}
        checkpoint.save(tmp_path / FOLDER, point[0], Checkpoint(record, weights), keep=99)
    return own


@pytest.fixture
def looks(monkeypatch):
    """How often the weights of each kind were shown the test images."""
    show(monkeypatch)
    found, module = Counter(), module_of("trajectory")
    real = module.accuracy
    told = lambda own, **options: (found.update([int(own.own.model.knows)]), real(own, **options))[1]  # noqa: E731
    monkeypatch.setattr(module, "accuracy", told)
    return found


def test_between_the_first_weights_at_a_level_and_those_before(tmp_path, looks):
    found = JUDGES["trajectory"](kept(tmp_path), levels=[0.55, 0.65, 0.7, 0.75])
    assert values(found) == pytest.approx(
        {
            "clean@0.55": (0.75 * 5 + 0.25 * 8) / 12, "validation@0.55": 0.55,
            "clean@0.65": (0.25 * 5 + 0.75 * 8) / 12, "validation@0.65": 0.65,
            "clean@0.7": 8 / 12, "validation@0.7": 0.7,
            "clean@0.75": (0.25 * 5 + 0.75 * 10) / 12, "validation@0.75": 0.75,
            "clean": 1.0, "validation": 0.9,
        }
    )  # fmt: skip
    assert looks == {1: 2, 2: 1, 3: 1, 4: 1}, "the first and the third know one class; each is looked at once"
    number = found.numbers["clean@0.75"]
    shares = {0: 1.0, 1: 0.75, 2: 0.75, 3: 0.0}
    assert number.images.tolist() == pytest.approx([shares[label] for label in TEST.labels.flatten().tolist()])
    assert from_json(to_json(number)).images.tolist() == number.images.tolist()
    told = [[images, right / 100, RIGHT[knows] / 12] for _, images, right, _, knows in COURSE]
    assert found.details == {"trajectory": {"clean": told}}


def test_the_ends_stand_for_what_lies_beyond(tmp_path, looks):
    found = JUDGES["trajectory"](kept(tmp_path), levels=[0.4, 0.99])
    expected = {"clean@0.4": 5 / 12, "validation@0.4": 0.5, "clean@0.99": 1.0, "validation@0.99": 0.9}
    assert values(found) == pytest.approx({**expected, "clean": 1.0, "validation": 0.9})
    assert looks == {1: 1, 4: 1}


def test_views_share_the_weights_and_have_options_of_their_own(tmp_path, looks):
    views = {"clean": {}, "moved": {"view": "affine", "count": 4}}
    found = JUDGES["trajectory"](kept(tmp_path), levels=[0.65], views=views, count=8)
    assert {name.split("@")[0] for name in found.numbers} == {"clean", "moved", "validation"}
    assert [len(found.numbers[name].images) for name in ("clean", "moved@0.65")] == [8, 4]
    assert looks == {1: 2, 2: 2, 4: 2}


def test_a_training_without_them_is_told_what_it_lacks(monkeypatch):
    with pytest.raises(ValueError, match="its settings need the callback 'trajectory'"):
        JUDGES["trajectory"](subject())


def test_from_a_training_of_the_bench(tmp_path):
    """Its checkpoints are gone, the weights on its way are not, and the bench finds the training's own images."""
    few = {"images": 200, "epochs": 2, "batch_size": 16, "seed": 3, "average": 0.9, "validation": 0.25}
    settings = Settings("peer2021/sign", "glyphs", callbacks={"trajectory": {"images": [32, 300]}}, **few)
    own = Subject(3, trained(Training(settings, ""), Place(tmp_path / "results", tmp_path / "work", "smoke")))
    assert not (own.own.folder / CHECKPOINTS).exists()
    found = values(JUDGES["validation"](own))
    assert found["noted"] == found["found"]
    assert found["apart"] == 0
    assert values(JUDGES["trajectory"](own, levels=[1.0], count=20))["validation@1"] == found["noted"]
