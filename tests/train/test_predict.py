"""Many files asked at once, some of which cannot be read: each gets its own answer, explanation and picture."""

import numpy as np
import pytest
import torch
from PIL import Image

from torchcaps.models import create_model
from torchcaps.train import Run, Settings
from torchcaps.train.predict import predict

CLASSES = ("cat", "dog", "owl")
SHAPE = (3, 20, 20)


@pytest.fixture
def run():
    torch.manual_seed(2)
    net = create_model("mitterreiter2023/capsnet", num_classes=3, in_chans=3, image_size=20, width=0.25)
    return Run(net.eval(), Settings("custom", "custom"), CLASSES, SHAPE)


@pytest.fixture
def files(tmp_path):
    """Five pictures as large as the network's own, from dark to bright, among others that are none."""
    rng = np.random.default_rng(0)
    for k in range(5):
        Image.fromarray(rng.integers(0, 50 * (k + 1), (20, 20, 3)).astype(np.uint8)).save(tmp_path / f"{k}.png")
    (tmp_path / "bad.png").write_bytes(b"nothing")
    names = ["bad.png", "0.png", "missing.png", "1.png", "2.png", "bad.png", "3.png", "4.png"]
    return [tmp_path / name for name in names]


def pixels(path):
    return torch.from_numpy(np.moveaxis(np.array(Image.open(path)), -1, 0).astype(np.float32) / 255)


def strongest(answer):
    """The activations of the most active capsules, layer by layer."""
    layers = answer["parse"]["layers"]
    return [entry["activation"] for layer in layers for entry in layer["most_active"]]


def test_each_file_gets_its_own_answer(run, files, monkeypatch):
    """Twice two in a batch and one that is left, against the network asked about each picture alone."""
    monkeypatch.setattr("torchcaps.train.predict.BATCH", 2)
    drawn = []
    answers = list(
        predict(
            run, files, top=3, explain=True, draw=lambda file, tree, image, label: drawn.append((file, image, label))
        )
    )
    assert [answer["file"] for answer in answers] == list(map(str, files))
    assert ["error" in answer for answer in answers] == [path.name in ("bad.png", "missing.png") for path in files]
    sound = [answer for answer in answers if "error" not in answer]
    assert [file for file, *_ in drawn] == [answer["file"] for answer in sound]
    seen = set()
    for answer, (file, image, label) in zip(sound, drawn, strict=True):
        with torch.no_grad():
            parse = run.model(pixels(file)[None], record="last")
        shares = dict(zip(CLASSES, (parse.scores / parse.scores.sum())[0].tolist(), strict=True))
        best = sorted(CLASSES, key=lambda name: -shares[name])
        assert [entry["class"] for entry in answer["top"]] == best
        assert [entry["probability"] for entry in answer["top"]] == pytest.approx([shares[name] for name in best])
        assert (answer["class"], CLASSES[label]) == (best[0], best[0])
        torch.testing.assert_close(image, pixels(file))
        shown = [layer["most_active"] for layer in answer["parse"]["layers"]]
        most = [
            capsules.act.flatten().topk(len(few)).values for capsules, few in zip(parse.capsules, shown, strict=True)
        ]
        assert strongest(answer) == pytest.approx(torch.cat(most).tolist(), rel=1e-4)
        seen.add(tuple(round(value, 5) for value in strongest(answer)))
    assert len(seen) == 5, "pictures whose explanations are the same would show nothing"


def test_files_of_which_none_can_be_read_get_their_errors(run, files, monkeypatch):
    """Alone, and after a batch that was full."""
    monkeypatch.setattr("torchcaps.train.predict.BATCH", 2)
    bad, first, missing, second = files[:4]
    for asked, wanted in (([bad, missing], [True, True]), ([first, second, bad, missing], [False, False, True, True])):
        answers = list(predict(run, asked))
        assert [answer["file"] for answer in answers] == list(map(str, asked))
        assert ["error" in answer for answer in answers] == wanted
