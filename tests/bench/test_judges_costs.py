"""Judges of time, memory and size: clocks and costs are scripted, units and counts are known."""

import pytest
import torch

from tests.bench.judged import module_of, subject, values
from torchcaps.bench.judges import JUDGES
from torchcaps.bench.subject import Subject
from torchcaps.losses import MarginLoss
from torchcaps.measures import IterationsResult
from torchcaps.measures._cost import Cost
from torchcaps.measures.iterations import Iteration
from torchcaps.network import Model
from torchcaps.types import Parse


class Clock:
    """Time that passes only when somebody takes it."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def take(self, seconds):
        self.now += seconds


class Timed(Model):
    """A network of one number whose passes take as long as a test says, from round to round."""

    def __init__(self, clock, forward, backward):
        super().__init__(loss=MarginLoss())
        self.number = torch.nn.Parameter(torch.tensor(0.5))
        self.clock, self.forwards, self.learned = clock, iter(forward), 0
        self.number.register_hook(lambda _: self._learn(backward))

    def _learn(self, seconds):
        self.learned += 1
        self.clock.take(seconds)

    def forward(self, x, record="none"):
        self.clock.take(next(self.forwards))
        return Parse(self.number.expand(len(x), 10), [], [], [])


def builder(monkeypatch, judge, nets):
    """Lets a judge have these networks, one after the other, and gives what it asked for."""
    asked, left = [], list(nets)

    def create_model(name, **options):
        asked.append((name, options))
        return left.pop(0)

    monkeypatch.setattr(module_of(judge), "create_model", create_model)
    return asked


def test_cost_is_in_milliseconds_and_megabytes_of_whole_steps(monkeypatch):
    net, calls = Timed(Clock(), [0.0] * 5, 0.0), []

    def cost_of(step, *, seconds):
        calls.append(seconds)
        step()
        return Cost(0.25, 3 << 20)

    monkeypatch.setattr(module_of("cost"), "cost_of", cost_of)
    asked = builder(monkeypatch, "cost", [net])
    found = JUDGES["cost"](
        Subject(0), model="gu2021/capsnet", options={"image_size": 28}, width=0.5, batch=2, seconds=7.0
    )
    assert values(found) == {"ms": 250.0, "megabytes": 3.0, "parameters": 1e-6}
    assert asked == [("gu2021/capsnet", {"width": 0.5, "image_size": 28})]
    assert (net.learned, net.number.grad, calls) == (1, None, [7.0])


def test_step_time_is_the_ratio_of_the_least_times_of_whole_steps(monkeypatch):
    clock = Clock()
    own, other = Timed(clock, [3.0, 1.0, 2.0], 2.0), Timed(clock, [5.0, 1.25, 9.0], 0.25)
    monkeypatch.setattr(module_of("step_time"), "time", clock)
    asked = builder(monkeypatch, "step_time", [own, other])
    found = JUDGES["step_time"](Subject(0), model="chen2019/fc_gcaps", against="uniform", width=0.5, rounds=3, batch=2)
    assert values(found) == {"ratio": 2.0, "ms": 3000.0}  # 1 + 2 seconds over 1.25 + 0.25
    assert asked == [("chen2019/fc_gcaps", {"width": 0.5}), ("chen2019/fc_gcaps", {"width": 0.5, "routing": "uniform"})]


def test_iterations_are_those_asked_for_and_their_costs_told_by_name(monkeypatch):
    asked = builder(monkeypatch, "iterations", [Timed(Clock(), [], 0.0) for _ in range(3)])

    def measured(build, images, *, seconds):
        assert (tuple(images.shape), seconds) == ((4, 3, 32, 32), 0.125)
        for count in (1, 2, 5):
            build(count)
        return IterationsResult(4, tuple(Iteration(k, 0.5 * k, k << 20, 9.0, (10 + k) << 20) for k in (1, 2)))

    monkeypatch.setattr(module_of("iterations"), "measured", measured)
    net = Timed(Clock(), [], 0.0)
    net.recipe = {"options": {"in_chans": 3, "image_size": 32}}
    own = subject(net, data="cifar10", options={"iters": 4, "width": 0.5})
    found = JUDGES["iterations"](own, batch=4, seconds=0.125)
    assert values(found) == {"ms/1": 500.0, "ms/2": 1000.0, "megabytes/1": 11.0, "megabytes/2": 12.0}
    assert [options for _, options in asked] == [{"iters": k, "width": 0.5} for k in (1, 2, 5)]


def test_layers_of_the_multi_layer_network_are_counted_as_the_supplement_prints_them():
    found = values(JUDGES["layer_sizes"](Subject(0), model="chen2019/multi_gcaps"))
    assert found == {
        "convolution 1": 9_408, "convolution 2": 401_408, "transform 1": 131_072, "routing 1": 56_448,
        "transform 2": 4_608, "routing 2": 10_368, "transform 3": 92_160, "routing 3": 11_520, "total": 716_992,
    }  # fmt: skip


@pytest.mark.parametrize("narrow", [{}, {"conv_width": 0.125}, {"width": 0.25, "conv_width": 0.5}])
def test_parameters_are_those_at_full_size_for_each_number_of_classes(narrow):
    own = subject(name="tsai2020/resnet18", data="cifar10", options=narrow)
    assert values(JUDGES["parameters"](own, classes=(10, 100))) == {
        "parameters/10": 11_173_962,
        "parameters/100": 11_220_132,
    }
    quarter = JUDGES["parameters"](own, classes=(100,), share=0.25, on="quarter")
    assert values(quarter) == {"quarter/100": 11_220_132 / 4}


def test_the_course_of_a_training_is_its_mean_and_its_drops():
    curve = [0.1, 0.5, 0.4, 0.6]
    history = [{"step": 10 * k, "validation_accuracy": value} for k, value in enumerate(curve)]
    found = JUDGES["course"](subject(history=[{"step": 5, "loss": 0.3}, *history]))
    assert values(found) == {
        "mean validation": pytest.approx(0.4),
        "validation": 0.6,
        "jitter": pytest.approx(0.1 / 3),
    }
    assert found.details == {"course": [(0, 0.1), (10, 0.5), (20, 0.4), (30, 0.6)]}
    assert values(JUDGES["course"](subject(history=history[:1])))["jitter"] == 0
    with pytest.raises(ValueError, match="no validation accuracies"):
        JUDGES["course"](subject(history=[{"step": 5, "loss": 0.3}]))


def test_onset_is_the_share_of_the_steps_before_learning_starts(tmp_path):
    def log(*accuracies):
        lines = [
            f'{{"event": "step", "epoch": {k}, "step": {k + 1}, "accuracy": {a}}}' for k, a in enumerate(accuracies)
        ]
        (tmp_path / "log.jsonl").write_text("\n".join(lines))
        return subject(folder=tmp_path)

    late = [0.0] * 10 + [1.0] * 30  # after t steps (t − 10)/t: above 0.2 from 13 on, above 0.55 from 23 on
    assert values(JUDGES["onset"](log(*late))) == {"onset": 13 / 40}
    assert values(JUDGES["onset"](log(*late), classes=2)) == {"onset": 23 / 40}
    assert JUDGES["onset"](log(0.0, 0.25)).details == {"curve": [[1, 0.0], [2, 0.125]]}
    assert values(JUDGES["onset"](log(*[0.1] * 40))) == {"onset": 1.0}
    assert values(JUDGES["onset"](log())) == {"onset": None}
