"""Runs that nobody trained, and spies that stand in for the work a command asks for."""

import pkgutil
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from typer.testing import CliRunner

from tests.train.separable import linear
from torchcaps.cli import app
from torchcaps.train import Run, Settings


@pytest.fixture
def here(monkeypatch, tmp_path):
    """An empty folder, which commands are called in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return Path()


@pytest.fixture
def spy(monkeypatch):
    """Puts a mock of the same signature in place of a function named by its module."""

    def put(name, **told):
        owner, _, own = name.rpartition(".")
        place = pkgutil.resolve_name(owner)
        mock = create_autospec(getattr(place, own), **told)
        monkeypatch.setattr(place, own, mock)
        return mock

    return put


@pytest.fixture
def a_run(here, monkeypatch):
    """Makes `load_run` find a network of four numbers, said to tell some classes, in a folder."""
    runs = dict[Path, Run]()
    monkeypatch.setattr("torchcaps.train.load_run", lambda folder: runs[Path(folder)])

    def give(classes=("dog", "cat", "owl"), image_shape=(3, 12, 16), name="run"):
        folder = here / name
        folder.mkdir()
        (folder / "run.json").write_text("{}")
        runs[folder] = Run(linear().eval(), Settings("custom", "custom"), classes, image_shape, directory=folder)
        return runs[folder]

    return give


@pytest.fixture
def invoke():
    """A command of torchcaps, called in this process."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])
