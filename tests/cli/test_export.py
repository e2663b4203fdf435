"""`torchcaps export`: what the file is told, and what is said of the file."""

import json
from pathlib import Path

import pytest

from torchcaps.export import Exported


@pytest.fixture
def written(spy):
    outputs = {"scores": ("batch", 3), "poses": ("batch", 3, 16)}
    return spy("torchcaps.export.export_onnx", return_value=Exported(Path("net.onnx"), outputs, 20, 2_460_000, 3e-6))


def test_the_file_knows_classes_in_the_order_of_its_scores(a_run, written, invoke):
    run = a_run(("dog", "cat", "owl"), (3, 12, 16))
    assert invoke("export", "run", "--to", "net.onnx", "--force").exit_code == 0
    model, path, shape, told = written.call_args.args
    assert (model, path, shape) == (run.model, Path("net.onnx"), (3, 12, 16))
    assert json.loads(told["classes"]) == ["dog", "cat", "owl"]
    assert written.call_args.kwargs == {"overwrite": True}


def test_what_is_said_of_it(a_run, written, invoke):
    a_run(("dog", "cat", "owl"), (3, 12, 16))
    assert invoke("export", "run", "--to", "net.onnx").stdout.splitlines() == [
        "net.onnx: 2.5 MB, opset 20",
        "  in   images batch × 3 × 12 × 16, from 0 to 1",
        "  out  scores batch × 3",
        "  out  poses batch × 3 × 16",
        "onnxruntime and torch agree on batches of 1 and 5 images; largest difference 3.0e-06",
    ]
    assert json.loads(invoke("export", "run", "--to", "net.onnx", "--json").stdout) == {
        "path": "net.onnx",
        "outputs": {"scores": ["batch", 3], "poses": ["batch", 3, 16]},
        "opset": 20,
        "bytes": 2_460_000,
        "difference": 3e-6,
        "images": ["batch", 3, 12, 16],
        "classes": ["dog", "cat", "owl"],
    }
