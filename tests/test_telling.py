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


class Heard(io.StringIO):
    """Remembers what it is told, and waits until something was said so many times."""

    def until(self, text, times=2):
        ends = time.monotonic() + 60
        while sum(line.startswith(f"{text} … ") for line in self.getvalue().splitlines()) < times:
            assert time.monotonic() < ends, f"{text!r} is not said: {self.getvalue()!r}"
            time.sleep(0.005)


def test_lines_keep_coming_into_a_pipe(monkeypatch):
    """Even while nothing comes back: a thread speaks. An inner one speaks through the outer."""
    monkeypatch.setattr(_telling, "PATIENCE", 0.05)
    monkeypatch.setattr(_telling, "EVERY", 0.05)
    monkeypatch.setattr(sys, "stderr", heard := Heard())
    with working("first") as tell:
        heard.until("first")
        with working("inner", quiet=False) as inner:
            inner("images", 1000, 2000)
            heard.until("images: 1,000 of 2,000")
        tell("last")
        heard.until("last")
    texts = list(dict.fromkeys(line.split(" … ")[0] for line in heard.getvalue().splitlines()))
    assert [text for text in texts if text != "inner"] == ["first", "images: 1,000 of 2,000", "last"]
    monkeypatch.setattr(sys, "stderr", heard := Heard())
    with working("silent", quiet=True):
        time.sleep(0.2)
    assert heard.getvalue() == ""


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
