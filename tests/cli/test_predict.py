"""`torchcaps predict` and `torchcaps export` on a run that nobody trained."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from torchcaps.cli import app
from torchcaps.losses import BinaryCrossEntropy, CrossEntropy, MarginLoss, SpreadLoss
from torchcaps.models import create_model
from torchcaps.train import Run, Settings

CLASSES = ("cat", "dog", "[owl]")
SHAPE = (3, 12, 16)


@pytest.fixture
def give(monkeypatch, tmp_path_factory):
    """Makes load_run return a network, whatever directory is named; there is one that looks like a run's."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    Path("run").mkdir()
    Path("run", "run.json").write_text("{}")

    def give(model, image_shape=SHAPE):
        settings = Settings("custom", "custom", data_options={})
        run = Run(model.eval(), settings, CLASSES, image_shape)
        monkeypatch.setattr("torchcaps.train.load_run", lambda directory: run)
        return run

    return give


@pytest.fixture
def capsnet():
    return create_model("gu2021/capsnet", num_classes=3, in_chans=3, image_size=SHAPE[1:], width=0.05, kernel=3)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for k, size in enumerate([(12, 16, 3), (30, 11, 3), (7, 90)]):
        Image.fromarray(rng.integers(0, 256, size, np.uint8)).save(tmp_path / f"{k}.png")
    (tmp_path / "notes.txt").write_text("not an image, and not asked for")
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(app, ["predict", "run", *map(str, arguments)])


def answers(*arguments):
    return json.loads(invoke(*arguments, "--json").stdout)


def test_class_and_probability(give, capsnet, folder):
    give(capsnet)
    found = answers(folder, "--top", 3)
    assert [answer["file"] for answer in found] == [str(folder / f"{k}.png") for k in range(3)]
    pixels = torch.from_numpy(np.array(Image.open(folder / "0.png"))).permute(2, 0, 1)  # as large as the network's own
    with torch.no_grad():
        scores = capsnet(pixels[None].float() / 255).scores
    expected = (scores / scores.sum())[0]
    for entry in found[0]["top"]:
        assert entry["probability"] == pytest.approx(expected[CLASSES.index(entry["class"])].item(), rel=1e-5)
    assert found[0]["class"] == CLASSES[expected.argmax()] == found[0]["top"][0]["class"]
    for answer in found:
        assert sum(entry["probability"] for entry in answer["top"]) == pytest.approx(1)
        assert {"file", "class", "probability", "top"} == answer.keys()
    text = invoke(folder)
    assert text.exit_code == 0
    assert [line.split()[-2] for line in text.stdout.splitlines()[1:]] == [answer["class"] for answer in found]
    assert str(folder / "2.png") in text.stdout


def test_batches_change_nothing(give, capsnet, folder, monkeypatch):
    give(capsnet)
    (folder / "1b.png").write_bytes(b"nothing")
    whole = answers(folder)
    monkeypatch.setattr("torchcaps.train.predict.BATCH", 1)
    single = answers(folder)
    assert [answer["file"] for answer in whole] == [answer["file"] for answer in single]
    assert [answer.get("class") for answer in whole] == [answer.get("class") for answer in single]


def test_bad_files_do_not_stop_the_others(give, capsnet, folder, tmp_path):
    give(capsnet)
    (folder / "bad.png").write_bytes(b"nothing")
    empty = folder / "empty"
    empty.mkdir()
    asked = (folder / "bad.png", folder / "0.png", folder / "missing.png", empty)
    done = invoke(*asked)
    assert done.exit_code == 1
    assert "0.png" in done.stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("torchcaps: ")]
    assert len(lines) == 3
    assert "bad.png: not PNG, JPEG, WebP, BMP, TIFF or GIF" in lines[0]
    assert "missing.png: No such file" in lines[1]
    assert "empty: the folder holds no images" in lines[2]
    assert ["error" in answer for answer in answers(*asked)] == [True, False, True, True]


def test_the_parse(give, folder):
    """The numbers of an explanation are those of the network's own parse."""
    net = create_model("mitterreiter2023/capsnet", num_classes=3, in_chans=3, image_size=32, width=0.25)
    give(net, (3, 32, 32))
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (32, 32, 3), np.uint8)).save(folder / "0.png")
    (answer,) = answers(folder / "0.png", "--explain")
    pixels = torch.from_numpy(np.array(Image.open(folder / "0.png"))).permute(2, 0, 1)
    with torch.no_grad():
        parse = net(pixels[None].float() / 255, record="last")
    layers, couplings = answer["parse"]["layers"], answer["parse"]["couplings"]
    assert [layer["layer"] for layer in layers] == ["primary", "hidden 1", "hidden 2", "hidden 3", "classes"]
    for layer, capsules in zip(layers, parse.capsules, strict=True):
        assert layer["grid"] == list(capsules.act.shape[1:3])
        values = [entry["activation"] for entry in layer["most_active"]]
        assert values == pytest.approx(capsules.act.flatten().topk(len(values)).values.tolist(), rel=1e-5)
    label = CLASSES.index(answer["class"])
    assert layers[-1]["most_active"][0]["class"] == answer["class"]
    into = parse.couplings[-1][0, 0, 0, :, label]
    assert couplings[0]["coupling"] == pytest.approx(into.max().item(), rel=1e-5)
    _, w, n = parse.capsules[-2].act.shape[1:]
    first = couplings[0]
    assert (first["row"] * w + first["column"]) * n + first["type"] == into.argmax()
    text = invoke(folder / "0.png", "--explain").stdout
    assert f"the strongest couplings into {answer['class']}" in text
    assert f"coupling {first['coupling']:.3f}" in text


def test_networks_without_activations_or_capsules(give, folder):
    give(create_model("gu2021/capsnet", num_classes=3, in_chans=3, image_size=SHAPE[1:], width=0.05, kernel=3,
                      routing="inverted_attention", loss="ce"))  # fmt: skip
    (answer,) = answers(folder / "0.png", "--explain")
    assert "length" in answer["parse"]["layers"][-1]["most_active"][0]
    give(create_model("gu2021/convnet_avg", num_classes=3, in_chans=3, image_size=SHAPE[1:], width=0.02, kernel=3))
    assert answers(folder / "0.png", "--explain")[0]["parse"] == {
        "layers": [],
        "couplings": [],
        "uniform": None,
        "routes": [],
    }
    assert "there is no parse to show" in invoke(folder / "0.png", "--explain").stdout


def test_channels_that_no_file_has(give, capsnet, folder):
    give(capsnet, (2, 12, 16))
    done = invoke(folder)
    assert done.exit_code != 0
    assert "images of 2 channels" in str(done.exception)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (MarginLoss(), [0.75, 0.25, 0.0]),
        (SpreadLoss(), [0.75, 0.25, 0.0]),
        (BinaryCrossEntropy(on="lengths"), [0.75, 0.25, 0.0]),
        (CrossEntropy(), torch.tensor([0.6, 0.2, -0.1]).softmax(0).tolist()),
        (BinaryCrossEntropy(), (torch.tensor([0.6, 0.2, -0.1]).sigmoid() / 1.6707).tolist()),
    ],
)
def test_probabilities_follow_the_loss(loss, expected):
    net = create_model("gu2021/convnet_avg", num_classes=3, width=0.02)
    net.loss = loss
    assert net.probabilities(torch.tensor([[0.6, 0.2, -0.1]]))[0].tolist() == pytest.approx(expected, abs=1e-4)
    assert net.probabilities(torch.full((1, 3), -300.0))[0].tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.usefixtures("no_shape_checks")
def test_export(give, capsnet, tmp_path):
    """The command writes a file, and says what is in it."""
    give(capsnet)
    target = tmp_path / "net.onnx"
    done = CliRunner().invoke(app, ["export", "run", "--to", str(target)])
    assert done.exit_code == 0, done.output
    assert target.is_file()
    assert "out  couplings batch × " in done.stdout
    assert "onnxruntime and torch agree" in done.stdout
    give(create_model("gu2021/convnet_avg", num_classes=3, in_chans=3, image_size=SHAPE[1:], width=0.02, kernel=3))
    again = CliRunner().invoke(app, ["export", "run", "--to", str(target)])
    assert "is there already: --force" in str(again.exception)
    facts = json.loads(CliRunner().invoke(app, ["export", "run", "--to", str(target), "--force", "--json"]).stdout)
    assert facts["outputs"] == {"scores": ["batch", 3]}
    assert facts["images"] == ["batch", *SHAPE]
    assert facts["classes"] == list(CLASSES)
    missing = CliRunner().invoke(app, ["export", "run", "--to", str(tmp_path / "no" / "net.onnx")])
    assert missing.exit_code != 0
    assert "there is no directory" in str(missing.exception)


def test_no_place_is_named_where_there_is_none(give, folder):
    """Capsules on a 1×1 grid have a type only, and the text says what uniform couplings would be."""
    give(create_model("mitterreiter2023/capsnet", num_classes=3, in_chans=3, image_size=20, width=0.25), (3, 20, 20))
    text = invoke(folder / "0.png", "--explain").stdout
    assert "where uniform would be 0.333" in text
    assert "row" not in text.replace("row·column·type", "")
    assert "hidden 1, 4 capsules: the most active" in text
    assert "1×1" not in text


def test_pictures_of_couplings(give, capsnet, folder, tmp_path):
    give(capsnet)
    to = tmp_path / "pictures"
    done = invoke(folder / "0.png", folder, "--explain", "--to", to)
    assert done.exit_code == 0, done.exception
    assert {path.name for path in to.iterdir()} == {"0.png", "0-2.png", "1.png", "2.png"}
    for path in to.iterdir():
        with Image.open(path) as picture:
            assert picture.size[0] > 300
    again = invoke(folder / "0.png", "--explain", "--to", to)
    assert "is not an empty folder" in str(again.exception)
    assert "give both" in str(invoke(folder / "0.png", "--to", tmp_path / "other").exception)
    assert not (tmp_path / "other").exists()


SEEN = {"file": "a/cat.png", "class": "cat", "probability": 0.754}
BAD = {"file": "bad.png", "error": "not PNG"}
GRID, CLASS = {"grid": [6, 6], "types": 8}, {"grid": [1, 1], "types": 3}
PARSE = {
    "layers": [
        {"layer": "primary", **GRID, "most_active": [{"row": 1, "column": 2, "type": 3, "activation": 0.9}]},
        {"layer": "classes", **CLASS, "most_active": [{"class": "cat", "activation": 0.754}]},
    ],
    "couplings": [{"row": 4, "column": 5, "type": 7, "coupling": 0.25}],
    "uniform": 1 / 3,
    "routes": [],
}


@pytest.mark.parametrize(("answered", "code"), [([SEEN], 0), ([SEEN, BAD], 1), ([BAD], 1)])
def test_answers_are_rows_and_one_bad_file_is_an_error(answered, code, a_run, spy):
    a_run()
    spy("torchcaps.train.predict.predict", return_value=iter(answered))
    done = invoke("a", "bad.png")
    assert done.exit_code == code
    assert done.stderr == "torchcaps: bad.png: not PNG\n" * (BAD in answered)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows == ([["image", "class", "probability"], ["a/cat.png", "cat", "75.4%"]] if SEEN in answered else [])


def test_coupled_capsules_are_told_by_their_places(a_run, spy):
    """Those that are coupled to the class lie in the layer below it."""
    a_run()
    spy("torchcaps.train.predict.predict", return_value=iter([{**SEEN, "parse": PARSE}]))
    lines = [line.split() for line in invoke("a", "--explain").stdout.splitlines()]
    assert ["row", "4", "column", "5", "type", "7", "coupling", "0.250"] in lines
    assert ["row", "1", "column", "2", "type", "3", "activation", "0.900"] in lines
    assert ["cat", "activation", "0.754"] in lines


def test_pictures_take_no_others_place(a_run, spy, monkeypatch):
    """Images of one name in two folders have a picture each, in a folder that held nothing."""
    a_run()
    figure = type("Figure", (), {"savefig": lambda _, target, **__: target.write_text(str(len(pictures())))})()

    def pictures():
        return sorted(path.name for path in Path("new").glob("*.png"))

    spy("torchcaps.explain.figure_of_couplings", return_value=figure)

    def ask(run, paths, *, top, explain, draw):
        for path in paths:
            draw(str(path), None, None, 0)
        return iter([])

    monkeypatch.setattr("torchcaps.train.predict.predict", ask)
    assert invoke("a/cat.png", "b/cat.png", "c/cat.png", "a/dog.png", "--explain", "--to", "new").exit_code == 0
    assert pictures() == ["cat-2.png", "cat-3.png", "cat.png", "dog.png"]
    assert [Path("new", name).read_text() for name in pictures()] == ["1", "2", "0", "3"]
    for taken in ("new", "new/cat.png"):
        assert "is not an empty folder" in str(invoke("a/cat.png", "--explain", "--to", taken).exception)
    assert len(pictures()) == 4


HOSTILE = "\x1b[31mred\x9b2J\u202egnp\n100 %"


def test_names_cannot_command_the_terminal(give, capsnet, folder):
    """Neither of files nor of classes, in tables, in JSON and in errors; the answers are the same."""
    run = give(capsnet)
    run.classes = tuple(f"{HOSTILE} {name}" for name in CLASSES)
    (folder / "0.png").rename(folder / f"{HOSTILE}.png")
    (bad := folder / f"{HOSTILE}-bad.png").write_bytes(b"nothing")
    for more in ([], ["--json"], ["--explain"], ["--top", 2]):
        done = invoke(folder, bad, *more)
        assert done.exit_code == 1
        assert not set("\x1b\x9b\u202e") & set(done.output)
        assert not any(line.startswith("100 %") for line in done.output.splitlines())
    named = {answer["file"]: answer.get("class") for answer in answers(folder)}
    assert named[str(folder / f"{HOSTILE}.png")] in run.classes
    assert "error" in answers(bad)[0]
