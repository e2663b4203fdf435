"""Finding, building and keeping models: what a user's mistakes are answered with."""

import json
import math

import pytest
import torch

from torchcaps._seal import SEAL, sealed
from torchcaps.models import _registry, card, count_parameters, create_model, from_pretrained, list_models
from torchcaps.models._assemble import feature_shape


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sabour2017/capsnt", "did you mean 'sabour2017/capsnet'"),
        ("tsai2020/inverted", "'tsai2020/inverted_simple'"),
        ("zzzz", r"list_models\(\) names them all"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(name, hint):
    with pytest.raises(ValueError, match=f"there is no model {name!r}: .*{hint}"):
        create_model(name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_class": 3}, "has no option 'num_class': did you mean 'num_classes'"),
        ({"routing": "magic"}, "routing='magic' is not allowed: choose one of 'uniform'"),
        (
            {"backbone": "vgg"},
            "backbone='vgg' is not allowed: choose one of 'tsai_resnet', 'resnet18', 'efficientnet_lite0'",
        ),
        ({"loss": "l2"}, "loss='l2' is not allowed: choose one of 'margin'"),
        ({"reconstruction": "some"}, "reconstruction='some' is not allowed"),
        ({"width": 0.0}, "width=0.0 is not allowed: it must be a positive number"),
        ({"width": "0.5"}, "width='0.5' is not allowed"),
        ({"conv_width": -1}, "conv_width=-1 is not allowed: it must be a positive number"),
        ({"init_std": 0.0}, "init_std=0.0 is not allowed: it must be a positive number"),
        ({"num_classes": 0}, "num_classes=0 is not allowed: a whole number from 1 to 1,000,000 is needed"),
        ({"in_chans": "3"}, "in_chans='3' is not allowed"),
        ({"num_classes": True}, "num_classes=True is not allowed: a whole number from 1 to 1,000,000 is needed"),
        ({"image_size": (28, 5000)}, r"image_size=\(28, 5000\) is not allowed: from 1 to 4096 pixels are possible"),
        ({"width": float("inf")}, "width=inf is not allowed: it must be a positive number"),
        ({"image_size": (28,)}, r"image_size=\(28,\) is not allowed: give one integer, or two"),
        ({"image_size": 28.0}, r"image_size=28\.0 is not allowed"),
        ({"image_size": 0}, "image_size=0 is not allowed"),
        ({"routing": None}, "routing=None is not allowed: give a name or a factory"),
        (
            {"routing_options": {"itres": 2}},
            "routing_options has 'itres', which is not allowed: the routing takes iters",
        ),
        (
            {"routing_options": {"iters": "x"}},
            "routing_options has iters='x', which is not allowed: a whole number from 1",
        ),
        ({"routing_options": {"iters": 2.5}}, r"routing_options has iters=2\.5, which is not allowed: a whole number"),
        (
            {"routing_options": {"prior": 1}},
            "routing_options has prior=1, which is not allowed: it must be True or False",
        ),
        (
            {"routing": "em", "routing_options": {"output": "mode"}},
            "routing_options has output='mode', which is not allowed: choose one of 'mean', 'length'",
        ),
        ({"image_size": 6}, r"the backbone cannot take images of \(1, 6, 6\)"),
        ({"image_size": 12}, "is larger than the grid"),
    ],
)
def test_bad_options_are_named(options, message, no_shape_checks):
    with pytest.raises(ValueError, match=message):
        create_model("sabour2017/capsnet", **{"width": 0.1, **options})


@pytest.mark.parametrize(("name", "option"), [("peer2021/rba", "depth"), ("mitterreiter2023/capsnet", "layers")])
def test_too_few_layers_are_named(name, option):
    with pytest.raises(ValueError, match=f"{option}=1 is not allowed"):
        create_model(name, **{option: 1})


def test_probing_a_backbone_leaves_its_frozen_parts_frozen():
    backbone = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4).eval()).double()
    assert feature_shape(backbone, (1, 8, 8)) == (4, 6, 6)
    assert [module.training for module in backbone] == [True, False]


def test_a_backbone_must_return_a_feature_map():
    class Named(torch.nn.Module):
        def forward(self, x):
            return {"features": x}

    with pytest.raises(ValueError, match="the backbone returns a dict"):
        feature_shape(Named(), (1, 8, 8))
    with pytest.raises(ValueError, match=r"a feature map .* is needed"):
        feature_shape(torch.nn.Flatten(), (1, 8, 8))


@pytest.mark.parametrize("name", [name for name in list_models() if card(name).routing])
def test_with_a_backbone_of_ones_own_the_papers_is_not_built(name, monkeypatch):
    built = []
    monkeypatch.setattr(torch.nn.Conv2d, "reset_parameters", lambda self: built.append(self.kernel_size))
    backbone = torch.nn.Identity()
    create_model(name, width=0.1, backbone=backbone)
    primary = 2 if card(name).routing == "em" and name.startswith("tsai2020") else 1
    assert len(built) == (0 if name == "peer2021/sign" else primary)


def test_patterns():
    assert list_models("peer2021/*") == ["peer2021/em", "peer2021/rba", "peer2021/sign"]
    assert list_models("nothing*") == []


@pytest.fixture
def saved(tmp_path):
    create_model("peer2021/sign").save_pretrained(tmp_path)
    return tmp_path


def edit(path, *, seal=True, **changes):
    facts = {**json.loads(path.read_text()), **changes}
    del facts[SEAL]
    path.write_text(json.dumps(sealed(facts) if seal else {**facts, SEAL: json.loads(path.read_text())[SEAL]}))


@pytest.mark.parametrize("changes", [{"name": "peer2021/rba"}, {"options": {"routing": "em"}}, {"torchcaps": "9"}])
def test_a_recipe_that_was_edited_is_refused(saved, changes):
    """Even where the weights would fit: with another routing it would be another network."""
    edit(saved / "config.json", seal=False, **changes)
    with pytest.raises(ValueError, match=r"config\.json was changed after it was written: its checksum differs"):
        from_pretrained(saved)


def test_damage_is_named(saved):
    weights = saved / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-3])
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged or not the file that was saved"):
        from_pretrained(saved)
    weights.unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no model\.safetensors"):
        from_pretrained(saved)


def test_a_pickle_in_disguise_is_refused(saved):
    import hashlib

    torch.save({"weight": torch.ones(2)}, saved / "model.safetensors")
    edit(saved / "config.json", sha256=hashlib.sha256((saved / "model.safetensors").read_bytes()).hexdigest())
    with pytest.raises(ValueError, match=r"is not a safetensors file"):
        from_pretrained(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99, "torchcaps": "7.0"}, "has format 99, saved by torchcaps 7.0: this version reads 1"),
        ({"name": "peer2021/sgn"}, "there is no model 'peer2021/sgn': did you mean 'peer2021/sign'"),
        ({"options": {"bias": True}}, "does not fit peer2021/sign of this version"),
    ],
)
def test_another_version_is_named(saved, changes, message):
    edit(saved / "config.json", **changes)
    with pytest.raises(ValueError, match=message):
        from_pretrained(saved)


def test_foreign_configs_are_named(saved):
    (saved / "config.json").write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        from_pretrained(saved)
    (saved / "config.json").write_text('{"architectures": ["BertModel"]}')
    with pytest.raises(ValueError, match="is not a torchcaps model"):
        from_pretrained(saved)
    (saved / "config.json").write_text(
        json.dumps({"format": 1, "torchcaps": "0", "name": ["x"], "options": [1], "sha256": ""})
    )
    with pytest.raises(ValueError, match="is not a torchcaps model"):
        from_pretrained(saved)
    (saved / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no config\.json"):
        from_pretrained(saved)


def test_what_json_cannot_hold_is_not_saved(tmp_path):
    net = create_model("peer2021/rba", width=0.1, backbone=torch.nn.Conv2d(1, 4, 9))
    with pytest.raises(ValueError, match=r"option backbone=.* is an object that JSON cannot hold"):
        net.save_pretrained(tmp_path)
    net.recipe = {}
    with pytest.raises(ValueError, match="only a network built by create_model knows its recipe"):
        net.save_pretrained(tmp_path)


def test_weights_of_the_older_format_are_checked_too(saved):
    """Format 1 had no seal over the recipe, but a checksum of the weights."""
    config, weights = saved / "config.json", saved / "model.safetensors"
    facts = {**json.loads(config.read_text()), "format": 1}
    del facts[SEAL]
    config.write_text(json.dumps(facts))
    assert from_pretrained(saved).recipe["name"] == "peer2021/sign"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged or not the file that was saved"):
        from_pretrained(saved)


def test_a_network_that_memory_cannot_hold_is_refused_in_bytes(monkeypatch):
    options = {"num_classes": 2000}
    numbers = count_parameters("peer2021/sign", **options)
    monkeypatch.setattr(_registry, "memory", lambda: 4 * numbers - 1)
    with pytest.raises(ValueError, match="peer2021/sign with num_classes=2000 has weights of"):
        create_model("peer2021/sign", **options)
    monkeypatch.setattr(_registry, "memory", lambda: 4 * numbers)
    create_model("peer2021/sign", **options)


@pytest.mark.parametrize(
    "loss", ["margin", {"name": "margin"}, {"name": "margin", "logits": True, "down_weight": 0.25}]
)
def test_a_loss_by_name_or_with_its_options(loss):
    """Of lengths: 0.6² + λ·0.3²; of logits that of their sigmoids."""
    found = create_model("chen2019/lenet", width=0.1, loss=loss).loss
    scores, targets = torch.tensor([[0.3, 0.4]]), torch.tensor([[1.0, 0.0]])
    expected = 0.6**2 + 0.5 * 0.3**2
    if len(loss) == 3:
        present, absent = (1 / (1 + math.exp(-s)) for s in (0.3, 0.4))
        expected = (0.9 - present) ** 2 + 0.25 * (absent - 0.1) ** 2
    assert found(scores, targets).item() == pytest.approx(expected)


def test_a_network_that_is_to_standardise_sees_images_of_mean_0_and_deviation_1():
    net = create_model("chen2019/lenet", width=0.5, standardise=True).eval()
    x = torch.rand(3, 1, 28, 28)
    torch.testing.assert_close(net(x).scores, net(0.1 + x / 3).scores, rtol=1e-4, atol=1e-5)
    plain = create_model("chen2019/lenet", width=0.5).eval()
    plain.load_state_dict(net.state_dict())
    normal = (x - x.mean((1, 2, 3), keepdim=True)) / x.std((1, 2, 3), keepdim=True, correction=0)
    torch.testing.assert_close(net(x).scores, plain(normal).scores, rtol=1e-4, atol=1e-5)
