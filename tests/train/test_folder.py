"""A folder of pictures goes all the way: train, evaluate, predict, export, as a person types it."""

import json
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageDraw

from benchmarks.kill import TORCHCAPS

SHAPES = ("circle", "cross", "stripes")
MODES = ("RGB", "RGB", "L", "RGBA", "P", "LA")


def draw(shape, size, mode, rng):
    """A light shape on a dark ground, somewhere, in some colour."""
    w, h = size
    image = Image.new("RGB", size, tuple(rng.integers(0, 60, 3)))
    pen, colour = ImageDraw.Draw(image), tuple(rng.integers(170, 256, 3))
    x, y = (0.3 + 0.4 * rng.random(2)) * (w, h)
    r, thick = min(w, h) * (0.2 + 0.1 * rng.random()), max(2, min(w, h) // 10)
    if shape == "circle":
        pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)
    elif shape == "cross":
        pen.line((x - r, y, x + r, y), fill=colour, width=thick)
        pen.line((x, y - r, x, y + r), fill=colour, width=thick)
    else:
        for k in range(0, h, 4 * thick):
            pen.line((0, k, w, k), fill=colour, width=thick)
    return image.convert(mode)


@pytest.fixture
def pictures(tmp_path):
    """200 PNGs of odd sizes, grey, coloured, with palettes and with transparency."""
    rng = np.random.default_rng(0)
    for k in range(200):
        shape = SHAPES[k % 3]
        file = tmp_path / "my pictures" / shape / f"nr {k}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        draw(shape, tuple(rng.integers(20, 91, 2).tolist()), MODES[k % len(MODES)], rng).save(file)
    return tmp_path / "my pictures"


def torchcaps(*arguments):
    done = subprocess.run([TORCHCAPS, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    return json.loads(done.stdout)


def test_from_pictures_to_onnx(pictures, tmp_path):
    import onnxruntime

    run = tmp_path / "a run"
    said = torchcaps("train", "mitterreiter2023/capsnet", "--data", pictures, "--out", run, "--image-size", "32",
                     "--epochs", "8", "--set", "width=0.1", "--set", "layers=2", "--set", "batch_size=16",
                     "--set", "lr=0.005", "--json")  # fmt: skip
    assert said["run"] == str(run)
    assert said["epoch"] == 7
    judged = torchcaps("evaluate", run, "--json")["clean"]
    assert judged["count"] == 39
    assert judged["accuracy"] > 0.7
    files = [pictures / shape / f"nr {k}.png" for k, shape in enumerate(SHAPES)]
    answers = torchcaps("predict", run, *files, "--explain", "--json")
    assert [answer["file"] for answer in answers] == list(map(str, files))
    assert all(answer["class"] in SHAPES and 1 / 3 <= answer["probability"] <= 1 for answer in answers)
    assert all(answer["parse"]["couplings"] for answer in answers)
    target = tmp_path / "model.onnx"
    facts = torchcaps("export", run, "--to", target, "--json")
    assert facts["classes"] == list(SHAPES)
    assert facts["images"] == ["batch", 3, 32, 32]
    session = onnxruntime.InferenceSession(str(target))
    pixels = [np.asarray(Image.open(file).convert("RGB").resize((32, 32)), np.float32) / 255 for file in files]
    scores = session.run(["scores"], {session.get_inputs()[0].name: np.stack(pixels).transpose(0, 3, 1, 2)})[0]
    assert [SHAPES[k] for k in scores.argmax(1)] == [answer["class"] for answer in answers]
