"""`torchcaps train` as people expect it: options of their own, both spellings, lists, and words that help."""

import json
import sys
from dataclasses import fields

import pytest
from typer.testing import CliRunner

from torchcaps.cli import app
from torchcaps.cli._settings import settings_of
from torchcaps.models import card, options_of
from torchcaps.train import Settings, Stopped, load_run
from torchcaps.train.estimate import Estimate
from torchcaps.train.fitting import settings_from
from torchcaps.train.settings import OPTIMISERS

LENET = ("train", "chen2019/lenet", "--data", "glyphs", "--epochs", "1", "--set", "images=40")


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        (("--lr", "0.5"), "lr", 0.5),
        (("--batch-size", "8"), "batch_size", 8),
        (("--batch_size=8",), "batch_size", 8),
        (("--optimizer", "sgd"), "optimiser", "sgd"),
        (("--optimiser", "adamw"), "optimiser", "adamw"),
        (("--set", "optimizer=adamw"), "optimiser", "adamw"),
        (("--augment", "crop_flip"), "augment", "crop_flip"),
        (("--augment", "crop-flip"), "augment", "crop_flip"),
    ],
)
def test_settings_have_options_of_their_own(given, name, value, tmp_path):
    done = invoke(*LENET, "--out", tmp_path / "run", *given)
    assert done.exit_code == 0, done.exception
    assert getattr(load_run(tmp_path / "run").settings, name) == value
    assert set(OPTIMISERS) == {"adam", "adamw", "sgd"}


def test_a_setting_that_is_named_twice_is_refused():
    done = invoke(*LENET, "--lr", "0.1", "--set", "lr=0.2", "--dry-run")
    assert "lr is given twice" in str(done.exception)


def test_what_can_be_set_is_listed_with_its_defaults():
    """In either order, and without --data, which a training needs."""
    for arguments in (("gu2021/capsnet", "--options"), ("--options", "gu2021/capsnet")):
        done = invoke("train", *arguments)
        assert done.exit_code == 0, done.output
        lines = done.output.splitlines()
        for name, value in options_of(card("gu2021/capsnet").build).items():
            assert f"  {name} = {value}" in lines
        assert "  batch_size = 128" in lines
        assert "  kernel = 9" in lines
    assert "Missing argument" in invoke("train", "--options").output


@pytest.mark.parametrize(
    ("pair", "near"),
    [("lrr=1", "'lr'"), ("batch=1", "'batch_size'"), ("widht=1", "'width'"), ("kernal=3", "'kernel'")],
)
def test_the_nearest_key_is_a_setting_or_an_option(pair, near):
    with pytest.raises(ValueError, match="there is no setting or option of a model") as error:
        settings_of([pair])
    assert near in str(error.value)


def test_an_option_of_another_model_is_refused_by_name():
    done = invoke(*LENET, "--dry-run", "--set", "kernel=3")
    assert "chen2019/lenet has no option 'kernel'" in str(done.exception)


def test_words_for_truth():
    assert settings_of(["squash=False", "bias=True", "side=None", "norm=false"]) == {
        "options": {"squash": False, "bias": True, "side": None, "norm": False}
    }


def test_too_small_images_are_answered_with_the_option_that_helps(no_shape_checks):
    done = invoke("train", "sabour2017/capsnet", "--data", "glyphs", "--image-size", 10, "--dry-run")
    assert "What helps is kernel=3 (it is 9), or a larger image_size" in str(done.exception)
    helped = invoke("train", "sabour2017/capsnet", "--data", "glyphs", "--image-size", 10, "--dry-run", "--set",
                    "kernel=3", "--set", "width=0.05", "--json")  # fmt: skip
    assert json.loads(helped.stdout)["images"] == 9000


SETTINGS = [f.name for f in fields(Settings)]
ASKED = {
    "seed": (["--seed", 5], 5),
    "precision": (["--precision", "64"], "64"),
    "balance": (["--balance"], True),
    "deterministic": (["--deterministic"], True),
    "compile": (["--compile"], True),
    "overfit": (["--overfit", 3], 3),
    "image_size": (["--image-size", 20], 20),
    "fit": (["--fit", "crop"], "crop"),
    "epochs": (["--epochs", 7], 7),
    "until_accuracy": (["--until-accuracy", 0.9], 0.9),
    "lr": (["--lr", 0.5], 0.5),
    "batch_size": (["--batch_size", 8], 8),
    "optimiser": (["--optimizer", "sgd"], "sgd"),
    "augment": (["--augment", "crop-flip"], "crop_flip"),
    "weight_decay": (["--set", "weight_decay=0.25"], 0.25),
    "validation_data": (["--set", "validation_data=2024"], "2024"),
    "options": (["--set", "standardise=true", "--set", "width=0.5"], {"width": 0.5}),
    "data_options": (["--make-missing", "--set", 'data_options={"background": "black"}'],
                     {"background": "black", "make_missing": True}),
    "devices": (["--devices", 2], 2),
    "nodes": (["--nodes", 3], 3),
    "resume": (["--resume"], True),
    "tensorboard": (["--tensorboard"], True),
    "fast_dev_run": (["--fast-dev-run"], True),
}  # fmt: skip


@pytest.fixture
def fitted(a_run, spy):
    return spy("torchcaps.train.fit", return_value=a_run())


def asked_of(fit):
    """What a training was asked for: its settings, and the rest."""
    (model, data), values = fit.call_args.args, fit.call_args.kwargs
    told = settings_from(model, data, {name: value for name, value in values.items() if name in SETTINGS})
    return {**vars(told), **{name: value for name, value in values.items() if name not in SETTINGS}}


@pytest.mark.parametrize("name", ASKED)
def test_every_option_reaches_the_training(name, fitted):
    """It, and no other: the rest is as if nothing had been said."""
    command = ("train", "gu2021/capsnet", "--data", "glyphs", "--out", "out")
    assert invoke(*command).exit_code == 0
    usual = asked_of(fitted)
    assert {setting: usual[setting] for setting in SETTINGS} == vars(Settings("gu2021/capsnet", "glyphs"))
    words, value = ASKED[name]
    done = invoke(*command, *words)
    assert done.exit_code == 0, done.exception
    asked = asked_of(fitted)
    assert asked[name] == value
    others = {"until_accuracy": {"epochs"}, "options": {"standardise"}}.get(name, set())
    assert {key for key in usual if asked[key] != usual[key]} == {name} | others


@pytest.mark.parametrize(("words", "epochs"), [([], 10), (["--until-accuracy", 0.9], 100), (["--epochs", 4], 4)])
def test_how_long_it_takes_is_told_for_what_would_be_done(words, epochs, fitted, spy):
    cost = spy("torchcaps.train.estimate.estimate", return_value=Estimate(1234567, 9000, 710, 0.25, 177.5, 800.0))
    done = invoke("train", "chen2019/lenet", "--data", "glyphs", "--dry-run", "--seed", 5, *words)
    assert (cost.call_args.kwargs["epochs"], cost.call_args.kwargs["seed"]) == (epochs, 5)
    assert done.stdout == "1,234,567 parameters; 9,000 images, 710 steps of 250 ms: about 3.0 minutes; 800 MB\n"
    fitted.assert_not_called()


@pytest.mark.parametrize("code", [130, 143])
def test_a_stopped_training_ends_as_its_signal_wants(code, fitted, monkeypatch):
    fitted.side_effect = Stopped("stopped at step 4", code)
    command = ["train", "chen2019/lenet", "--data", "glyphs", "--out", "a run"]
    monkeypatch.setattr(sys, "argv", ["torchcaps", *command])
    done = invoke(*command)
    assert done.exit_code == code
    assert done.stderr == (
        "torchcaps: stopped at step 4. Go on with\n"
        "  torchcaps train chen2019/lenet --data glyphs --out 'a run' --resume\n"
    )


def test_of_several_processes_one_says_how_to_go_on(fitted, monkeypatch):
    fitted.side_effect = Stopped("stopped at step 4", 143)
    monkeypatch.setenv("LOCAL_RANK", "1")
    done = invoke("train", "chen2019/lenet", "--data", "glyphs", "--out", "a run")
    assert (done.exit_code, done.stderr) == (143, "")
