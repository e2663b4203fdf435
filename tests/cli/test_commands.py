"""The command line, as a person meets it."""

import json
import os
import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

from torchcaps import __version__
from torchcaps.cli import app, main
from torchcaps.cli.models import HEAD, table
from torchcaps.models import list_models, model_info


def test_doctor_prints_what_it_found():
    plain = CliRunner().invoke(app, ["doctor"])
    assert plain.exit_code == 0
    facts = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)
    assert {"torchcaps", "torch", "compiler", "threads", "extra train"} <= facts.keys()
    assert all(name in plain.output for name in facts)


def test_doctor_says_which_passes_serve_on_which_device():
    """As TORCHCAPS_PASSES chooses, in a process of its own: what is registered stays so."""

    def passes(**environment):
        command = [sys.executable, "-c", "from torchcaps.cli import main; main()", "doctor", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
        facts = json.loads(done.stdout)
        return facts["passes on cpu"], facts["passes on cuda"]

    none = "; there is no such device here"
    cpu, cuda = passes(TORCHCAPS_PASSES="")
    assert cpu.startswith(("native", "plain torch: no C++ compiler"))
    assert cuda.startswith(("triton", "plain torch: Triton cannot be imported"))
    assert cuda.endswith(none) or torch.cuda.is_available()
    plain = "plain torch: TORCHCAPS_PASSES=plain"
    assert passes(TORCHCAPS_PASSES="plain") == (plain, plain if torch.cuda.is_available() else plain + none)
    cpu, _ = passes(TORCHCAPS_PASSES="native", CXX="no-such-compiler")
    assert cpu == "TORCHCAPS_PASSES=native, but no C++ compiler"
    cpu, _ = passes(TORCHCAPS_PASSES="triton", TRITON_INTERPRET="1")
    assert cpu == "triton" or "cannot be imported" in cpu
    assert "choose one of" in passes(TORCHCAPS_PASSES="fast")[0]


def test_models_are_listed_with_their_costs():
    plain = CliRunner().invoke(app, ["models", "peer2021/*"])
    assert plain.exit_code == 0
    assert "7,203,584" in plain.output
    assert "tsai2020/diverse_matrix_42m" in CliRunner().invoke(app, ["models"]).output
    command = [sys.executable, "-c", "from torchcaps.cli import main; main()", "models", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    infos = json.loads(done.stdout)
    assert all({"name", "parameters", "multiply_adds", "paper"} <= info.keys() for info in infos)
    assert {info["name"] for info in infos} == set(list_models())
    unknown = CliRunner().invoke(app, ["models", "nobody/*"])
    assert unknown.exit_code != 0
    assert "no model matches 'nobody/*'" in str(unknown.exception)


def test_models_are_a_line_each_that_can_be_searched():
    """Whole lines into a pipe; at a narrow terminal words and columns go, but no number is cut."""
    lines = CliRunner().invoke(app, ["models"]).stdout.splitlines()
    assert len(lines) == 1 + len(list_models())
    for name in list_models():
        info = model_info(name)
        [line] = [line for line in lines if line.split()[0] == name]
        for part in (f"{info['parameters']:,}", f"{info['multiply_adds']:,}", info["speed"], info["good_for"]):
            assert part in line
    costs = [model_info(name)["multiply_adds"] for name in list_models()]
    words = [model_info(name)["speed"] for name in list_models()]
    ranks = ["very fast", "fast", "medium", "slow", "very slow"]
    assert [ranks.index(word) for _, word in sorted(zip(costs, words, strict=True))] == sorted(map(ranks.index, words))
    rows = [dict(zip(HEAD, (name, "35,445,522", "2,361,249,152", "very slow", "3×32×32", "em", "x" * 60), strict=True))
            for name in list_models()]  # fmt: skip
    for room in (60, 80, 100, 120, 200):
        for line, name in zip(table(rows, room)[1:], list_models(), strict=True):
            assert len(line) <= room
            assert line.startswith(name)
            assert "35,445,522" in line
            assert ("2,361,249,152" in line) == ("2,3" in line)


def test_the_version():
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.output) == (0, f"torchcaps {__version__}\n")


def test_flags_have_no_type_and_what_is_required_says_so(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for command in ([], ["train"], ["predict"], ["bench", "run"], ["data", "list"], ["export"]):
        text = CliRunner().invoke(app, [*command, "--help"]).output
        assert "bool" not in text
        assert "--help" in text
    text = CliRunner().invoke(app, ["train", "--help"]).output
    [data] = [line for line in text.splitlines() if "--data " in line]
    assert "*" in data
    assert "[required]" in data
    assert "Required, but for --dry-run and --fast-dev-run" in text


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 bytes")])
def test_too_little_memory_is_said_in_a_line(error, monkeypatch, capsys):
    def broken(*args):
        raise error

    monkeypatch.setattr("torchcaps.bench.demo.sign.train_sign", broken)
    monkeypatch.setattr(sys, "argv", ["torchcaps", "demo", "--sign"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert "there is not enough memory" in capsys.readouterr().err


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch):
    def broken(*args):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("torchcaps.bench.demo.sign.train_sign", broken)
    monkeypatch.setattr(sys, "argv", ["torchcaps", "demo", "--sign"])
    with pytest.raises(RuntimeError, match="a fault of ours"):
        main()


def test_data_is_listed(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path))
    rows = {row["name"]: row for row in json.loads(CliRunner().invoke(app, ["data", "list", "--json"]).output)}
    assert rows["mnist"]["cached"] is False
    assert any("npm package" in source for source in rows["mnist"]["sources"])
    assert rows["glyphs"]["cached"] is True
    assert str(tmp_path) in CliRunner().invoke(app, ["data", "list"]).output.replace("\n", "")


def test_data_that_cannot_be_had_ends_with_advice(tmp_path):
    """No network that answers, no package managers: a message, exit code 1, an empty cache."""
    command = [sys.executable, "-c", "from torchcaps.cli import main; main()", "data", "get", "fashion_mnist"]
    offline = {"TORCHCAPS_DATA": str(tmp_path), "PATH": "", "http_proxy": "http://127.0.0.1:9", "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=offline)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for part in ("fashion_mnist cannot be had here", "apt-get is not installed", "root=", "'glyphs'"):
        assert part in done.stderr
    assert [path.name for path in (tmp_path / "fashion_mnist").iterdir()] == [".lock"]


def test_help_does_not_wait_for_torch():
    code = "import sys, torchcaps.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_mistakes_are_said_in_a_line(monkeypatch, capsys):
    def broken(*args):
        raise ValueError("image_size=3 is not allowed")

    monkeypatch.setattr("torchcaps.bench.demo.sign.train_sign", broken)
    monkeypatch.setattr(sys, "argv", ["torchcaps", "demo", "--sign"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert "torchcaps: image_size=3 is not allowed" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["torchcaps", "--debug", "demo", "--sign"])
    with pytest.raises(ValueError, match="image_size=3"):
        main()


def test_unknown_commands_end_with_a_hint():
    done = subprocess.run(
        [sys.executable, "-c", "from torchcaps.cli import main; main()", "trian"], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "trian" in done.stderr
    assert "Traceback" not in done.stderr
