"""Where an extra is not installed, what needs it says which to install; nothing else is lost."""

import importlib
import sys

import pytest

from torchcaps.bench.executors.on_ray import on_ray
from torchcaps.bench.executors.on_slurm import _executor
from torchcaps.bench.place import Place
from torchcaps.cli.predict import _check_to
from torchcaps.data import glyphs
from torchcaps.report._page import render
from torchcaps.train.log import Log


def place(folder):
    return Place(folder, folder, "smoke")


NEEDED = {
    "ray": (lambda folder: list(on_ray([], place(folder), workers=1)), r"Ray is not installed.*torchcaps\[ray\]"),
    "submitit": (lambda folder: _executor(place(folder), "local"), r"submitit is not installed.*torchcaps\[slurm\]"),
    "matplotlib": (lambda _: glyphs.fonts("train"), r"glyphs need matplotlib: pip install 'torchcaps\[bench\]'"),
    "PIL": (lambda _: glyphs._templates.__wrapped__("train"), r"glyphs need PIL: pip install 'torchcaps\[bench\]'"),
    "jinja2": (lambda _: render([], title="", lead=""), r"a report needs jinja2: pip install 'torchcaps\[bench\]'"),
    "torch.utils.tensorboard": (
        lambda folder: Log(folder, 1, quiet=True, speaks=True, tensorboard=True),
        r"TensorBoard is not installed: pip install 'torchcaps\[track\]'",
    ),
}


@pytest.mark.parametrize("module", NEEDED)
def test_what_is_missing_is_named_with_its_extra(module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    use, said = NEEDED[module]
    with pytest.raises((ValueError, ModuleNotFoundError), match=said):
        use(tmp_path)


def test_pictures_of_a_prediction_need_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pictures need matplotlib: pip install 'torchcaps\[bench\]'"):
        _check_to(tmp_path / "pictures", explain=True)


def test_the_command_itself_needs_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "torchcaps.cli")
    with pytest.raises(SystemExit, match=r"The torchcaps command needs the extra 'train': pip install"):
        importlib.import_module("torchcaps.cli")
