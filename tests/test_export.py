"""ONNX files: every routing gives in onnxruntime what it gives in torch, and a file that does not is not written."""

import json
import logging
import os
import sys
from functools import partial

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from einops import rearrange
from torch import nn

from tests.contracts.networks import CLASSES, GRID, D, N, build, images
from torchcaps import _onnx, export
from torchcaps.data import Reading
from torchcaps.export import Exported, ExportError, export_onnx
from torchcaps.layers import ActivationHead, CapsuleLayer, PrimaryCapsules
from torchcaps.models import create_model
from torchcaps.network import CapsNet, ConvNet, Model
from torchcaps.routing import ROUTINGS
from torchcaps.schedule import concurrent
from torchcaps.types import Parse

SHAPE = (N * D, *GRID)
pytestmark = pytest.mark.usefixtures("no_shape_checks")


def run(path, x):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"images": x.numpy()}), strict=True))


def small(scale=1.0):
    torch.manual_seed(0)
    net = ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(9, 3)))
    with torch.no_grad():
        net.body[1].weight.mul_(scale)
    return net


def network(routing):
    """One layer with a window that reaches into padding; inverted attention in two, under its own schedule."""
    if routing == "inverted_attention":
        net = build(routing, "matrix", "convolutional")
        net.schedule = partial(concurrent, iters=2)
    else:
        primary = PrimaryCapsules(SHAPE, n=N, d=D)
        window = (GRID[0] + 2, GRID[1] + 2)
        layer = CapsuleLayer(
            primary.shape_out, CLASSES, 4, rows=2, window=window, padding=1, vote_bias=True, routing=ROUTINGS[routing]
        )
        layer.routing.iters = min(2, layer.routing.iters)  # a second iteration is every further one
        net = CapsNet(nn.Identity(), primary, [layer], ActivationHead(layer.shape_out))
    return net.eval()


@pytest.mark.parametrize("routing", ROUTINGS)
def test_every_routing(routing, tmp_path):
    """Whole models with every routing: `python -m benchmarks.export_all`."""
    net, x = network(routing), images(7, scale=2.0)
    done = export_onnx(net, tmp_path / "net.onnx", SHAPE)
    with torch.no_grad():
        parse = net(x, record="last")
    wanted = {
        "scores": parse.scores,
        "poses": rearrange(parse.capsules[-1].pose, "b 1 1 n d -> b n d"),
        "couplings": rearrange(parse.couplings[-1], "b 1 1 i n -> b i n"),
    }
    assert done.outputs == {name: ("batch", *t.shape[1:]) for name, t in wanted.items()}
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]
    found = {name: torch.from_numpy(array) for name, array in run(done.path, x).items()}
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


def test_functions_that_torch_does_not_translate(tmp_path):
    """ψ(x) for x > 0, and log σ(x) where σ(x) is zero in single precision."""

    class Both(Model):
        def forward(self, x, record="none"):
            return Parse(
                torch.cat([torch.digamma(x.flatten(1)), nn.functional.logsigmoid(-x.flatten(1))], 1), [], [], []
            )

    x = torch.logspace(-2, 4, 50).reshape(1, 1, 5, 10)
    done = export_onnx(Both(loss=nn.Identity()), tmp_path / "net.onnx", (1, 5, 10))
    found = torch.from_numpy(run(done.path, x)["scores"])
    torch.testing.assert_close(found, Both(loss=nn.Identity())(x).scores, rtol=1e-5, atol=1e-6)


def test_a_baseline_has_scores_only(tmp_path):
    net = create_model("chen2019/lenet", num_classes=4, image_size=16, width=0.5)
    done = export_onnx(net.double(), str(tmp_path / "net.onnx"), (1, 16, 16))
    assert done.outputs == {"scores": ("batch", 4)}
    assert done.bytes == done.path.stat().st_size
    assert done.difference < 1e-5
    assert net.training  # the network itself is as it was
    assert next(net.parameters()).dtype == torch.float64
    file = onnx.load(done.path)
    graph, told = file.graph, {entry.key: entry.value for entry in file.metadata_props}
    assert (told["image_shape"], told["range"]) == ("[1, 16, 16]", "[0, 1]")
    assert [dim.dim_param or dim.dim_value for dim in graph.input[0].type.tensor_type.shape.dim] == ["batch", 1, 16, 16]


def test_metadata(tmp_path):
    """Words of any language go into the file and come out again."""
    told = Reading((1, 3, 3), "squash").metadata(("Katze", "mèö ∞"))
    done = export_onnx(small(), tmp_path / "net.onnx", (1, 3, 3), told)
    found = onnxruntime.InferenceSession(str(done.path)).get_modelmeta().custom_metadata_map
    assert {key: found[key] for key in told} == told
    assert json.loads(found["classes"]) == ["Katze", "mèö ∞"]
    assert found["fit"] == "squash"


def test_the_decoder_stays_behind(tmp_path):
    net = create_model("gu2021/convnet_cr", num_classes=3, image_size=20, width=0.05)
    done = export_onnx(net, tmp_path / "net.onnx", (1, 20, 20))
    assert done.outputs == {"scores": ("batch", 3), "poses": ("batch", 3, 16)}
    weights = sum(p.numel() for name, p in net.named_parameters() if not name.startswith("decoder"))
    assert 4 * weights <= done.bytes < 4 * weights + 50_000 < 4 * sum(p.numel() for p in net.parameters())
    assert b"/export.py" not in done.path.read_bytes()  # nor does the file say where on whose disk its code lies


def test_a_file_that_differs_is_not_written(tmp_path, monkeypatch):
    """The older file survives, and nothing else is left."""
    target = tmp_path / "net.onnx"
    first = export_onnx(small(), target, (1, 3, 3))
    before = target.read_bytes()
    monkeypatch.setattr(export, "to_onnx", lambda *_: _Saved(before))
    with pytest.raises(ExportError, match=r"the scores of 1 images differ by .* nothing was written"):
        export_onnx(small(scale=1.01), target, (1, 3, 3), overwrite=True)
    with pytest.raises(ExportError, match=r"onnxruntime gives scores of \(1, 3\), torch \(1, 1\)"):
        export_onnx(ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(9, 1))), target, (1, 3, 3), overwrite=True)
    broken = onnx.load_from_string(before)  # NaN differs from nothing by more than is allowed, and by nothing less
    for weights in broken.graph.initializer:
        values = onnx.numpy_helper.to_array(weights)
        if values.dtype == np.float32:
            weights.CopyFrom(onnx.numpy_helper.from_array(values * np.float32("nan"), weights.name))
    monkeypatch.setattr(export, "to_onnx", lambda *_: _Saved(broken.SerializeToString()))
    with pytest.raises(ExportError, match=r"the scores of 1 images differ by nan .* nothing was written"):
        export_onnx(small(), target, (1, 3, 3), overwrite=True)
    monkeypatch.setattr(export, "to_onnx", lambda *_: _Saved(b"no onnx"))
    with pytest.raises(ExportError, match="onnxruntime cannot run what was written"):
        export_onnx(small(), target, (1, 3, 3), overwrite=True)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]
    assert isinstance(first, Exported)


def test_what_gets_its_name_was_compared_and_is_on_disk(tmp_path, monkeypatch):
    target, order = tmp_path / "net.onnx", []
    target.write_bytes(b"old")

    def noted(name, then):
        return lambda *args: (order.append((name, target.read_bytes())), then(*args))[1]

    monkeypatch.setattr(export, "to_onnx", lambda *_: _Saved(b"new"))
    monkeypatch.setattr(export, "_difference", noted("compared", lambda *_: 0.0))
    monkeypatch.setattr(os, "fsync", noted("on disk", os.fsync))
    monkeypatch.setattr(os, "replace", noted("named", os.replace))
    export_onnx(small(), target, (1, 3, 3), overwrite=True)
    assert order[:3] == [("compared", b"old"), ("on disk", b"old"), ("named", b"old")]
    assert target.read_bytes() == b"new"


def test_a_logger_that_was_quietened_speaks_as_before():
    log = logging.getLogger("torch.onnx._internal.exporter._registration")
    before = log.level
    try:
        for level in (logging.NOTSET, logging.INFO):
            log.setLevel(level)
            with _onnx._calm():
                assert log.level == logging.ERROR
            assert log.level == level
    finally:
        log.setLevel(before)


def test_a_network_in_training_is_written_as_it_judges(tmp_path):
    """Nothing is dropped, norms are those it has learned, and the network itself goes on training as it was."""
    torch.manual_seed(0)
    net = ConvNet(nn.Sequential(nn.BatchNorm2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(18, 3)))
    net(3 + 2 * torch.randn(64, 2, 3, 3))
    before = {name: t.clone() for name, t in net.state_dict().items()}
    done = export_onnx(net, tmp_path / "net.onnx", (2, 3, 3))
    assert net.training
    assert all(torch.equal(t, before[name]) for name, t in net.state_dict().items())
    x = torch.rand(6, 2, 3, 3)
    with torch.no_grad():
        wanted = net.eval()(x).scores
    torch.testing.assert_close(torch.from_numpy(run(done.path, x)["scores"]), wanted, rtol=1e-4, atol=1e-5)


def test_nothing_else_is_replaced(tmp_path):
    """Only a regular .onnx file, and that only if it is said: no other file, no link, no device and no pipe."""
    target = tmp_path / "net.onnx"
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "link.onnx").symlink_to(tmp_path / "pipe.onnx")
    (tmp_path / "dangling.onnx").symlink_to(tmp_path / "nowhere")
    for name in ("net.onnx", "weights.pt", "no_ending"):
        (tmp_path / name).write_bytes(b"mine")
    refused = {
        "net.onnx": "is there already: --force",
        "weights.pt": "a name that ends in .onnx",
        "no_ending": "a name that ends in .onnx",
        "pipe.onnx": "is no regular file",
        "link.onnx": "is no regular file",
        "dangling.onnx": "is no regular file",
    }
    before = {path.name: path.lstat().st_ino for path in tmp_path.iterdir()}
    for name, message in refused.items():
        for overwrite in (False, True) if name != "net.onnx" else (False,):
            with pytest.raises((ValueError, OSError), match=message):
                export_onnx(small(), tmp_path / name, (1, 3, 3), overwrite=overwrite)
    assert {path.name: path.lstat().st_ino for path in tmp_path.iterdir()} == before
    assert target.read_bytes() == b"mine"
    export_onnx(small(), target, (1, 3, 3), overwrite=True)
    assert run(target, torch.rand(2, 1, 3, 3))["scores"].shape == (2, 3)


class _Saved:
    """A program that writes what it is told."""

    def __init__(self, data):
        self.data = data

    def save(self, path, external_data):
        path.write_bytes(self.data)


class _Odd(Model):
    """A network whose forward is a function of one's choice."""

    def __init__(self, function):
        super().__init__(loss=nn.Identity())
        self.function = function

    def forward(self, x, record="none"):
        return self.function(x)


def test_mistakes_are_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        export_onnx(small(), tmp_path / "nowhere" / "net.onnx", (1, 3, 3))
    with pytest.raises(IsADirectoryError, match="is a directory"):
        export_onnx(small(), tmp_path, (1, 3, 3))
    to = partial(export_onnx, path=tmp_path / "net.onnx", image_shape=(1, 3, 3))
    with pytest.raises(ExportError, match="_Odd returns a Tensor: a Parse is needed"):
        to(_Odd(lambda x: x.flatten(1)))
    with pytest.raises(ExportError, match="of random images is not finite"):
        to(small(scale=float("nan")))
    with pytest.raises(ExportError, match="torch cannot write this _Odd as ONNX"):
        to(_Odd(lambda x: Parse(x.flatten(1) * (1.0 if x.sum().item() > 0 else 2.0), [], [], [])))
    monkeypatch.setattr(export, "MOST_BYTES", 8)
    with pytest.raises(ExportError, match="a single ONNX file holds at most 2"):
        to(small())
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ExportError, match=r"needs onnxruntime: pip install 'torchcaps\[export\]'"):
        to(small())
    assert not list(tmp_path.iterdir())
