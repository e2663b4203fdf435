"""Costs told by a clock that a test sets: which run counts, of which network, forward or backward."""

import os
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from torchcaps.measures import complexity, iterations
from torchcaps.measures._contenders import Attention, Dense, Fused
from torchcaps.measures._cost import Cost, _peak, cost
from torchcaps.network import ConvNet
from torchcaps.types import Parse


def test_the_fastest_run_counts(monkeypatch):
    asked = []

    class Clock:
        def __init__(self, statement, **options):
            asked.append((statement, options["num_threads"]))

        def blocked_autorange(self, min_run_time):
            asked.append(min_run_time)
            return SimpleNamespace(times=[3.0, 1.0, 2.0])

    monkeypatch.setattr("torchcaps.measures._cost.Timer", Clock)
    assert cost(lambda: torch.zeros(1000), seconds=0.7) == Cost(1.0, 4000)
    assert asked == [("call()", 1), 0.7]


def test_the_terminal_is_heard_again(capfd):
    cost(lambda: torch.zeros(3), seconds=0.001)
    os.write(2, b"still here\n")
    assert capfd.readouterr().err.endswith("still here\n")


def test_on_a_card_the_peak_is_what_was_held_beyond_what_was_there(monkeypatch):
    """A card that is not here, and holds a thousand bytes of somebody else's."""
    held, said = {"now": 1000, "most": 9999}, []

    def call():
        said.append("call")
        held["most"] = max(held["most"], held["now"] + 500)

    def reset(device):
        said.append(device)
        held["most"] = held["now"]

    card = SimpleNamespace(
        synchronize=said.append,
        memory_allocated=lambda device: held["now"],
        max_memory_allocated=lambda device: held["most"],
        reset_peak_memory_stats=reset,
    )
    monkeypatch.setattr(torch, "cuda", card)
    assert _peak(call, "cuda:1") == 500
    assert said == ["cuda:1", "cuda:1", "call"], "what ran before is waited for and does not count"


class Asked(ConvNet):
    """Notes for how many iterations it was built, and whether it is asked with gradients."""

    def __init__(self, iters, seen):
        super().__init__(nn.Linear(1, 2))
        self.iters, self.seen = iters, seen

    def forward(self, x, record="none"):
        self.seen.append((self.iters, torch.is_grad_enabled()))
        return Parse(self.body(x[:, 0, 0]), [], [], [])


def test_iterations_are_measured_of_their_own_network(monkeypatch):
    seen, told = [], []

    def clock(call, *, device, seconds):
        seen.clear()
        call()
        [(iters, learns)] = seen
        return Cost(iters + 0.5 * learns, 1000 * iters + learns)

    monkeypatch.setattr(sys.modules["torchcaps.measures.iterations"], "cost", clock)
    found = iterations(
        lambda iters: Asked(iters, seen), torch.rand(4, 1, 1, 1), counts=(2, 5), progress=lambda *now: told.append(now)
    )
    assert [vars(point) for point in found.points] == [
        {"iterations": k, "seconds": k, "peak_bytes": 1000 * k, "training_seconds": k + 0.5,
         "training_peak_bytes": 1000 * k + 1}
        for k in (2, 5)
    ]  # fmt: skip
    assert (found.batch, told) == (4, [(1, 2), (2, 2)])


@pytest.fixture
def counted(monkeypatch):
    """A clock that counts multiply-adds instead of bytes."""

    def clock(call, *, device, seconds):
        with FlopCounterMode(display=False) as counter:
            call()
        return Cost(1.0, counter.get_total_flops() // 2)

    monkeypatch.setattr(sys.modules["torchcaps.measures.complexity"], "cost", clock)


@pytest.mark.usefixtures("counted")
def test_the_backward_pass_is_measured_where_it_is_asked_for():
    forward, both = (
        complexity((4, 6), (2, 3), batch=5, contenders=("MHSA",), backward=backward).contenders[0].points
        for backward in (False, True)
    )
    for once, twice in zip(forward, both, strict=True):
        assert once.multiply_adds == twice.multiply_adds == 2 * once.n**2 * once.d + 4 * once.n * once.d**2
        assert twice.peak_bytes > 1.5 * once.peak_bytes


def test_the_contenders():
    """Routing without biases, as the table counts; attention of each image to itself alone."""
    assert sum(p.numel() for p in Fused(6, 4).parameters()) == sum(p.numel() for p in Dense(6, 4).parameters()) == 576
    net, u = Attention(3, 4).eval(), torch.randn(2, 3, 4)
    assert sum(p.numel() for p in net.parameters()) == 4 * 4**2
    q, k, v = (u @ part for part in net.attention.in_proj_weight.T.chunk(3, -1))
    weights = torch.stack([(q[b] @ k[b].T / 2).softmax(-1) for b in range(2)])
    torch.testing.assert_close(net(u), weights @ v @ net.attention.out_proj.weight.T)
