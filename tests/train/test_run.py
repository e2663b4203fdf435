"""A run: how it reads pictures, what it is judged by, what it refuses, and that its network is ready to be asked."""

import json

import numpy as np
import pytest
from PIL import Image

from tests.train.separable import Separable, linear
from torchcaps import fit, load_run
from torchcaps._seal import SEAL, sealed
from torchcaps.data import load
from torchcaps.models import create_model
from torchcaps.train.run import RUN, Facts, Run, dressed, read_run, write_run
from torchcaps.train.settings import Settings


@pytest.mark.parametrize(("options", "value"), [({}, 255), ({"background": "black"}, 0)])
def test_what_is_transparent_is_read_as_in_the_training(options, value, tmp_path):
    Image.new("RGBA", (4, 4), (90, 90, 90, 0)).save(tmp_path / "x.png")
    run = Run(linear(), Settings("custom", "photos", data_options=options), ("a", "b"), (3, 4, 4))
    assert np.array_equal(run.reading.read(tmp_path / "x.png"), np.full((3, 4, 4), value))


def test_it_is_judged_by_the_test_images(monkeypatch):
    monkeypatch.setattr("torchcaps.data.glyphs.COUNTS", {"train": 30, "test": 20})
    run = Run(linear(), Settings("custom", "glyphs", seed=3), tuple("0123456789"), (1, 28, 28))
    assert run.test_data().images.equal(load("glyphs", "test").images)
    assert len(run.test_data(7)) == 7


def test_one_letter_that_was_changed_is_noticed(tmp_path):
    write_run(tmp_path, Facts(Settings("custom", "custom"), ("cat", "dog"), (1, 1, 1)))
    assert read_run(tmp_path).classes == ("cat", "dog")
    text = (tmp_path / RUN).read_text()
    (tmp_path / RUN).write_text(text.replace('"dog"', '"hog"'))
    with pytest.raises(ValueError, match=r"run\.json cannot be read: it was changed after it was written"):
        read_run(tmp_path)


def test_its_network_is_ready_to_be_asked(tmp_path):
    """Trained and loaded, whatever mode it was built in."""
    assert linear().training
    run = fit(linear(), Separable(), out=tmp_path / "run", validation=0.0, steps=1, quiet=True)
    assert not run.model.training
    assert not load_run(tmp_path / "run", model=linear()).model.training


def test_what_is_kept_of_a_network_says_its_loss_and_that_it_standardises():
    settings = Settings("custom", "custom", standardise=True, loss={"name": "margin", "upper": 0.8})
    recipe = dressed(create_model("peer2021/sign"), settings).recipe
    again = create_model(recipe["name"], **recipe["options"])
    assert again.standardises
    assert again.loss.upper == 0.8


@pytest.mark.parametrize("classes", [[1, 2], "ab", [["a"], "b"], [None, "b"], None, {"a": 1}])
def test_classes_are_names_even_where_the_seal_is_whole(classes, tmp_path):
    write_run(tmp_path, Facts(Settings("peer2021/sign", "sign"), ("a", "b"), (1, 1, 1)))
    facts = json.loads((tmp_path / RUN).read_text())
    del facts[SEAL]
    (tmp_path / RUN).write_text(json.dumps(sealed({**facts, "classes": classes})))
    with pytest.raises(ValueError, match=r"classes=.* is not allowed: a list of names is needed"):
        read_run(tmp_path)
