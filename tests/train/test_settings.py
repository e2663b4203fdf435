"""Settings: any training of the papers as plain data, wrong values quoted, and what they say is what happens."""

import json
import math
import re
from dataclasses import fields, replace

import pytest
import torch

from benchmarks.kill import log_of
from tests.train.separable import Separable, linear
from torchcaps import fit, load_run
from torchcaps.infer import infer
from torchcaps.losses import BinaryCrossEntropy, MarginLoss, SpreadLoss
from torchcaps.models import create_model
from torchcaps.train import checkpoint
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS
from torchcaps.train.settings import Settings

NAME = "mitterreiter2023/capsnet"
SGD = {"optimiser": "sgd", "lr": 0.1, "lr_schedule": "steps", "epochs": 350}
SIX_THOUSAND = {"steps": 6000, "judge_every": 100, "until_accuracy": 0.992, "images": 20_000}
PAPERS = {
    "gu2021/table1": {"model": "gu2021/capsnet", "data": "placed_mnist", **SIX_THOUSAND},
    "gu2021/table2": {"model": "gu2021/aff_capsnet", "data": "placed_mnist", "reconstruction_weight": 0.0},
    "gu2021/table4": {
        "model": "gu2021/convnet_avg",
        "data": "multi_mnist",
        "data_options": {"source": "fashion_mnist", "pairs": 1000},
        "loss": {"name": "bce"},
        "options": {"image_size": 36},
    },
    "chen2019/table2": {"model": "chen2019/fc_gcaps_cifar", "data": "cifar10", "batch_size": 100},
    "mitterreiter2023/table1": {
        "model": NAME,
        "data": "affine_mnist",
        "data_options": {"strength": {"shear": 10.0}, "canvas": 40},
        "validation_data": "placed_mnist",
        "validation_options": {"canvas": 40},
        "callbacks": {"gradient_norm": {}},
    },
    "peer2021/table1": {
        "model": "peer2021/sign",
        "data": "sign",
        "options": {"bias": True},
        "lr": 5e-3,
        "batch_size": 256,
        "epochs": 50,
        "loss": {"name": "margin", "down_weight": 1.0},
        "validation": 0.0,
    },
    "peer2021/table2 as released": {"model": "peer2021/rba", "data": "fashion_mnist", "standardise": True, "lr": 1e-4},
    "tsai2020/table1": {"model": "tsai2020/inverted_simple", "data": "cifar10", "augment": "crop_flip", **SGD},
    "tsai2020/figure4": {
        "model": "tsai2020/em_simple",
        "data": "cifar10",
        "loss": {"name": "spread", "first": 0.2, "last": 0.9},
        "clip": 1.0,
        "lr": 0.01,
    },
    "tsai2020/figure5": {
        "model": "tsai2020/diverse_matrix",
        "data": "diverse_multi_mnist",
        "data_options": {"single": 1 / 6},
        "loss": {"name": "bce"},
        "momentum": 0.0,
        **SGD,
    },
}


@pytest.mark.parametrize("paper", PAPERS)
def test_a_training_of_each_paper_is_plain_data(paper):
    settings = Settings.from_json(PAPERS[paper])
    assert Settings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


@pytest.fixture
def few_glyphs(monkeypatch):
    monkeypatch.setattr("torchcaps.data.glyphs.COUNTS", {"train": 200, "test": 50})


# The same kinds of training, as small as they can be, on digits that need no network.
GLYPHS = {"source": "glyphs"}
SMALL = {"width": 0.1, "layers": 2, "reconstruction": "none"}
TINY = {
    "pairs": {
        "model": "gu2021/convnet_avg",
        "data": "multi_mnist",
        "data_options": {**GLYPHS, "pairs": 3},
        "options": {"width": 0.02},
        "loss": {"name": "bce"},
    },
    "warped": {
        "model": NAME,
        "data": "affine_mnist",
        "data_options": {**GLYPHS, "strength": {"shear": 10.0}, "canvas": 32},
        "validation_data": "placed_mnist",
        "validation_options": {**GLYPHS, "canvas": 32},
        "options": SMALL,
    },
    "standardised": {"model": NAME, "data": "glyphs", "standardise": True, "options": SMALL},
    "spread": {"model": NAME, "data": "glyphs", "loss": {"name": "spread", "last": 0.7}, "clip": 0.1, "options": SMALL},
    "augmented": {"model": "chen2019/lenet", "data": "glyphs", "augment": "crop_flip", "optimiser": "adamw"},
    "sign": {"model": "peer2021/sign", "data": "sign", "loss": {"name": "margin", "upper": 0.8}},
}


@pytest.mark.parametrize("name", TINY)
def test_a_run_comes_back_as_it_was(name, tmp_path, few_glyphs):
    """From the settings' JSON alone: the same scores and probabilities, from checkpoint and weights; it goes on."""
    chosen = {**TINY[name], "images": 40, "validation": 0.2, "batch_size": 16, "steps": 3, "quiet": True}
    run = fit(**json.loads(json.dumps(chosen)), out=tmp_path / "run")
    assert [entry["step"] for entry in run.history][-1] == 3
    assert run.settings.model == chosen["model"]
    x = torch.rand(4, *run.image_shape)
    again = load_run(tmp_path / "run")
    assert again.settings == run.settings
    (tmp_path / "run" / "checkpoints").rename(tmp_path / "away")
    for other in (again, load_run(tmp_path / "run")):
        assert torch.equal(infer(other.model, x).scores, infer(run.model, x).scores)
        assert type(other.model.loss) is type(run.model.loss)
        scores = torch.rand(4, len(run.classes))
        assert torch.equal(other.model.probabilities(scores), run.model.probabilities(scores))
        assert other.model.standardises == (name == "standardised")
    (tmp_path / "away").rename(tmp_path / "run" / "checkpoints")
    longer = fit(**{**run.settings.to_json(), "steps": 5}, out=tmp_path / "run", resume=True, quiet=True)
    assert longer.history[-1]["step"] == 5


def test_losses_with_options_are_the_networks_own():
    assert create_model("peer2021/sign", loss={"name": "margin", "lower": 0.3}).loss.lower == 0.3
    assert isinstance(create_model("peer2021/sign", loss="spread").loss, SpreadLoss)
    lengths = create_model(NAME, loss={"name": "bce"}, **SMALL).loss
    assert isinstance(lengths, BinaryCrossEntropy), "as with loss='bce', which knows that scores are lengths"
    assert lengths.on == "lengths"
    net = linear()
    fit(net, Separable(), validation=0.0, loss={"name": "margin", "upper": 0.7}, standardise=True, steps=1, quiet=True)
    assert isinstance(net.loss, MarginLoss)
    assert (net.loss.upper, net.standardises) == (0.7, True)


def test_standardised_images_stay_images():
    """The hand-made standardisation before a plain network, and the network that does it, give the same gradients."""
    torch.manual_seed(1)
    plain, own = create_model("chen2019/lenet"), create_model("chen2019/lenet", standardise=True)
    own.load_state_dict(plain.state_dict())
    x = torch.rand(3, 1, 28, 28)
    by_hand = torch.stack([(image - image.mean()) / image.std(unbiased=False) for image in x])
    torch.testing.assert_close(own(x).scores, plain(by_hand).scores)
    own.standardise()
    torch.testing.assert_close(own(x).scores, plain(by_hand).scores, msg="once is enough")
    assert not torch.allclose(own(x).scores, plain(x).scores)
    flat = torch.full((1, 1, 28, 28), 0.3, requires_grad=True)
    own(flat).scores.sum().backward()
    assert torch.isfinite(flat.grad).all()


def test_the_gradient_is_clipped(monkeypatch):
    norms = []
    real = Training._move

    def move(self):
        real(self)
        norms.append(torch.nn.utils.get_total_norm([p.grad for p in self.model.parameters()]).item())

    monkeypatch.setattr(Training, "_move", move)
    for clip in (None, 1e-3):
        fit(linear(), Separable(), validation=0.0, batch_size=8, epochs=1, clip=clip, quiet=True)
    assert all(norm > 0.05 for norm in norms[:4])
    assert norms[4:] == pytest.approx([1e-3] * 4, rel=1e-3)


def test_steps_end_it_whatever_the_epochs(tmp_path):
    """In the middle of the second epoch, or after more of them than `epochs` says; the history tells the part."""
    chosen = {"validation": 0.0, "batch_size": 8, "epochs": 1, "quiet": True}
    run = fit(linear(), Separable(), steps=6, out=tmp_path / "run", **chosen)
    assert [(entry["epoch"], entry["step"]) for entry in run.history] == [(0, 4), (1, 6)]
    whole = fit(linear(), Separable(), steps=10, **{**chosen, "epochs": 5})
    again = fit(linear(), Separable(), steps=10, out=tmp_path / "run", resume=True, **chosen)
    assert [entry["step"] for entry in again.history] == [4, 6, 8, 10]
    for one, other in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_judged_inside_an_epoch(tmp_path):
    """Every third step and after each epoch of four; good enough inside an epoch is noticed there, and kept."""
    chosen = {"validation_data": Separable(10), "batch_size": 8, "lr": 0.2, "quiet": True}
    run = fit(linear(), Separable(), epochs=2, judge_every=3, out=tmp_path / "all", **chosen)
    assert [entry["step"] for entry in run.history] == [3, 4, 6, 8]
    events = [(line["event"], line["step"]) for line in log_of(tmp_path / "all") if line["event"] != "step"]
    assert events == [("judging", 3), ("epoch", 4), ("judging", 6), ("epoch", 8)]
    long = fit(linear(), Separable(3200), epochs=1, judge_every=1, until_accuracy=1.0, out=tmp_path / "one", **chosen)
    step = long.history[-1]["step"]
    assert step < 20
    assert [entry["validation_accuracy"] == 1 for entry in long.history] == [False] * (step - 1) + [True]
    assert checkpoint.newest(tmp_path / "one" / CHECKPOINTS)[0].record["history"] == long.history


def test_momentum_is_that_of_sgd():
    ends = []
    for momentum in (0.0, 0.9):
        run = fit(linear(), Separable(), optimiser="sgd", momentum=momentum, steps=3, validation=0.0, quiet=True)
        ends.append(torch.cat([p.flatten() for p in run.model.parameters()]))
    assert not torch.equal(*ends)


def test_tuples_and_lists_of_options_are_the_same_settings():
    one, other = (Settings(NAME, "glyphs", options={"image_size": size}) for size in ((28, 28), [28, 28]))
    assert one.differences(other) == []
    assert replace(one, steps=9, judge_every=3, save_every=4, epochs=7, until_accuracy=0.5).differences(other) == []
    assert one.differences(replace(other, clip=1.0)) == ["clip was 1.0, now None"]


OTHER = {
    "model": "chen2019/lenet", "data": "mnist", "options": {"width": 0.2}, "data_options": {"count": 9}, "images": 5,
    "image_size": 30, "fit": "crop", "balance": True, "augment": "shift", "standardise": True, "validation": 0.2,
    "validation_data": "cifar10", "validation_options": {"root": "here"}, "overfit": 4, "batch_size": 7,
    "average": 0.9,
    "optimiser": "sgd", "lr": 0.1, "lr_schedule": "cosine", "momentum": 0.5, "weight_decay": 0.1, "clip": 1.0,
    "tune": "last:2", "backbone_lr": 0.5,
    "loss": {"name": "ce"}, "reconstruction_weight": 0.1, "callbacks": {"gradient_norm": {}}, "seed": 1,
    "precision": "64", "deterministic": True, "compile": True,
}  # fmt: skip
FREE = {"epochs": 11, "steps": 12, "until_accuracy": 0.5, "judge_every": 3, "save_every": 4, "keep": 5}


def test_nothing_but_the_length_of_a_training_may_change_when_it_goes_on():
    assert OTHER.keys() | FREE.keys() == {f.name for f in fields(Settings)}
    before = Settings(NAME, "glyphs", validation_data="mnist")
    for name, value in OTHER.items():
        [said] = replace(before, **{name: value}).differences(before)
        assert said == f"{name} was {getattr(before, name)!r}, now {value!r}"
    assert replace(before, **FREE).differences(before) == []


BAD = {
    "epochs": [0, "abc", 1.5, True, None],
    "steps": [0, 2.5],
    "until_accuracy": [0.0, 1.5, "0.9"],
    "judge_every": [0, "often"],
    "average": [1.0, -0.1, "0.9", True],
    "batch_size": [0, "16"],
    "lr": [0, -1.0, math.nan, math.inf, "fast"],
    "momentum": [1.0, -0.1],
    "weight_decay": [-0.1, math.inf],
    "clip": [0.0, math.inf],
    "tune": ["heads", "last:0", 3],
    "backbone_lr": [0.0, math.inf, "slow"],
    "optimiser": ["lion", 3],
    "lr_schedule": ["linear"],
    "loss": ["margin", {"upper": 0.9}, {"name": 3}],
    "reconstruction_weight": [-1],
    "images": [-1, 0.5],
    "image_size": [0, 28.0],
    "fit": ["stretch", None],
    "balance": ["yes"],
    "augment": ["mixup"],
    "standardise": ["yes"],
    "validation": [1.0, -0.1],
    "validation_data": [3],
    "validation_options": [{"canvas": 40}],
    "seed": [-1, 2**31, 0.5],
    "precision": ["16", 32],
    "deterministic": [1],
    "compile": ["yes"],
    "overfit": [-1],
    "save_every": [0],
    "keep": [0],
    "options": ["width=0.1", None],
    "data_options": [None],
    "callbacks": [{"watch": {}}, {"gradient_norm": 3}],
    "model": [3],
    "data": [None],
}


def test_every_setting_is_checked():
    assert BAD.keys() == {f.name for f in fields(Settings)}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_wrong_values_are_quoted(name, value, no_shape_checks):
    with pytest.raises(ValueError, match=re.escape(f"{name}={value!r} is not allowed: ")):
        Settings.from_json({"model": NAME, "data": "glyphs", name: value})


WRONG = {
    "no setting": ({"learning_rte": 0.1}, r"there is no setting 'learning_rte'.*Known: .*lr"),
    "near": ({"batchsize": 4}, "did you mean batch_size"),
    "old names": ({"schedule": "cosine"}, r"no setting 'schedule': did you mean lr_schedule\?"),
    "old weight": ({"reconstruction": 0.1}, r"did you mean reconstruction_weight\?"),
    "nothing to judge by": ({"until_accuracy": 0.9, "validation": 0.0}, "validation=0 leaves no images to judge by"),
    "no devices": ({"devices": 0}, r"devices=0, nodes=1 is not allowed"),
    "objects": ({"options": {"routing": MarginLoss}}, r"options has routing=.*an object that JSON cannot hold"),
    "two losses": ({"loss": {"name": "ce"}, "options": {"loss": "ce"}}, r"loss=.* options has loss='ce' already"),
    "no such loss": ({"loss": {"name": "hinge"}}, r"loss='hinge' is not allowed: choose one of 'margin'"),
    "no such constant": ({"loss": {"name": "margin", "up": 1}}, r"loss='margin' cannot be made with up=1"),
    "callback": ({"callbacks": {"gradient_norm": {"p": 1}}}, r"callbacks: 'gradient_norm' cannot be made with"),
}


@pytest.mark.parametrize("case", WRONG)
def test_contradictions_are_said_at_once(case, no_shape_checks):
    values, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        fit(NAME, Separable(), **{"validation": 0.0, "quiet": True, **values})


def test_what_becomes_a_part_of_the_network_is_among_its_options():
    loss = {"name": "margin", "upper": 0.8}
    settings = Settings(NAME, "glyphs", options={"width": 0.2}, loss=loss, standardise=True)
    assert settings.model_options == {"width": 0.2, "loss": loss, "standardise": True}
    assert Settings(NAME, "glyphs", options={"width": 0.2}).model_options == {"width": 0.2}


@pytest.mark.parametrize("judged", [{"overfit": 4}, {"validation_data": "mnist"}, {"validation": 0.1}])
def test_it_may_end_early_wherever_there_are_images_to_judge_by(judged):
    settings = Settings(NAME, "glyphs", **{"validation": 0.0, **judged}, until_accuracy=0.9, judge_every=5)
    assert settings.until_accuracy == 0.9
