"""Progress: nothing is said of what is quick, and something within two seconds of what is not, also into a pipe."""

import io
import subprocess
import sys
import time

import pytest

from torchcaps import _telling
from torchcaps._telling import working


def test_what_is_quick_passes_without_a_word(capsys):
    with working("counting") as tell:
        tell("counting", 3, 10)
    assert capsys.readouterr().err == ""


def test_lines_keep_coming_into_a_pipe(capsys, monkeypatch):
    """Even while nothing comes back: a thread speaks. An inner one speaks through the outer."""
    monkeypatch.setattr(_telling, "PATIENCE", 0.05)
    monkeypatch.setattr(_telling, "EVERY", 0.05)
    with working("first") as tell:
        time.sleep(0.3)
        with working("inner", quiet=False) as inner:
            inner("images", 1000, 2000)
            time.sleep(0.3)
        tell("last")
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    texts = list(dict.fromkeys(line.split(" … ")[0] for line in lines))
    assert texts == ["first", "images: 1,000 of 2,000", "last"]
    assert len(lines) >= 6
    with working("silent", quiet=True):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_an_error_ends_it(capsys, monkeypatch):
    monkeypatch.setattr(_telling, "PATIENCE", 0.01)
    with pytest.raises(ValueError, match="stop"), working("work"):
        raise ValueError("stop")
    assert not _telling._speaking


def test_a_real_process_speaks_within_two_seconds():
    code = "import time\nfrom torchcaps._telling import working\nwith working('work'):\n    time.sleep(2.2)"
    began = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith("work … ")
        said = time.monotonic() - began
    assert said < 15  # of a busy machine; alone it is two
    assert _telling.PATIENCE < 2
    assert _telling.EVERY <= 5


class Stop:
    """An event that is set after it was waited for so many times; it notes for how long."""

    def __init__(self, times):
        self.waits, self.times = [], times

    def wait(self, seconds):
        self.waits.append(seconds)
        return len(self.waits) >= self.times


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_how_often_it_speaks(capsys, monkeypatch, no_shape_checks):
    stop = Stop(3)
    _telling._speak(stop, ["work"])
    assert stop.waits == [_telling.PATIENCE, _telling.EVERY, _telling.EVERY]
    assert [line.partition(" … ")[0] for line in capsys.readouterr().err.splitlines()] == ["work", "work"]
    monkeypatch.setattr(sys, "stderr", Terminal())
    stop = Stop(4)
    _telling._speak(stop, ["work"])
    assert stop.waits == [_telling.PATIENCE, 0.2, 0.2, 0.2]


def test_at_a_terminal_brackets_are_a_part_of_the_text(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with _telling._line() as show:
        show("images [train] of [/data]")
    assert "images [train] of [/data]" in sys.stderr.getvalue()
