"""`torchcaps doctor` on machines made up for it."""

import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError

import pytest
import torch

from tests.docs.markdown import ROOT
from torchcaps.cli.doctor import EXTRAS

NONE = "; there is no such device here"


@pytest.fixture
def facts(monkeypatch, invoke):
    monkeypatch.setattr("torchcaps.ops.status", lambda device: f"plain on {device}")
    return lambda: json.loads(invoke("doctor", "--json").stdout)


def test_threads_are_those_of_torch_and_not_cores(facts, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    found = facts()
    assert (found["threads"], found["processor"].split(", ")[-1]) == ("1", "7 cores")


def test_the_compiler_is_the_one_that_builds(facts, monkeypatch, tmp_path):
    own = tmp_path / "my-c++"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("CXX", str(own))
    assert facts()["compiler"] == str(own)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert facts()["compiler"] == "none"
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    own.rename(tmp_path / "c++")
    assert facts()["compiler"] == str(tmp_path / "c++")


@pytest.mark.parametrize(
    ("found", "missing"), [(None, {"cuda"}), (torch.device("cuda"), set()), (torch.device("mps"), {"cuda"})]
)
def test_a_device_that_is_not_here_is_told(found, missing, facts, monkeypatch):
    monkeypatch.setattr("torch.accelerator.current_accelerator", lambda: found)
    told = {name.removeprefix("passes on "): said for name, said in facts().items() if name.startswith("passes on ")}
    assert told == {device: f"plain on {device}{NONE * (device in missing)}" for device in told}
    assert told.keys() == {"cpu", "cuda", *([] if found is None else [found.type])}


@pytest.mark.parametrize("extra", EXTRAS)
def test_missing_packages_are_named_with_their_extra(extra, facts, monkeypatch):
    gone = EXTRAS[extra][-1]

    def version(name):
        if name == gone:
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr("torchcaps.cli.doctor.version", version)
    wanted = {f"extra {name}": "installed" for name in EXTRAS}
    wanted[f"extra {extra}"] = f"missing {gone}: pip install 'torchcaps[{extra}]'"
    assert {name: said for name, said in facts().items() if name.startswith("extra ")} == wanted


def test_every_extra_and_every_package_of_it_is_looked_for():
    """But for those of this repository's developers, and for extras that only name others."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    own = {
        extra: tuple(re.match(r"[\w-]+", package)[0] for package in packages if not package.startswith("torchcaps["))
        for extra, packages in told.items()
    }
    assert own.keys() - EXTRAS.keys() == {"dev", "docs", "all"}
    assert {extra: own[extra] for extra in EXTRAS} == EXTRAS
