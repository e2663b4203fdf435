"""Data that has changed since a training: refused when it goes on, said when it is judged."""

import hashlib
import json
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from torchcaps import fit, load_run
from torchcaps.cli import app
from torchcaps.data import RECIPES, Inventory, Stored
from torchcaps.train import Settings
from torchcaps.train.fingerprint import DATA, changes, inventory_of, write_inventory

NAME = "chen2019/lenet"
SMALL = {"options": {"width": 0.2}, "batch_size": 16, "quiet": True}


@pytest.fixture
def photos(tmp_path):
    for k in range(60):
        file = tmp_path / "photos" / "ab"[k % 2] / f"{k}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (17, 17), 4 * k).save(file)
    return tmp_path / "photos"


def test_going_on_and_judging(photos, tmp_path):
    out, told = tmp_path / "run", {**SMALL, "image_size": 17}
    fit(NAME, photos, out=out, epochs=1, **told)
    fit(NAME, photos, out=out, epochs=2, resume=True, **told)
    run = load_run(out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert len(run.test_data()) > 0  # nothing has changed: no warning
    Image.new("L", (17, 17), 255).save(photos / "a" / "new.png")
    (photos / "a" / "0.png").unlink()
    Image.new("L", (17, 17), 254).save(photos / "b" / "1.png")
    what = r"1 added \('a/new\.png'\); 1 removed \('a/0\.png'\); 1 changed \('b/1\.png'\)"
    with pytest.raises(ValueError, match=rf"run cannot be resumed for its data has changed: {what}"):
        fit(NAME, photos, out=out, epochs=3, resume=True, **told)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.warns(UserWarning, match=rf"photos has changed since the training: {what}"):
        run.test_data()
    with pytest.warns(UserWarning, match="has changed since the training"):
        done = CliRunner().invoke(app, ["evaluate", str(out), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["clean"]["count"] > 0


def test_a_note_that_was_edited_is_refused(photos, tmp_path):
    out, told = tmp_path / "run", {**SMALL, "image_size": 17}
    fit(NAME, photos, out=out, epochs=1, **told)
    note = json.loads((out / DATA).read_text())
    note["contents"].popitem()
    (out / DATA).write_text(json.dumps(note))
    with pytest.raises(ValueError, match=r"data\.json cannot be read: it was changed after it was written"):
        fit(NAME, photos, out=out, epochs=2, resume=True, **told)


def test_named_data_and_what_is_behind_generators():
    def contents(name, **options):
        return inventory_of(Settings(NAME, name, data_options=options)).contents

    assert contents("mnist") == contents("affine_mnist") == dict(RECIPES["mnist"].files)
    assert any(name.startswith("DejaVu") for name in contents("multi_mnist", source="glyphs"))
    assert contents("sign") == {}
    both = Settings(NAME, "mnist", validation_data="glyphs")
    assert len(inventory_of(both).contents) == 4 + len(contents("glyphs"))
    assert inventory_of(Settings(NAME, "custom")) is None


def test_arrays_behind_a_generator(tmp_path):
    file = tmp_path / "d.npz"
    np.savez(file, x=np.random.default_rng(0).integers(0, 256, (9, 4, 4)).astype(np.uint8), y=np.arange(9) % 3)
    assert len(inventory_of(Settings(NAME, "multi_mnist", data_options={"source": str(file)})).contents) == 9


def test_what_lies_behind_a_second_set_and_every_font():
    """Of generated validation images what their own options name; of glyphs the fonts to test by as well."""
    both = Settings(NAME, "sign", validation_data="multi_mnist", validation_options={"source": "glyphs"})
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    files = [file for file in folder.glob("DejaVu*.ttf") if "Display" not in file.name]
    expected = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    assert inventory_of(Settings(NAME, "glyphs")).contents == expected
    assert inventory_of(both).contents == {f"multi_mnist: {name}": value for name, value in expected.items()}


def test_other_labels_are_other_data():
    images, labels = torch.zeros(4, 1, 2, 2, dtype=torch.uint8), torch.tensor([0, 1, 0, 1])
    given = [Stored(images, labels, ("a", "b")), Stored(images, 1 - labels, ("a", "b"))]
    one, again, other = (inventory_of(Settings(NAME, "custom"), None, data) for data in (*given[:1], *given))
    assert one.differences(again) == []
    assert one.differences(other) == ["1 changed ('4 images given')"]


def test_what_is_new_was_added(tmp_path):
    write_inventory(tmp_path, Inventory({"old.png": "1", "same.png": "2"}))
    now = Inventory({"same.png": "2", "new.png": "3"})
    assert changes(tmp_path, now) == ["1 added ('new.png')", "1 removed ('old.png')"]
