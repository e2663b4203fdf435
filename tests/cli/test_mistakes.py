"""Help at once, and a user's mistakes answered in a line: no traceback, exit code 1 or 2."""

import json
import resource
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from torchcaps.cli import app, main
from torchcaps.cli.train import settings_of

COMMANDS = (
    "attack",
    "bench",
    "cache",
    "data",
    "compare",
    "demo",
    "doctor",
    "evaluate",
    "explore",
    "export",
    "inspect",
    "models",
    "predict",
    "report",
    "train",
)
BUSY = 1.5  # seconds that a busy or slow machine may take for what takes less than half of one
NETWORK = "mitterreiter2023/capsnet"
GLYPHS = ("--data", "glyphs", "--set", "width=0.1")


def test_every_command_is_known():
    assert set(COMMANDS) == set(app_commands())


def app_commands():
    import typer

    return typer.main.get_command(app).commands


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=lambda c: " ".join(c) or "torchcaps")
def test_help_answers_at_once(command):
    """Without torch; seconds of the processor, so that other tests are not in the way."""
    began = _processor_seconds()
    code = "import atexit, sys; atexit.register(lambda: print('torch' in sys.modules, file=sys.stderr))\n"
    code += "from torchcaps.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *command, "--help"], capture_output=True, text=True)
    taken = _processor_seconds() - began
    print(f"{' '.join(command)} --help: {taken:.2f} s")
    assert done.returncode == 0
    assert "--help" in done.stdout
    assert done.stderr.split()[-1] == "False"
    assert taken < BUSY


def _processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture
def torchcaps(monkeypatch, capsys, tmp_path):
    """Runs a command as the shell does, in an empty folder; gives its exit code and what it said on stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["torchcaps", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, capsys.readouterr().err

    return run


MISTAKES = {
    "model": (["train", "sabour2017/capsnett", "--data", "glyphs", "--out", "x"], "did you mean 'sabour2017/capsnet'"),
    "data": (["train", NETWORK, "--data", "glyfs", "--out", "x"], "did you mean 'glyphs'"),
    "no data": (["train", NETWORK, "--out", "x"], "--data"),
    "no out": (["train", NETWORK, *GLYPHS], "--out is missing"),
    "option": (["train", NETWORK, *GLYPHS, "--out", "x", "--epoch", "3"], "--epoch"),
    "number": (["train", NETWORK, *GLYPHS, "--out", "x", "--epochs", "abc"], "Invalid value for '--epochs'"),
    "zero": (["train", NETWORK, *GLYPHS, "--out", "x", "--epochs", "0"], "epochs=0 is not allowed"),
    "both": (["train", NETWORK, *GLYPHS, "--out", "x", "--epochs", "2", "--until-accuracy", "0.9"], "give one"),
    "share": (["train", NETWORK, *GLYPHS, "--out", "x", "--until-accuracy", "99"], "until_accuracy=99.0 is not"),
    "precision": (["train", NETWORK, *GLYPHS, "--out", "x", "--precision", "8"], "'8' is not one of"),
    "devices": (["train", NETWORK, *GLYPHS, "--out", "x", "--devices", "0"], "devices=0"),
    "setting": (["train", NETWORK, *GLYPHS, "--out", "x", "--set", "lr=quick"], "lr='quick' is not allowed"),
    "no pair": (["train", NETWORK, *GLYPHS, "--out", "x", "--set", "lr"], "write KEY=VALUE"),
    "model's option": (["train", NETWORK, *GLYPHS, "--out", "x", "--set", "widht=1"], "did you mean 'width'"),
    "model's value": (["train", NETWORK, *GLYPHS, "--out", "x", "--set", "width=wide"], "width='wide' is not allowed"),
    "routing": (["train", NETWORK, *GLYPHS, "--out", "x", "--set", "routing=magic"], "magic"),
    "layers": (["train", NETWORK, *GLYPHS, "--out", "x", "--set", "layers=deep"], "layers='deep'"),
    "image size": (["train", NETWORK, *GLYPHS, "--out", "x", "--image-size", "3"], "3"),
    "empty folder": (["train", NETWORK, "--data", ".", "--out", "x"], "holds no images"),
    "file": (["train", NETWORK, *GLYPHS, "--out", "/dev/null"], "/dev/null"),
    "no run to evaluate": (["evaluate", "nowhere"], "nowhere is not the folder of a training"),
    "no measure": (["evaluate", "nowhere", "--on", "sound"], "sound"),
    "no run to attack": (["attack", "nowhere"], "nowhere is not the folder of a training"),
    "no run to predict": (["predict", "nowhere", "x.png"], "nowhere is not the folder of a training"),
    "no run to export": (["export", "nowhere", "--to", "x.onnx"], "nowhere is not the folder of a training"),
    "nothing to get": (["data", "get", "imagenet"], "imagenet"),
    "no such models": (["models", "nobody/*"], "nobody"),
    "no command": (["trian"], "trian"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake, torchcaps, no_shape_checks):
    arguments, answer = MISTAKES[mistake]
    code, said = torchcaps(*arguments)
    assert code in (1, 2)
    assert answer in said.replace("\n", " ")
    assert "Traceback" not in said


def test_settings_from_the_command_line():
    assert settings_of(["precision=64", "epochs=3", "lr_schedule=steps"]) == {
        "precision": "64",
        "epochs": 3,
        "lr_schedule": "steps",
    }
    assert settings_of(['routing="em"', "layers=2"]) == {"options": {"routing": "em", "layers": 2}}
    assert settings_of(["reconstruction_weight=0.1"]) == {"reconstruction_weight": 0.1}
    assert settings_of(["reconstruction=none"]) == {"options": {"reconstruction": "none"}}
    assert settings_of(["validation_data=2024"]) == {"validation_data": "2024"}, "a folder"
    assert settings_of(["validation_data=a=b"]) == {"validation_data": "a=b"}
    assert settings_of(['loss={"name": "a=b"}']) == {"loss": {"name": "a=b"}}
    assert settings_of([]) == {}


def test_a_dry_run_estimates_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["train", NETWORK, *GLYPHS, "--set", "batch_size=16", "--until-accuracy", "0.9", "--dry-run"]
    plain = CliRunner().invoke(app, arguments)
    assert plain.exit_code == 0, plain.exception
    assert "parameters; 9,000 images, 56,300 steps" in plain.output
    cost = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert cost["steps"] == 56_300
    assert list(tmp_path.iterdir()) == []


def test_a_fast_dev_run_needs_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["train", NETWORK, *GLYPHS, "--set", "batch_size=16", "--fast-dev-run"])
    assert done.exit_code == 0, done.exception
    assert "everything fits" in done.stdout
    assert list(tmp_path.iterdir()) == []
