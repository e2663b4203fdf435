"""What could command a terminal is escaped; everything else stays as it is."""

import io
import json
import unicodedata

import pytest
from rich.progress import Progress
from rich.table import Table

from torchcaps._console import Console
from torchcaps._shown import shown, shown_name
from torchcaps._telling import working

DIRECTIONS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
EVERY = [chr(code) for code in range(0x110000)]
COMMANDS = "\x1b[2J\x1b]0;title\x07\x9b31m\x7f\r\u202e\u2066\udce9"


def is_unsafe(character):
    return unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in DIRECTIONS


def test_control_and_bidirectional_characters_and_no_others():
    changed = {c for c in EVERY if shown(c) != c}
    assert changed == {c for c in EVERY if is_unsafe(c)} - {"\t", "\n"}
    assert shown("Löwe 猫 قطة 🐈 e\u0301 👩\u200d🔬") == "Löwe 猫 قطة 🐈 e\u0301 👩\u200d🔬"


def test_a_name_stays_on_a_line():
    assert {c for c in EVERY if shown_name(c) != c} - {c for c in EVERY if shown(c) != c} == set("\t\n\u2028\u2029")
    assert len(shown_name("".join(EVERY[:0x3000])).splitlines()) == 1


def test_json_means_the_same():
    names = EVERY[:0x3000]
    text = json.dumps(names, ensure_ascii=False, indent=1)
    assert shown(text) != text
    assert json.loads(shown(text)) == names


def table():
    made = Table(f"head {COMMANDS}")
    made.add_row(f"cell {COMMANDS}")
    return made


@pytest.mark.parametrize("what", [f"text {COMMANDS}", table()], ids=["text", "table"])
def test_nothing_passes_the_console(what):
    console = Console(file=io.StringIO(), color_system=None, width=200)
    console.print(what, markup=False, highlight=False)
    assert "\\u001b[2J" in console.file.getvalue()
    assert not any(map(is_unsafe, console.file.getvalue().replace("\n", "")))


def test_the_console_keeps_colours_and_moves_of_its_own():
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=80)
    with Progress(console=console) as bar:
        bar.add_task("[red]epoch 1", total=1)
    console.print("[red]cat")
    assert "\x1b[31mcat\x1b[0m" in console.file.getvalue()
    assert "\x1b[?25l" in console.file.getvalue()


def test_what_is_told_of_long_work(capsys, monkeypatch):
    monkeypatch.setattr("torchcaps._telling.PATIENCE", 0.0)
    with working(f"reading {COMMANDS}"):
        while not (said := capsys.readouterr().err):
            pass
    assert "\\u001b[2J" in said
    assert not any(map(is_unsafe, said.replace("\n", "")))
