"""Folders of a machine do not get into stored results."""

import pytest

from tests.bench.toy import inline, place, toy
from torchcaps.bench import perform, store, trained
from torchcaps.bench.folders import without_folders
from torchcaps.bench.runner import run

HOME = "/home/somebody"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'File "{HOME}/c/torchcaps/bench/perform.py", line 9', 'File "torchcaps/bench/perform.py", line 9'),
        (f'File "{HOME}/torchcaps/torchcaps/bench/store.py"', 'File "torchcaps/bench/store.py"'),
        (f'File "{HOME}/torchcaps/.venv/lib/python3.11/site-packages/torch/nn/x.py"', 'File "torch/nn/x.py"'),
        ('File "/usr/lib/python3.12/json/decoder.py", line 1', 'File "json/decoder.py", line 1'),
        (f'File "{HOME}/my own work/train it.py", line 1', 'File "…/train it.py", line 1'),
        (f"[Errno 2] No such file: '{HOME}/my data/a.npz'", "[Errno 2] No such file: '…/a.npz'"),
        (f"PosixPath('{HOME}/a.npz')", "PosixPath('…/a.npz')"),
        (f"or into {HOME}/.cache/torchcaps/cifar100; or", "or into …/cifar100; or"),
        ("into /root/.cache/torchcaps.", "into …/torchcaps."),
        ("at /var/folders/ab/T/x, or /tmp/y: no", "at …/x, or …/y: no"),
        (f"root={HOME}/data, and (/data/all/b)", "root=…/data, and (…/b)"),
        (r"open C:\Users\me\torchcaps\bench\perform.py", r"open torchcaps\bench\perform.py"),
        ("in ~/projects/secret/a.npz", "in …/a.npz"),
    ],
)
def test_a_path_begins_at_its_package_or_is_a_name(text, expected):
    assert without_folders(text) == expected
    assert without_folders(expected) == expected, "once is enough"


@pytest.mark.parametrize(
    "text",
    [
        "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz: HTTPSConnectionPool(host='www.cs.toronto.edu')",
        "Max retries exceeded with url: /~kriz/cifar-100-python.tar.gz (Caused by it)",
        "Max retries exceeded with url: /datasets/mnist.gz (Caused by it)",
        "1/2 of train/0001.png and/or ./a/b and ../c: a / b // c",
        "</script><b/>, 30 images /s, the folder /data",
        "step 9: the loss is nan. A smaller learning rate usually helps; images from 0 to 1.",
    ],
)
def test_other_text_stays_as_it_is(text):
    assert without_folders(text) == text


def fails(*_, **__):
    raise OSError(f"no space left in {HOME}/weights/last.npz")


def stored(tmp_path):
    run([toy(rows=("rba",), seeds=1)], "cpu", place(tmp_path), inline)
    files = sorted((tmp_path / "results" / "cpu").glob("*.jsonl"))
    return {path.stem: store.read(path)[0] for path in files}


def test_a_judging_that_fails_is_stored_without_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(perform, "trained", fails)
    [line] = stored(tmp_path)["peer2021-table1"]
    assert line["error"] == "OSError: no space left in …/last.npz"
    assert 'File "torchcaps/bench/perform.py", line ' in line["trace"]
    assert '"tests/bench/test_folders.py"' not in line["trace"]
    assert '"…/test_folders.py"' in line["trace"]
    assert '"/' not in line["trace"]


def test_a_training_that_fails_is_stored_without_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(trained, "fit", fails)
    for lines in stored(tmp_path).values():
        [line] = lines
        assert line["error"].endswith("OSError: no space left in …/last.npz")


def test_a_process_that_ended_is_stored_without_folders(tmp_path):
    where = place(tmp_path)
    [job] = toy(rows=("rba",), seeds=1).judgings("cpu")
    store.append(where.file(job), perform.failure(job, where, f"killed in {HOME}/work"))
    assert store.read(where.file(job))[0][0]["error"] == "killed in …/work"
