"""Wherever a model is run, images arrive on its device, and what comes back is brought home."""

import json

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from PIL import Image
from typer.testing import CliRunner

import torchcaps.train
from tests.elsewhere import DEVICE, Elsewhere, SecondDevice
from torchcaps import CapsNetClassifier, fit
from torchcaps.cli import app
from torchcaps.data import load
from torchcaps.data.glyphs import load_glyphs
from torchcaps.explain import parse_trees
from torchcaps.infer import infer
from torchcaps.measures import Activity, RoutingDynamics, accuracy, affine, overlap, walk
from torchcaps.models import create_model
from torchcaps.report._gather import perturbed, predictions
from torchcaps.train.estimate import estimate

pytestmark = pytest.mark.usefixtures("second_device", "no_shape_checks")


@pytest.fixture
def second_device():
    with SecondDevice():
        yield


class Spy:
    """Listens at a model: on which device its images arrive, and how many."""

    def __init__(self, model):
        self.seen = []
        model.register_forward_pre_hook(lambda _, inputs: self.seen.append(inputs[0]), prepend=True)

    def check(self, images=None):
        assert self.seen, "it was never asked"
        assert all(isinstance(x, Elsewhere) for x in self.seen)
        assert images is None or sum(map(len, self.seen)) == images


@pytest.fixture
def net():
    """A capsule network with a decoder on the second device."""
    return create_model("sabour2017/capsnet", width=0.04, image_size=28).to(DEVICE)


@pytest.fixture
def digits():
    return load_glyphs("test", 20)


def test_the_device_refuses_to_meet_the_cpu():
    there, here = torch.ones(2).to(DEVICE), torch.ones(2)
    assert there.device == torch.zeros(1, device=there.device).device == DEVICE
    with pytest.raises(RuntimeError, match="same device"):
        there + here
    assert torch.equal((there + here.to(DEVICE)).cpu(), here + here)
    with pytest.raises(RuntimeError, match="same device"):
        create_model("chen2019/lenet").to(DEVICE)(torch.rand(1, 1, 28, 28))


def test_measures(net, digits):
    spy = Spy(net)
    assert infer(net, digits.batch(torch.arange(3)).images).scores.device == DEVICE
    spy.check(3)
    for measure in (accuracy, affine, overlap):
        spy.seen.clear()
        assert measure(net, digits, batch_size=8).count == 20
        spy.check(20)
    home = create_model("sabour2017/capsnet", width=0.04, image_size=28)
    home.load_state_dict({name: t.cpu() for name, t in net.state_dict().items()})
    assert accuracy(net, digits) == accuracy(home, digits)
    spy.seen.clear()
    for found, wanted in zip(*(walk(one, digits, [RoutingDynamics(), Activity()]) for one in (net, home)), strict=True):
        assert found.table().rows == wanted.table().rows
    spy.check()


def test_data_that_is_on_a_device_itself(digits):
    """The other way round: the images are away, the model is at home."""
    assert accuracy(create_model("chen2019/lenet"), digits.to(DEVICE), batch_size=8).count == 20


def test_explaining_and_the_report(net, digits):
    spy = Spy(net)
    batch = digits.batch(torch.arange(4))
    assert len(parse_trees(net, batch.images, digits.classes)) == 4
    spy.check(4)
    assert len(predictions({"one": net}, batch, digits.classes)) == 4
    (drawing, *_) = perturbed(net, batch.images, batch.labels[:, 0], digits.classes)
    assert len(drawing.pictures) + len(drawing.strips) == 2 + 16
    spy.check(12)


def test_predict(net, tmp_path, monkeypatch):
    spy = Spy(net)
    settings = torchcaps.train.Settings("sabour2017/capsnet", "glyphs")
    run = torchcaps.train.Run(net, settings, tuple("0123456789"), (1, 28, 28))
    monkeypatch.setattr(torchcaps.train, "load_run", lambda _: run)
    (tmp_path / "run.json").touch()
    pixels = np.random.default_rng(0).integers(0, 255, (28, 28), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "x.png")
    done = CliRunner().invoke(app, ["predict", str(tmp_path), str(tmp_path / "x.png"), "--explain", "--json"])
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)[0]["class"] in "0123456789"
    spy.check(1)


def test_the_classifier():
    X, y = np.random.default_rng(0).random((6, 3)), [0, 1] * 3
    clf = CapsNetClassifier(epochs=1, random_state=0).fit(X, y)
    expected = clf.predict_proba(X)
    clf.model_.to(DEVICE)
    spy = Spy(clf.model_)
    assert np.allclose(clf.predict_proba(X), expected)
    assert clf.predict(X).tolist() == [clf.classes_[k] for k in expected.argmax(1)]
    spy.check(12)


@pytest.fixture
def stay(monkeypatch):
    """Fabric, which would bring a model to a device that it knows, leaves it where it is."""
    real = Fabric.setup
    monkeypatch.setattr(Fabric, "setup", lambda *args, **options: real(*args, **options, move_to_device=False))


@pytest.mark.usefixtures("stay")
def test_the_loop():
    """Training, with singles for the decoder, and validation; the weights end where they would at home."""
    pairs = load("multi_mnist", source=load_glyphs("train", 12))
    others = load("multi_mnist", source=load_glyphs("test", 12))
    net = create_model("sabour2017/capsnet", width=0.04, image_size=36)
    home = create_model("sabour2017/capsnet", width=0.04, image_size=36)
    home.load_state_dict(net.state_dict())
    spy = Spy(net.to(DEVICE))
    chosen = {"validation_data": others, "batch_size": 6, "epochs": 1, "quiet": True}
    away = fit(net, pairs, callbacks={"gradient_norm": {}}, clip=1.0, **chosen)
    spy.check(24)
    alone = fit(home, pairs, callbacks={"gradient_norm": {}}, clip=1.0, **chosen)
    assert away.history[-1]["loss"] == pytest.approx(alone.history[-1]["loss"], rel=1e-4)
    for (name, one), other in zip(net.state_dict().items(), home.state_dict().values(), strict=True):
        assert isinstance(one, Elsewhere), name
        torch.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-5)


@pytest.mark.usefixtures("stay")
def test_an_estimate(net, digits):
    spy = Spy(net)
    assert estimate(net, digits, batch_size=5, epochs=1).steps == 4
    spy.check()
