"""A folder of pictures goes all the way: train, evaluate, predict, export, as a person types it."""

import json
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageOps

from benchmarks.kill import TORCHCAPS
from torchcaps.data import look_through

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


def torchcaps(*arguments, says=""):
    done = subprocess.run([TORCHCAPS, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    assert says in done.stderr
    return json.loads(done.stdout)


def read_as_told(file, metadata):
    """What somebody makes of a file who has nothing but Pillow and what the ONNX file says of itself."""
    _, height, width = json.loads(metadata["image_shape"])
    assert (metadata["channels"], metadata["range"], metadata["fit"]) == ("red, green, blue", "[0, 1]", "crop")
    assert "Image.Resampling.BILINEAR" in metadata["resize"]
    picture = Image.open(file).convert("RGBA")
    ground = Image.new("RGBA", picture.size, metadata["background"])
    flat = Image.alpha_composite(ground, picture).convert("RGB")
    return np.asarray(ImageOps.fit(flat, (width, height), Image.Resampling.BILINEAR), np.float32) / 255


def test_from_pictures_to_onnx(pictures, tmp_path):
    import onnxruntime

    run = tmp_path / "a run"
    said = torchcaps("train", "mitterreiter2023/capsnet", "--data", pictures, "--out", run, "--image-size", "32",
                     "--epochs", "8", "--set", "width=0.1", "--set", "layers=2", "--set", "batch_size=16",
                     "--set", "lr=0.005", "--fit", "crop", "--balance", "--json",
                     says=f"{pictures}: 200 images of 3 classes (circle 67, cross 67, stripes 66), each")  # fmt: skip
    assert said["run"] == str(run)
    assert said["epoch"] == 7
    judged = torchcaps("evaluate", run, "--json")["clean"]
    assert judged["count"] == len(look_through(pictures).parts()["test"]) > 20
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
    metadata = session.get_modelmeta().custom_metadata_map
    pixels = np.stack([read_as_told(file, metadata) for file in files]).transpose(0, 3, 1, 2)
    scores = session.run(["scores"], {session.get_inputs()[0].name: pixels})[0]
    classes = json.loads(metadata["classes"])
    assert [classes[k] for k in scores.argmax(1)] == [answer["class"] for answer in answers]
    shares = scores.max(1) / scores.sum(1)  # as the margin loss reads lengths
    assert shares.tolist() == pytest.approx([answer["probability"] for answer in answers], abs=1e-4)
