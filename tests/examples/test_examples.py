"""The scripts under examples/ do what they say."""

import importlib.util
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
SAYS = {  # what each prints, in whole
    "own_artefact": r"A bias on the votes raises accuracy\. reproduced: 0\.\d+, 95 % interval .+, 5 seeds.*",
    "own_backbone": r"211,968 parameters, loss 0\.\d+\n72,840 parameters, loss \d\.\d+",
    "own_data": r"(9\d|100)% of bars it has not seen",
    "own_loss": r"loss \d\.\d+, margin now 0\.\d+",
    "own_measure": r"answers  probability\nright .+%\nwrong .+%\nclass(.|\n)+",
    "own_routing": r"scores \(2, 10\)",
}
WITH_ARGUMENTS = {"draw_shapes", "onnx_without_torch"}  # run by the page about one's own images


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_run():
    assert {path.stem for path in FOLDER.glob("*.py")} == {*SAYS, *WITH_ARGUMENTS}
    page = (FOLDER.parent / "docs/own-images.md").read_text()
    assert all(f"$ python examples/{name}.py " in page for name in WITH_ARGUMENTS)


@pytest.mark.parametrize("name", SAYS)
@pytest.mark.usefixtures("no_shape_checks")
def test_example(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    load(name).main()
    said = "\n".join(line for line in capsys.readouterr().out.splitlines() if not line.startswith("bench smoke"))
    assert re.fullmatch(SAYS[name], said.strip()), said
