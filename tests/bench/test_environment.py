"""Where a result says it comes from."""

import resource
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import torchcaps
from torchcaps.bench import environment as module
from torchcaps.bench.environment import commit, environment, peak_megabytes


@pytest.fixture(autouse=True)
def _fresh():
    for cached in (commit, environment):
        cached.cache_clear()
    yield
    for cached in (commit, environment):
        cached.cache_clear()


@pytest.mark.parametrize(("changed", "told"), [("", "c0ffee"), (" M torchcaps/losses/margin.py", "c0ffee+")])
def test_a_commit_says_whether_the_library_differs_from_it(monkeypatch, changed, told):
    asked = []

    def git(folder, *words):
        asked.append(words)
        return "c0ffee" if words[0] == "rev-parse" else changed

    monkeypatch.setattr(module, "_git", git)
    assert commit() == told
    assert asked[1][0] == "status"
    assert Path(asked[1][-1]) == Path(torchcaps.__file__).parent


@pytest.mark.parametrize("error", [FileNotFoundError("git"), subprocess.CalledProcessError(128, "git")])
def test_where_there_is_no_repository_there_is_no_commit(monkeypatch, error):
    def git(*_):
        raise error

    monkeypatch.setattr(module, "_git", git)
    assert commit() == ""


def test_memory_is_in_megabytes(monkeypatch):
    monkeypatch.setattr(resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=204_800))  # kilobytes, on Linux
    assert peak_megabytes() == 200.0


def test_the_threads_told_are_those_used(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    told = environment()
    assert told["threads"] == "7"
    assert (told["torch"], told["torchcaps"]) == (torch.__version__, torchcaps.__version__)


def test_the_processor_is_told_where_there_is_no_proc(monkeypatch):
    def absent(*_):
        raise FileNotFoundError("/proc/cpuinfo")

    monkeypatch.setattr(Path, "read_text", absent)
    monkeypatch.setattr("platform.processor", lambda: "arm")
    assert module._processor() == "arm"
