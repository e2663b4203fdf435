"""The lists of names are those of the registries, and a wrong name is answered without torch, within a second."""

import resource
import subprocess
import sys
from dataclasses import fields
from typing import get_args

import pytest

from torchcaps.attacks import METHODS, NORMS
from torchcaps.cli import _names
from torchcaps.data import RECIPES, list_datasets
from torchcaps.data.augment import AUGMENTATIONS
from torchcaps.data.resize import FITS
from torchcaps.measures import INSPECTIONS, VIEWS
from torchcaps.models import card, list_models, options_of
from torchcaps.train.settings import OPTIMISERS, PRECISIONS, Settings

REGISTRIES = {
    "MODELS": list_models(),
    "DATASETS": list_datasets(),
    "RECIPES": RECIPES,
    "SETTINGS": [f.name for f in fields(Settings) if f.name not in ("model", "data", "options")],
    "OPTIONS": sorted({option for name in list_models() for option in options_of(card(name).build)}),
    "VIEWS": VIEWS,
    "MEASURES": INSPECTIONS,
    "ATTACKS": METHODS,
}
CHOICES = {
    _names.Optimiser: OPTIMISERS,
    _names.Precision: PRECISIONS,
    _names.Fit: FITS,
    _names.Augment: AUGMENTATIONS,
    _names.Norm: NORMS,
}


@pytest.mark.parametrize("name", REGISTRIES)
def test_the_lists_are_the_registries(name):
    """A name that was added to a registry is added to torchcaps/cli/_names.py too."""
    assert sorted(getattr(_names, name)) == sorted(REGISTRIES[name])


def test_the_choices_are_the_registries():
    for choice, known in CHOICES.items():
        assert set(get_args(choice)) == set(known)


WRONG = (
    ("train", "sabour2017/capsnett", "--data", "glyphs", "--out", "x"),
    ("train", "chen2019/lenet", "--data", "glyfs", "--out", "x"),
    ("train", "chen2019/lenet", "--data", "glyphs", "--out", "x", "--set", "widht=1"),
    ("train", "chen2019/lenet", "--data", "glyphs", "--out", "x", "--augment", "flop"),
    ("evaluate", "nowhere", "--on", "clena"),
    ("inspect", "nowhere", "--what", "activty"),
    ("attack", "nowhere", "--method", "pdg"),
    ("predict", "nowhere", "x.png"),
    ("export", "nowhere", "--to", "x.onnx"),
    ("report", "nowhere"),
    ("models", "nobody/*"),
    ("data", "get", "mnits"),
)


def test_wrong_names_do_not_wait_for_torch(tmp_path):
    """All in one process, which must not have loaded torch by the end; each within a second of the processor."""
    code = f"""
import sys, time
from torchcaps.cli import main
for arguments in {WRONG!r}:
    sys.argv, began = ["torchcaps", *arguments], time.process_time()
    try:
        main()
    except SystemExit as stop:
        assert stop.code in (1, 2), (arguments, stop.code)
    assert "torch" not in sys.modules, arguments
    assert time.process_time() - began < 1, arguments
"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert after.ru_utime - before.ru_utime < 5
    assert list(tmp_path.iterdir()) == []


def test_data_is_a_name_a_folder_or_an_npz_file(tmp_path):
    for name in ("digits.npz", "digits.npy"):
        (tmp_path / name).write_bytes(b"")
    for name in ("glyphs", str(tmp_path), str(tmp_path / "digits.npz")):
        _names.check_data(name)
    for name in ("digits.npy", "missing.npz"):
        with pytest.raises(ValueError, match=f"there is no data set and no folder '.*{name}'"):
            _names.check_data(str(tmp_path / name))
