"""`torchcaps train` as people expect it: options of their own, both spellings, lists, and words that help."""

import json

import pytest
from typer.testing import CliRunner

from torchcaps.cli import app
from torchcaps.cli._settings import settings_of
from torchcaps.models import card, options_of
from torchcaps.train import load_run
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
