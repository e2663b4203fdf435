"""What every measure promises: of every routing, connected or convolutional, and of a network without capsules."""

import inspect
import json

import matplotlib as mpl
import pytest
import torch
from torch import nn

from tests.contracts.networks import CLASSES, GRID, D, N, build
from torchcaps import measures
from torchcaps.data import Stored
from torchcaps.measures import (
    MEASURES,
    SWEEPS,
    Nothing,
    ParseTree,
    Result,
    Starvation,
    Table,
    figure,
    swept,
    walk,
)
from torchcaps.network import ConvNet
from torchcaps.routing import ROUTINGS
from torchcaps.types import Capsules, Parse

mpl.use("Agg")
COUNT = 12


@pytest.fixture(scope="module")
def data():
    images = torch.randint(0, 256, (COUNT, N * D, *GRID), dtype=torch.uint8, generator=torch.Generator().manual_seed(2))
    return Stored(images, torch.arange(COUNT) % CLASSES, [str(k) for k in range(CLASSES)])


def measured(net, data, batch_size=256):
    """The result of every measure by name, each with the way of looking that it needs."""
    still = {**MEASURES, "parse_tree": ParseTree}
    found = dict(zip(still, walk(net, data, [make() for make in still.values()], batch_size=batch_size), strict=True))
    shown = swept(count=3)(net, data)
    found |= zip(
        SWEEPS, walk(net, shown, [make() for make in SWEEPS.values()], batch_size=10 * batch_size), strict=True
    )
    watch = Starvation(every=1, images=8)
    watch.begin(Training(net, data, 0))
    watch.after_step(Training(net, data, 1))
    return {**found, "starvation": watch.result()}


class Training:
    """As much of a training as a callback sees."""

    def __init__(self, net, data, step):
        self.model, self.step = net, step
        self.splits = type("Splits", (), {"train": data, "validation": None})


def check(result):
    """It is small and plain, prints, and goes to JSON and back without losing anything."""
    stored = json.loads(json.dumps(result.to_json(), allow_nan=False))
    again = Result.from_json(stored)
    assert again.to_json() == stored
    assert again == result
    table = result.table()
    assert isinstance(table, Table)
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert str(result)


@pytest.mark.parametrize("connection", ["connected", "convolutional"])
@pytest.mark.parametrize("routing", ROUTINGS)
def test_every_measure_of_every_routing(routing, connection, data):
    net = build(routing, connection=connection).double().train()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    found = measured(net, data)
    assert all(module.training for module in net.modules())
    assert all(torch.equal(before[key], value) for key, value in net.state_dict().items())
    assert all(p.grad is None for p in net.parameters())
    again = measured(net, data, batch_size=5)
    for name, result in found.items():
        check(result)
        near(result.to_json(), again[name].to_json())
    algorithm = net.layers[0].routing
    empty = {name for name, result in found.items() if isinstance(result, Nothing)}
    without = {"activity", "invariance"} if not algorithm.activates else set()
    assert empty == without | ({"dynamics"} if not algorithm.competes else set())


def near(one, other):
    """Equal but for the last digits, wherever the numbers are."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            near(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            near(a, b)
    else:
        assert one == (pytest.approx(other, rel=1e-6, abs=1e-9) if isinstance(one, float) else other)


def test_a_network_without_capsules(data):
    """It says that there is nothing to measure, and why; what needs no capsules is measured."""
    found = measured(ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(N * D * GRID[0] * GRID[1], CLASSES))), data)
    for result in found.values():
        check(result)
    empty = {name: result.why for name, result in found.items() if isinstance(result, Nothing)}
    assert set(empty) == {"activity", "dynamics", "invariance", "parse_tree", "starvation", "compactness"}
    assert all("capsule" in why for why in empty.values())


def test_every_kind_of_result_is_drawn(data):
    """In light and in dark, every panel with a title, and everything inside the picture."""
    net = build("dynamic")
    drawn = list(measured(net, data).values())
    drawn += [
        measures.onset([{"event": "step", "epoch": 0, "step": k, "accuracy": 0.1 * k} for k in range(1, 9)], 10),
        measures.complexity((4, 8), (4, 8), batch=1, seconds=0.001),
        measures.iterations(
            lambda t: build("dynamic"), data.batch(torch.arange(2)).images, counts=(1, 2), seconds=0.001
        ),
        Nothing("activity", "there are no capsules"),
    ]
    results = {k for k in vars(measures).values() if inspect.isclass(k) and issubclass(k, Result)} - {Result}
    assert {type(result) for result in drawn} == results
    for result in drawn:
        check(result)
        for dark in (False, True):
            page = figure(result, dark=dark)
            page.canvas.draw()
            panels = page.axes[: result.panels]
            assert all(axes.get_title() for axes in panels) or isinstance(result, Nothing)
            assert len(page.axes) >= result.panels


def test_units_grouped_by_class_are_measured_as_capsules(data):
    """A network that is no capsule network but has class capsules for a decoder (gu2021, ConvNet-CR)."""

    class Grouped(ConvNet):
        def forward(self, x, record="none"):
            units = self.body(x)
            pose = units.reshape(len(x), 1, 1, CLASSES, 4)
            return Parse(pose[:, 0, 0].sum(-1), [Capsules(pose, pose.sum(-1))], [], [])

    net = Grouped(nn.Sequential(nn.Flatten(), nn.Linear(N * D * GRID[0] * GRID[1], CLASSES * 4)))
    found = measured(net, data)
    assert found["compactness"].dims == 4
    assert isinstance(found["activity"], Nothing)
