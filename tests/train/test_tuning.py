"""A pretrained backbone in a training: what learns, how fast, from which features, and what a run keeps of it."""

import socket

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from tests.backbones.stand_in import trunk
from torchcaps import fit, load_run
from torchcaps.backbones import shelves, trunk_of
from torchcaps.data import Stored
from torchcaps.models import create_model
from torchcaps.train import Settings, features
from torchcaps.train.loop import _optimiser
from torchcaps.train.tuning import tuned

LITE = {"backbone": "efficientnet_lite0"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    """Features are kept for this test alone; passes that were built stay where they are."""
    monkeypatch.setattr("torchcaps.backbones.cache.cache_home", lambda: tmp_path / "cache")


@pytest.fixture
def no_sockets(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a socket was asked for")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Red and blue pictures of every shade, 20 of each."""
    root = tmp_path_factory.mktemp("photos")
    for name, colour in (("red", (1, 0, 0)), ("blue", (0, 0, 1))):
        (root / name).mkdir()
        for k in range(20):
            Image.new("RGB", (40, 40), tuple(c * (100 + 7 * k) for c in colour)).save(root / name / f"{k}.png")
    return root


def stored(count=24):
    images = torch.randint(256, (count, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return Stored(images, torch.arange(count) % 2, ("a", "b"))


def network():
    torch.manual_seed(1)
    return create_model("sabour2017/capsnet", backbone=trunk(), image_size=32, in_chans=3, num_classes=2)


SHORT = {"epochs": 2, "batch_size": 8, "quiet": True, "reconstruction_weight": 0.0}


def weights(net):
    return {name: t.clone() for name, t in net.state_dict().items()}


@pytest.mark.parametrize(("tune", "learn"), [("head", set()), ("last:1", {"1"}), ("all", {"0", "1"})])
def test_only_what_is_tuned_changes(tune, learn):
    net = network()
    before = weights(net)
    fit(net, stored(), tune=tune, **SHORT)
    changed = {name for name, t in weights(net).items() if not torch.equal(t, before[name])}
    below = {name.split(".")[2] for name in changed if name.startswith("backbone.stages")}
    assert below == learn
    assert any(name.startswith("primary") for name in changed)


@pytest.mark.parametrize(("images", "chosen"), [(4999, "head"), (5000, "all")])
def test_few_images_leave_the_backbone_as_it_is(images, chosen):
    net = network()
    assert tuned(net, Settings("custom", "custom"), images).tune == chosen
    assert tuned(net, Settings("custom", "custom", tune="last:1"), images).tune == "last:1"


def test_the_backbone_has_a_rate_of_its_own():
    net, settings = network(), Settings("custom", "custom", tune="last:1", backbone_lr=0.25, optimiser="sgd", lr=0.5)
    tuned(net, settings, 10)
    head, below = _optimiser(net, settings, skips=False).param_groups
    assert {id(p) for p in below["params"]} == {id(p) for p in net.backbone.stages[1].parameters()}
    assert "factor" not in head
    assert below["factor"] == 0.25


def test_a_step_moves_the_backbone_by_its_own_rate():
    def moved(**values):
        net = network()
        before = weights(net)
        fit(
            net,
            stored(8),
            tune="all",
            optimiser="sgd",
            momentum=0.0,
            validation=0.0,
            **values,
            **{**SHORT, "epochs": 1},
        )
        now = weights(net)
        return {name: now[name] - before[name] for name in ("backbone.stages.1.0.weight", "primary.conv.weight")}

    slow, fast = moved(backbone_lr=0.1, seed=3), moved(backbone_lr=1.0, seed=3)
    assert torch.equal(slow["primary.conv.weight"], fast["primary.conv.weight"])
    assert torch.allclose(
        10 * slow["backbone.stages.1.0.weight"], fast["backbone.stages.1.0.weight"], rtol=1e-2, atol=1e-6
    )


def test_a_network_without_one_is_not_tuned():
    with pytest.raises(ValueError, match="tune='all' is not allowed: the network has no pretrained backbone"):
        fit("chen2019/lenet", "glyphs", tune="all", quiet=True)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_rate_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match=f"backbone_lr={value} is not allowed: it must be positive"):
        Settings("custom", "custom", backbone_lr=value)


@pytest.mark.parametrize("values", [{}, {"balance": True}], ids=["plain", "balanced"])
def test_a_training_on_features_is_that_on_images(values, monkeypatch):
    """The same weights to rounding, whether features are kept or the backbone is asked in every epoch."""
    on = network()
    fit(on, stored(), tune="head", **SHORT, **values)
    assert sum(one["bytes"] for one in shelves()) > 24 * 12 * 16 * 4
    monkeypatch.setattr(
        "torchcaps.train.fitting.on_features", lambda model, settings, splits, device, report: (splits, [])
    )
    off = network()
    fit(off, stored(), tune="head", **SHORT, **values)
    for name, tensor in weights(on).items():
        assert torch.allclose(tensor, weights(off)[name], atol=1e-5), name


@pytest.mark.parametrize("balance", [False, True])
def test_augmented_images_take_turns(balance, monkeypatch):
    """Each view is what the augmentation makes of the image in that epoch, and has the image's label."""
    from torchcaps.train.splits import load_splits

    settings = Settings("custom", "custom", augment="crop_flip", balance=balance, tune="head")
    net = network()
    tuned(net, settings, 10)
    splits = load_splits(settings, stored())
    found, _ = features.on_features(net, settings, splits, torch.device("cpu"), lambda *_: None)
    index, images = torch.arange(6), []
    for epoch in range(features.VIEWS + 1):
        made = found.train.batch(index, epoch)
        images.append(made.images)
        assert made.images.shape == (6, 12, 4, 4)
        if balance:
            assert made.labels.sum() == 3
        else:
            plain = splits.train.batch(index, epoch % features.VIEWS)
            with torch.no_grad():
                assert torch.allclose(made.images, net.eval().backbone(plain.images), atol=1e-4)
            assert torch.equal(made.labels, plain.labels)
    assert not torch.equal(images[0], images[1])
    if not balance:
        assert torch.equal(images[0], images[-1])


@pytest.mark.parametrize(
    "values", [{"tune": "last:1"}, {"precision": "64"}, {"reconstruction_weight": 0.1}], ids=["tuned", "64", "decoder"]
)
def test_where_images_are_needed_they_are_images(values):
    net = create_model(
        "sabour2017/capsnet",
        backbone=trunk(),
        image_size=32,
        in_chans=3,
        num_classes=2,
        width=0.1,
        reconstruction="plain",
    )
    settings = Settings("custom", "custom", **{"tune": "head", "reconstruction_weight": 0.0, **values})
    tuned(net, settings, 10)
    splits = features.Splits(stored(), None)
    assert features.on_features(net, settings, splits, torch.device("cpu"), lambda *_: None)[0] is splits


def test_a_deterministic_training_keeps_no_features():
    fit(network(), stored(), tune="head", deterministic=True, **SHORT)
    assert shelves() == []


def test_without_a_disk_for_features_a_training_goes_on(tmp_path):
    (tmp_path / "cache").touch()
    assert len(fit(network(), stored(), tune="head", **SHORT).history) == 2


@pytest.fixture(scope="module")
def run(photos, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    patch = pytest.MonkeyPatch()
    patch.setattr("torchcaps.backbones.cache.cache_home", lambda: folder.parent)
    values = {"epochs": 4, "batch_size": 8, "validation": 0.2, "quiet": True, "image_size": 64}
    found = fit("tsai2020/inverted_simple", photos, out=folder, options={**LITE, "width": 0.25}, **values)
    patch.undo()
    return found


def test_a_run_knows_backbone_and_tuning(run):
    assert run.settings.options["backbone"] == "efficientnet_lite0"
    assert run.settings.tune == "head"
    assert run.image_shape == (3, 64, 64)
    again = load_run(run.directory)
    images = torch.rand(2, 3, 64, 64)
    assert torch.equal(again.model(images).scores, run.model(images).scores)


def test_a_run_holds_the_weights_and_the_preprocessing_of_its_backbone(run, monkeypatch):
    """So that it is read where the package of weights is not, or another one is."""
    monkeypatch.setattr("torchcaps.backbones.efficientnet.read_weights", None)
    kept = load_file(run.directory / "model" / "model.safetensors")
    assert kept["backbone.mean"].flatten().tolist() == pytest.approx([127 / 255] * 3)
    assert torch.equal(load_run(run.directory).model.backbone.stages[0][0].weight, kept["backbone.stages.0.0.weight"])


def test_training_and_predicting_ask_no_network(photos, tmp_path, no_sockets):
    from torchcaps.train.predict import predict

    values = {"epochs": 1, "batch_size": 16, "quiet": True, "image_size": 64}
    fit("baselines/linear_head", photos, out=tmp_path / "run", options=LITE, **values)
    found = list(predict(load_run(tmp_path / "run"), [photos / "red" / "3.png"]))
    assert len(found) == 1


def test_a_training_that_stopped_goes_on_with_the_same_backbone(photos, tmp_path):
    values = {"batch_size": 16, "quiet": True, "image_size": 64, "options": LITE}
    once = fit("baselines/linear_head", photos, out=tmp_path / "one", epochs=2, **values)
    fit("baselines/linear_head", photos, out=tmp_path / "two", epochs=1, **values)
    twice = fit("baselines/linear_head", photos, out=tmp_path / "two", epochs=2, resume=True, **values)
    assert all(
        torch.equal(a, b) for a, b in zip(weights(once.model).values(), weights(twice.model).values(), strict=True)
    )


def test_pictures_come_at_the_size_of_the_backbone(photos):
    from torchcaps.train.own import size_of

    assert size_of(Settings("sabour2017/capsnet", str(photos), options=LITE)) == 224
    assert size_of(Settings("sabour2017/capsnet", str(photos), options=LITE, image_size=96)) == 96


@pytest.mark.usefixtures("no_shape_checks")
def test_onnx_answers_as_torch_does_from_raw_pixels(run, tmp_path):
    """Normalisation, backbone and capsules in one file; the network is compared on bytes of pictures."""
    import numpy as np
    import onnxruntime

    from torchcaps.export import export_onnx

    made = export_onnx(run.model, tmp_path / "net.onnx", run.image_shape, run.reading.metadata(run.classes))
    assert made.difference <= 1e-4
    pixels = torch.randint(256, (3, 3, 64, 64), dtype=torch.uint8).numpy().astype(np.float32) / 255
    session = onnxruntime.InferenceSession(str(made.path), providers=["CPUExecutionProvider"])
    scores, *_ = session.run(["scores"], {"images": pixels})
    with torch.no_grad():
        wanted = run.model(torch.from_numpy(pixels)).scores
    assert torch.allclose(torch.from_numpy(scores), wanted, atol=1e-4)


def test_trunk_of_a_run_is_frozen_in_training_mode(run):
    assert trunk_of(run.model).is_frozen
    assert not run.model.train().backbone.stages[3].training
    run.model.eval()
