"""Which passes serve, by what the user says and by what there is; nothing is built or compiled here."""

import sys
from types import SimpleNamespace

import pytest
import torch

from torchcaps import ops
from torchcaps.ops import native, triton
from torchcaps.ops.choice import choice


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    for name in ("TORCHCAPS_PASSES", "TORCHCAPS_NATIVE", "TRITON_INTERPRET"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, None),
        ({"TORCHCAPS_PASSES": ""}, None),
        ({"TORCHCAPS_PASSES": "native"}, "native"),
        ({"TORCHCAPS_PASSES": "triton"}, "triton"),
        ({"TORCHCAPS_PASSES": "plain"}, "plain"),
        ({"TORCHCAPS_NATIVE": "0"}, "plain"),
        ({"TORCHCAPS_NATIVE": "0", "TORCHCAPS_PASSES": "native"}, "plain"),
        ({"TORCHCAPS_NATIVE": "1"}, None),
    ],
    ids=str,
)
def test_what_the_user_wants(variables, wanted, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert choice() == wanted


def test_unknown_passes_are_named(monkeypatch):
    monkeypatch.setenv("TORCHCAPS_PASSES", "fast")
    with pytest.raises(ValueError, match="TORCHCAPS_PASSES=fast is not allowed: choose one of native, triton, plain"):
        choice()


def test_plain_torch_inside_plain_torch_ends_with_the_outer_one():
    u = torch.ones(1)
    with ops.plainly():
        with ops.plainly():
            assert ops._seen_through(u)
        assert ops._seen_through(u)
    assert not ops._seen_through(u)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("wanted", ["", "native", "triton", "plain"])
def test_what_cannot_be_had_is_an_error_where_it_is_wanted_and_only_there(device, wanted, monkeypatch):
    monkeypatch.setattr(native, "_failure", lambda: "no compiler")
    monkeypatch.setattr(triton, "_failure", lambda _: "no Triton")
    monkeypatch.setenv("TORCHCAPS_PASSES", wanted)
    own, why = {"cpu": ("native", "no compiler"), "cuda": ("triton", "no Triton")}[device]
    if wanted == own:
        with pytest.raises(RuntimeError, match=f"TORCHCAPS_PASSES={own}, but {why}"):
            ops.status(device)
    else:
        said = "TORCHCAPS_PASSES=plain" if wanted == "plain" else why
        assert ops.status(device) == f"plain torch: {said}"


@pytest.mark.parametrize(
    ("passes", "interpreter", "served"),
    [("", "1", "native"), ("triton", "", "native"), ("triton", "1", "triton"), ("native", "1", "native")],
)
def test_the_interpreter_serves_only_where_triton_is_wanted(passes, interpreter, served, monkeypatch):
    monkeypatch.setattr(native, "_failure", lambda: None)
    monkeypatch.setattr(triton, "_failure", lambda _: None)
    monkeypatch.setenv("TORCHCAPS_PASSES", passes)
    monkeypatch.setenv("TRITON_INTERPRET", interpreter)
    assert ops.status("cpu") == served


@pytest.mark.parametrize(
    ("version", "old"), [("3.8.1", True), ("2.10.0", True), ("3.9.0", False), ("3.10.0", False), ("4.0.0", False)]
)
def test_versions_of_triton_are_numbers(version, old, monkeypatch):
    registered = []
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(__version__=version))
    monkeypatch.setitem(
        sys.modules,
        "torchcaps.ops.triton._operators",
        SimpleNamespace(register=lambda device: registered.append(device)),
    )
    said = triton._failure.__wrapped__("cuda")
    assert said == (f"Triton {version} is older than 3.9" if old else None)
    assert registered == ([] if old else ["cuda"])


def test_without_triton_the_plain_passes_serve(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    assert triton._failure.__wrapped__("cuda").startswith("Triton cannot be imported")
