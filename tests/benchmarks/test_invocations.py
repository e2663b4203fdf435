"""A seeded part of `python -m benchmarks.invocations`: no traceback, no exit code 0 on failure, no file touched."""

import sys

import pytest

from benchmarks.invocation_pools import Drawn
from benchmarks.invocations import ask, run, snapshot

COUNT, SEED = 60, 3


@pytest.mark.usefixtures("no_shape_checks")
def test_random_invocations(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path / ".cache"))
    (tmp_path / "here").mkdir()
    answers = run(COUNT, SEED, tmp_path / "here", heavy=False)
    assert len(answers) == COUNT
    assert [answer for answer in answers if answer.wrong] == []
    codes = [answer.code for answer in answers]
    assert min(codes.count(0), codes.count(1), codes.count(2)) >= 3, "some of each"


def test_what_is_wrong_is_seen(tmp_path, monkeypatch):
    """A traceback, a failure that ends with 0, a file that is touched, right values that are refused."""
    (tmp_path / "mine.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)

    def answers(command, *, absurd=()):
        monkeypatch.setattr("torchcaps.cli.main", command)
        return ask(Drawn(["models"], list(absurd)), tmp_path).wrong

    def broken():
        raise KeyError("history")

    def touching():
        (tmp_path / "mine.txt").write_text("yours")
        (tmp_path / "new.txt").write_text("x")

    assert answers(lambda: None) == []
    assert answers(lambda: None, absurd=["'x'"]) == ["exit code 0 in spite of 'x'"]
    assert answers(lambda: sys.exit(1), absurd=["'x'"]) == ["ended without a word"]
    assert "refused though all of it is right" in answers(lambda: sys.exit(1))
    assert answers(broken, absurd=["'x'"]) == ["traceback: KeyError: 'history'"]
    assert answers(touching) == ["touched mine.txt, new.txt"]
    assert snapshot(tmp_path, ["new.txt"]).keys() == {"mine.txt"}
