"""Whose work ships, and under what: the notice names it all, and the wheel's list lets nothing else in."""

import runpy
import tarfile
import tomllib
import zipfile

import pytest

from benchmarks.pretrain import RECIPES
from tests.docs.markdown import ROOT
from torchcaps.data.mnist import MNIST

NOTICE = (ROOT / "NOTICE").read_text()
SECTIONS = {part.partition("\n")[0]: part for part in NOTICE.split("\n## ")}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WHEEL = runpy.run_path(str(ROOT / ".ci/wheel.py"))


def test_the_notice_gives_the_licence_that_the_data_set_is_listed_with():
    section = SECTIONS[f"Digits of MNIST: {MNIST.licence}"]
    for part in ("Yann LeCun", "Corinna Cortes", "https://creativecommons.org/licenses/by-sa/3.0/legalcode"):
        assert part in section
    assert "`torchcaps/explorer/digits.npz`" in section


def test_all_weights_are_named_and_those_of_mnist_as_such():
    section = SECTIONS["Weights trained on MNIST"]
    found = {folder.name for folder in (ROOT / "torchcaps/models/weights").iterdir()}
    assert found == WHEEL["SHIPPED"]
    assert {name for name in found if f"\n- `{name}`\n" in section} == {
        name.replace("/", "--") for name, recipe in RECIPES.items() if recipe["data"] == "mnist"
    }
    assert all(f"`{name}`" in section for name in found)


def test_every_drawing_with_an_image_in_it_is_named():
    drawings = [path for path in (ROOT / "docs").rglob("*.svg") if "<image" in path.read_text()]
    assert drawings
    for path in drawings:
        assert f"`{path.relative_to(ROOT)}`" in NOTICE


def test_the_metadata_names_both_licences_and_both_files():
    assert PROJECT["license"] == "Apache-2.0 AND CC-BY-SA-3.0"
    assert set(PROJECT["license-files"]) == WHEEL["LICENCES"]
    assert all((ROOT / name).is_file() for name in WHEEL["LICENCES"])


def test_what_git_knows_is_on_the_list():
    """So that a file of data is put there by hand, with its licence, before `make dist` is asked."""
    assert WHEEL["DATA"] <= WHEEL["tracked"]()


@pytest.fixture
def wheel(tmp_path):
    """A wheel with all that it should hold, and more if that is named."""

    def build(*more, without=()):
        path = tmp_path / "torchcaps-0.1.0-py3-none-any.whl"
        names = WHEEL["tracked"]() | {f"torchcaps-0.1.0.dist-info/{name}" for name in WHEEL["METADATA"]}
        with zipfile.ZipFile(path, "w") as archive:
            for name in sorted((names | {*more}) - {*without}):
                archive.writestr(name, "")
        return path

    return build


def complaints(wheel, **given):
    return WHEEL["complaints"](wheel, WHEEL["tracked"](), **given)


def test_a_wheel_with_what_is_listed_is_right(wheel):
    assert complaints(wheel()) == []


@pytest.mark.parametrize(
    "stray",
    [
        "torchcaps/explorer/letters.npz",
        "torchcaps/models/weights/other--net/model.safetensors",
        "torchcaps/models/weights/peer2021--sign/notes.txt",
        "torchcaps/scratch.py",
        "torchcaps/ops/native/deeper/kernel.cpp",
        "other/torchcaps/ops/native/turn.h",
        "data/digits.npz",
    ],
)
def test_a_file_that_is_not_listed_is_found(wheel, stray):
    assert complaints(wheel(stray)) == [f"holds {stray}, which no list in .ci/wheel.py names"]


@pytest.mark.parametrize("lost", ["torchcaps/explorer/digits.npz", "torchcaps-0.1.0.dist-info/licenses/NOTICE"])
def test_a_file_that_lacks_is_found(wheel, lost):
    assert complaints(wheel(without=[lost])) == [f"lacks {lost}"]


def test_a_wheel_that_is_too_large_is_found(wheel):
    path = wheel()
    size = path.stat().st_size
    assert complaints(path, most=size) == []
    assert complaints(path, most=size - 1) == [f"has {size:,} bytes, more than {size - 1:,}"]


def test_an_sdist_without_the_notice_is_found(tmp_path):
    path = tmp_path / "torchcaps-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(ROOT / "LICENSE", "torchcaps-0.1.0/LICENSE")
    assert WHEEL["without_licences"](path) == ["lacks NOTICE"]
