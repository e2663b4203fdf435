"""`torchcaps models`: each number under its own title, whatever the terminal."""

import pytest

from torchcaps.backbones import list_backbones
from torchcaps.cli.models import HEAD, table
from torchcaps.models import list_models

INFO = {
    "name": "gu2021/capsnet",
    "parameters": 8_215_568,
    "multiply_adds": 123_456,
    "speed": "slow",
    "image": (1, 28, 28),
    "routing": "dynamic",
    "good_for": "digits",
}
CELLS = ["gu2021/capsnet", "8,215,568", "123,456", "slow", "1×28×28", "dynamic", "digits"]


@pytest.fixture(autouse=True)
def _one_model(spy):
    spy("torchcaps.models.model_info", side_effect=lambda name: {**INFO, "name": name})


def test_every_cell_stands_under_its_title(invoke, monkeypatch):
    """Into a pipe, however narrow the terminal: whole lines."""
    monkeypatch.setenv("COLUMNS", "30")
    head, row = invoke("models", "gu2021/capsnet").stdout.splitlines()
    assert head.split("  ")[0] == "model"
    for title, cell in zip(HEAD, CELLS, strict=True):
        numbers = title in ("parameters", "multiply-adds")
        at = head.index(title) + len(title) - len(cell) if numbers else head.index(title)
        assert row[at : at + len(cell)] == cell
    assert row.split() == CELLS


def test_patterns_are_of_whole_names(invoke):
    names = [line.split()[0] for line in invoke("models", "gu2021/capsnet*").stdout.splitlines()[1:]]
    assert names == ["gu2021/capsnet", "gu2021/capsnet_nor"]
    assert "no model matches 'capsnet'" in str(invoke("models", "capsnet").exception)


def test_columns_go_before_anything_is_cut():
    row = dict(zip(HEAD, CELLS, strict=True))
    whole = max(map(len, table([row], None)))
    assert table([row], whole) == table([row], None)
    for room, left_out in ((whole - 1, {"routing"}), (whole - len("  dynamic") - 1, {"routing", "input"})):
        head, line = table([row], room)
        assert "…" not in head + line
        assert line.split() == [cell for title, cell in row.items() if title not in left_out]


def test_what_to_take_for_photographs_is_said_beside_the_table(invoke):
    done = invoke("models", "gu2021/capsnet")
    [line] = done.stderr.splitlines()
    assert "photographs" in line
    assert {"baselines/linear_head", "baselines/small_cnn"} <= set(list_models()) & set(line.split())
    backbone = line.split("--backbone ")[1].split(";")[0]
    assert backbone in list_backbones()
    assert not invoke("models", "gu2021/capsnet", "--json").stderr
