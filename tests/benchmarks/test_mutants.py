"""Faults are drawn from the library as it is, planted in a copy of it, and told if no test notices them."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from benchmarks.mutants import __main__ as command
from benchmarks.mutants import draw, near, score
from benchmarks.mutants.fault import ROOT, Fault
from benchmarks.mutants.plant import Outcome

PAIRS = [
    ("x < 3", "x <= 3"),
    ("x is None", "x is not None"),
    ("n // 2", "((n) / (2))"),
    ("a and b", "((a) or (b))"),
    ("f(not a)", "f(bool(a))"),
    ("y = 1 if a else b", "y = 1 if (not (a)) else b"),
    ("é(True)", "é(False)"),
    ("y = [\n    é(7),\n]", "y = [\n    é(8),\n]"),
    ("tell(a)", "pass"),
]
LEFT = [
    '"a" + b',
    "from typing import List",
    '"""Text."""',
    "if TYPE_CHECKING:\n    import os",
]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_a_place_is_changed_and_nothing_else(old, new):
    text = f"é = 'ü'\n\n{old}  # end\n"
    assert f"é = 'ü'\n\n{new}  # end\n" in [fault.planted() for fault in draw.faults("torchcaps/a.py", text)]


@pytest.mark.parametrize("text", LEFT)
def test_what_means_nothing_is_not_changed(text):
    assert list(draw.faults("torchcaps/a.py", text)) == []


def test_places_in_strings_are_where_they_are_or_left_out():
    text = 'f"""é {a < 3}\n{b == 4!r:>{5}}""" f"{c > 6}"\n'
    for fault in draw.faults("torchcaps/a.py", text):
        old = text[fault.start : fault.end]
        assert ast.unparse(ast.parse(old)) == old
        assert old in ("a < 3", "b == 4", "c > 6", "3", "4", "5", "6")


def test_the_draw_is_of_the_seed_and_every_fault_is_another_program():
    files = [ROOT / "torchcaps/windows.py", ROOT / "torchcaps/schedule.py"]
    drawn = draw.drawn(files, 25, seed=1)
    assert drawn == draw.drawn(files, 25, seed=1)
    assert drawn != draw.drawn(files, 25, seed=2)
    assert len(set(drawn)) == 25
    assert {fault.file for fault in drawn} == {"torchcaps/windows.py", "torchcaps/schedule.py"}
    for fault in drawn:
        assert ast.dump(ast.parse(fault.planted())) != ast.dump(ast.parse(fault.text))
    every = draw.drawn(files[:1], 10_000, seed=1)
    assert len(every) == len(list(draw.faults("torchcaps/windows.py", files[0].read_text())))


def test_what_is_no_program_is_not_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(draw, "ROOT", tmp_path)
    path = tmp_path / "a.py"
    path.write_text("y = f'{d[\"a\"] == 3}'\n")
    assert "y = f'{d['a'] != 3}'\n" in [fault.planted() for fault in draw.faults("a.py", path.read_text())]
    assert [fault.planted() for fault in draw.drawn([path], 9, seed=0)] == ["y = f'{d[\"a\"] == 4}'\n"]


def test_a_fault_is_shown_with_file_line_old_and_new_text():
    text = "a = 1\nif (x <\n        3):\n    b = 2\n"
    start = text.index("x")
    fault = Fault("torchcaps/a.py", text, start, text.index(")"), "x <= 3", "another comparison")
    assert fault.shown().splitlines() == [
        "torchcaps/a.py:2: another comparison",
        "  - if (x <",
        "  -         3):",
        "  + if (x <= 3):",
    ]


def test_tests_near_a_module():
    assert near.near("torchcaps/_atomic.py")[0] == "tests/test_atomic.py"  # by its name
    assert "tests/bench/test_freeze.py" in near.near("torchcaps/bench/deviations.py")  # it imports it
    assert near.near("torchcaps/bench/finding.py")[0] == "tests/bench/test_verdict.py"  # it is named for what uses it
    tests = near.near("torchcaps/network.py")
    assert tests[-1] == "torchcaps/network.py"  # its examples
    assert len(tests) == near.MOST + 1
    for path in (ROOT / "torchcaps").rglob("*.py"):
        found = near.near(str(path.relative_to(ROOT)))
        assert found
        assert all((ROOT / test).exists() for test in found)


def test_a_name_of_a_package_is_its_modules(tmp_path, monkeypatch):
    files = {
        "torchcaps/__init__.py": "from torchcaps.layers import Layer\n",
        "torchcaps/layers/__init__.py": "from torchcaps.layers import _one\nfrom torchcaps.layers._one import Layer\n",
        "torchcaps/layers/_one.py": "class Layer: ...\n",
        "torchcaps/layers/_two.py": "def two(): ...\n",
        "tests/test_all.py": "from torchcaps import Layer\n",
        "tests/layers/test_other.py": "",
    }
    write(tmp_path, files)
    monkeypatch.setattr(near, "ROOT", tmp_path)
    near._imported.cache_clear()
    try:
        assert near.near("torchcaps/layers/_one.py") == ("tests/test_all.py",)
        assert near.near("torchcaps/layers/_two.py") == ("tests/layers",)
    finally:
        near._imported.cache_clear()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--number", "0"], "--number 0 is not allowed"),
        (["--minutes", "0"], "--minutes 0 is not allowed"),
        (["--minutes", "nan"], "--minutes nan is not allowed"),
        (["torchcaps/windowz.py"], "torchcaps/windowz.py is not allowed"),
        (["tests"], "tests is not allowed"),
        (["torchcaps/py.typed"], "torchcaps/py.typed is not allowed"),
    ],
)
def test_wrong_options(words, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mutants", *words])
    with pytest.raises(SystemExit):
        command.main()
    assert message in capsys.readouterr().err


def test_the_score_leaves_out_what_was_not_tried(tmp_path, monkeypatch):
    outcomes = [Outcome("noticed", "a")] * 2 + [Outcome("survived")] + [Outcome("left out", "b")]
    found = score.Score(["torchcaps"], 7, 9, outcomes)
    assert str(found) == "seed 7: of 9 faults drawn 3 tried, 2 noticed (66.7 %)"
    assert "0 tried, 0 noticed (–)" in str(score.Score(["torchcaps"], 7, 9, []))
    monkeypatch.setattr(score, "TABLE", tmp_path / "mutants.md")
    found.append()
    found.append()
    rows = score.TABLE.read_text().splitlines()
    assert len(rows) == 2
    assert rows[0].endswith("| `torchcaps` | 7 | 9 | 3 | 2 | 66.7 % |")


def test_the_page_ends_with_its_table():
    """Where rows are added; each has a cell for every column."""
    rows = (ROOT / "benchmarks/results/mutants.md").read_text().splitlines()
    table = rows[rows.index("|---|---|---|---|---|---|---|---|") - 1 :]
    assert {row.count("|") for row in table} == {9}


def write(folder: Path, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text))


def test_a_small_project_from_the_draw_to_the_score(tmp_path):
    """One place has a test, one has none, one has a test that always fails; the project itself stays as it is."""
    shutil.copytree(ROOT / "benchmarks/mutants", tmp_path / "benchmarks/mutants")
    write(
        tmp_path,
        {
            "benchmarks/__init__.py": "",
            "benchmarks/results/mutants.md": "|a|\n",
            ".gitignore": "build/\n__pycache__/\n",
            "torchcaps/__init__.py": "",
            "torchcaps/seen.py": "def seen():\n    return 1\n",
            "torchcaps/unseen.py": "def unseen():\n    return 2\n",
            "torchcaps/broken.py": "def broken():\n    return 3\n",
            "torchcaps/deadly.py": "def deadly():\n    return 8\n",
            "tests/test_seen.py": """
                from torchcaps.seen import seen
                def test_seen(): assert seen() == 1
            """,
            "tests/test_unseen.py": """
                from torchcaps.unseen import unseen
                def test_unseen(): assert unseen() > 0
            """,
            "tests/test_broken.py": """
                from torchcaps.broken import broken
                def test_broken(): assert broken() == 9
            """,
            "tests/test_deadly.py": """
                import os
                from torchcaps.deadly import deadly
                def test_deadly():
                    if deadly() == 9: os.kill(os.getpid(), deadly())
            """,
        },
    )
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    words = ["--seed", "3", "--number", "9", "--minutes", "4", "--append"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.mutants", *words], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout
    assert "noticed   torchcaps/seen.py:2: another number (tests/test_seen.py::test_seen)" in told
    assert (
        "left out  torchcaps/broken.py:2: another number (without it tests/test_broken.py::test_broken fails too)"
        in told
    )
    assert "noticed   torchcaps/deadly.py:2: another number (its tests die of signal 9)" in told
    assert "torchcaps/unseen.py:2: another number\n  -     return 2\n  +     return 3\n" in told
    assert "not noticed by tests/test_unseen.py" in told
    assert "seed 3: of 4 faults drawn 3 tried, 2 noticed (66.7 %)" in told
    page = tmp_path / "benchmarks/results/mutants.md"
    assert page.read_text().splitlines()[-1].endswith("| `torchcaps` | 3 | 4 | 3 | 2 | 66.7 % |")
    changed = {path for path, text in before.items() if path.read_text() != text}
    assert changed == {page}
    assert not list((tmp_path / "build").iterdir())


def test_when_the_time_is_up_nothing_more_is_tried(capsys):
    fault = Fault("torchcaps/windows.py", "a = 1\n", 4, 5, "2", "another number")
    assert command.tried([fault], until=0.0) == []
    assert capsys.readouterr().out == ""
