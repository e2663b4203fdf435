"""Names that moved: the old ones import, with a warning that says where to."""

import importlib
import subprocess
import sys

import pytest

import torchcaps
from torchcaps._moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_module_holds_what_the_new_one_does(old, monkeypatch):
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(FutureWarning, match=f"{old} is now {MOVED[old]}: import it from there"):
        module = importlib.import_module(old)
    new = importlib.import_module(MOVED[old])
    names = [name for name in vars(new) if not name.startswith("__")]
    assert len(names) > 3
    assert all(getattr(module, name) is getattr(new, name) for name in names)


def test_old_names_lead_where_what_they_held_is_now():
    held = {
        "torchcaps.baseline": "ConvNet",
        "torchcaps.model": "CapsNet",
        "torchcaps.train.classifier": "CapsNetClassifier",
        "torchcaps.train.company": "is_first",
        "torchcaps.train.schedules": "one_cycle",
        "torchcaps.train.watch": "NotFiniteError",
    }
    assert held.keys() == MOVED.keys()
    for old, name in held.items():
        assert getattr(importlib.import_module(MOVED[old]), name).__module__ == MOVED[old]


def test_what_people_imported_before_is_still_there():
    """As they wrote it, in a process of its own; the warning points at their line."""
    code = """
import warnings
warnings.simplefilter("error")
from torchcaps import CapsNetClassifier
from torchcaps.sklearn import CapsNetClassifier as same
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from torchcaps.train import classifier
    from torchcaps.baseline import ConvNet
    from torchcaps.model import Model
    from torchcaps.train.schedules import SCHEDULES
    from torchcaps.train.watch import NotFiniteError
assert [(w.filename, w.lineno) for w in said] == [("<string>", k) for k in range(8, 13)], [str(w) for w in said]
assert CapsNetClassifier is same is classifier.CapsNetClassifier
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"torchcaps\.nowhere"):
        importlib.import_module("torchcaps.nowhere")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        torchcaps.nothing  # noqa: B018
