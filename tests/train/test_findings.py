"""What was found stays with the run, until the run goes on."""

import json
import shutil
from dataclasses import replace

import pytest

from torchcaps.data import Inventory
from torchcaps.data._random import permutation
from torchcaps.measures import Nothing, inspect
from torchcaps.train import fit, load_run
from torchcaps.train.findings import FOLDER, keep, kept
from torchcaps.train.fingerprint import DATA, changes
from torchcaps.train.run import RUN, read_run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    options = {"width": 0.2}
    fit("mitterreiter2023/capsnet", "glyphs", options=options, images=64, epochs=1, out=folder, quiet=True)
    return folder


@pytest.fixture
def run(trained, tmp_path):
    return load_run(shutil.copytree(trained, tmp_path / "run"))


def test_results_are_found_again_while_they_are_of_this_network(run):
    found = inspect(run.model, run.test_data(20), ["activity", "parse_tree"])
    keep(run, found)
    again = kept(load_run(run.directory))
    assert {name: result.to_json() for name, result in again.items()} == {
        name: result.to_json() for name, result in found.items()
    }
    keep(run, {"activity": Nothing("activity", "written over")})
    assert kept(run)["activity"].why == "written over"
    assert set(kept(run)) == {"activity", "parse_tree"}
    later = replace(run, history=[*run.history, {"step": 999}])
    assert kept(later) == {}


def test_what_cannot_be_read_is_measured_again(run):
    keep(run, {"activity": Nothing("activity", "a"), "dynamics": Nothing("dynamics", "b")})
    (run.directory / FOLDER / "activity.json").write_text("{ half")
    stored = json.loads((run.directory / FOLDER / "dynamics.json").read_text())
    (run.directory / FOLDER / "future.json").write_text(json.dumps({**stored, "result": {"kind": "Unheard"}}))
    assert set(kept(run)) == {"dynamics"}
    assert not list((run.directory / FOLDER).glob("*.part"))


@pytest.mark.parametrize("name", [f"{FOLDER}/activity.json", RUN, DATA])
def test_a_file_cut_at_any_byte_is_as_if_it_were_not_there_or_refused(run, name):
    """Never half of what it was: without its last newline it is whole, with less it is nothing."""
    keep(run, {"activity": Nothing("activity", "every number, and a reason")})
    path = run.directory / name
    whole = path.read_bytes()
    known = kept(run)
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        if cut == len(whole) - 1:
            assert kept(load_run(run.directory)) == known
        elif name.startswith(FOLDER):
            assert kept(run) == {}
        else:
            with pytest.raises(ValueError, match=f"{path.name} cannot be read"):
                read_run(run.directory) if name == RUN else changes(run.directory, Inventory())


def test_test_images_are_a_few_of_all(run):
    few, all_ = run.test_data(20), run.test_data()
    assert len(few) == 20
    assert len(run.test_data(10**6)) == len(all_) > 20
    assert few.images.equal(all_.images[permutation(0, 0, len(all_))[:20]])  # not the first of a set that is sorted


def test_a_run_that_was_not_kept_has_no_place_for_findings(run):
    loose = replace(run, directory=None)
    assert kept(loose) == {}
    with pytest.raises(ValueError, match="was not kept"):
        keep(loose, {})
