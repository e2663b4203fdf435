"""Whether data is still the same, and what came, went or changed."""

import json

import numpy as np
import pytest
from PIL import Image

from torchcaps.data import look_through
from torchcaps.data.inventory import Inventory


def told(before, now):
    return Inventory.from_json(json.loads(json.dumps(before.to_json()))).differences(now)


def test_a_folder(tmp_path):
    for k in range(8):
        file = tmp_path / "ab"[k % 2] / f"{k}.png"
        file.parent.mkdir(exist_ok=True)
        Image.new("L", (4, 4), k).save(file)
    before = look_through(tmp_path).inventory()
    assert told(before, look_through(tmp_path, image_size=3).inventory()) == []
    assert before.fingerprint() == look_through(tmp_path).inventory().fingerprint()
    for k in range(5):
        Image.new("L", (4, 4), 100 + k).save(tmp_path / "a" / f"new{k}.png")
    (tmp_path / "a" / "0.png").unlink()
    Image.new("L", (4, 4), 200).save(tmp_path / "b" / "1.png")
    assert told(before, look_through(tmp_path).inventory()) == [
        "5 added ('a/new0.png', 'a/new1.png', 'a/new2.png', …)",
        "1 removed ('a/0.png')",
        "1 changed ('b/1.png')",
    ]


def test_another_rule_makes_another_data_set():
    """Which says so, and is not taken for another order; a note whose rule was edited is refused."""
    contents = {"a.png": "1", "b.png": "2"}
    before, now = Inventory(contents, rule=1), Inventory(contents, rule=2)
    assert before.fingerprint() != now.fingerprint()
    assert told(before, now) == ["the rule by which images are parted and read is another"]
    for edited in ({"rule": 1}, {"contents": contents | {"b.png": "3"}}):
        with pytest.raises(ValueError, match="it was changed after it was written"):
            Inventory.from_json(now.to_json() | edited)


def test_an_archive(tmp_path):
    """Rows have no names: one put in front changes nothing behind it, another label changes its image."""
    x, y = np.random.default_rng(0).integers(0, 256, (9, 4, 4)).astype(np.uint8), np.arange(9) % 3
    x[8] = x[7]
    file = tmp_path / "d.npz"

    def inventory(images, labels):
        np.savez(file, x=images, y=labels)
        return look_through(file).inventory()

    before = inventory(x, y)
    assert told(before, inventory(x, y)) == []
    assert told(before, inventory(np.concatenate([x[:1] + 1, x]), np.append(0, y)))[0].startswith("1 added")
    assert [line[:9] for line in told(before, inventory(x[1:], y[1:]))] == ["1 removed"]
    assert [line[:9] for line in told(before, inventory(x, (y + (np.arange(9) == 4)) % 3))] == ["1 changed"]
    assert told(before, inventory(x[::-1], y[::-1]))[0].startswith("1 changed")  # the twin's labels in another order
    assert told(before, inventory(x[[1, 0, *range(2, 9)]], y[[1, 0, *range(2, 9)]])) == [
        "the order of the images is another"
    ]
