"""How every command ends: errors and warnings in a line, options in both spellings."""

import sys
import warnings

import pytest

from torchcaps.cli import main


@pytest.fixture
def ended(monkeypatch, capsys):
    """What a command that does something ends with, as the shell sees it: its exit code, and what it said on stderr."""

    def run(action):
        monkeypatch.setattr("torchcaps.bench.demo.sign.train_sign", action)
        monkeypatch.setattr(sys, "argv", ["torchcaps", "demo", "--sign"])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, capsys.readouterr().err

    return run


def raising(error):
    def action(*_):
        raise error

    return action


@pytest.mark.parametrize(
    "error",
    [
        ValueError("lr=-1 is not allowed"),
        OSError("run is not there"),
        FloatingPointError("the loss is not a number at step 3"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_a_user_can_mend_is_a_line(error, ended):
    """Among it a training whose loss is no longer a number (see `torchcaps.train.not_finite`)."""
    assert ended(raising(error)) == (1, f"torchcaps: {error}\n")


@pytest.mark.parametrize(
    ("category", "said"),
    [
        (UserWarning, "torchcaps: three images cannot be read\n"),
        (FutureWarning, "torchcaps: FutureWarning: three images cannot be read\n"),
    ],
)
def test_our_own_warnings_are_plain_sentences(category, said, ended):
    def warn(*_):
        warnings.simplefilter("always")
        warnings.warn("three images cannot be read", category, stacklevel=1)
        raise ValueError("the end")

    assert ended(warn) == (1, f"{said}torchcaps: the end\n")


def test_options_are_shown_as_they_are_documented(invoke, monkeypatch):
    """However they are spelled, they are looked for, and proposed, with hyphens."""
    monkeypatch.setenv("COLUMNS", "200")
    done = invoke("train", "chen2019/lenet", "--data", "glyphs", "--batch_siz", "8")
    assert done.exit_code == 2
    assert "--batch-size" in done.output
    assert "--batch_size" not in done.output
