"""What issue 5 asks for: the least that must be shown, and the figure to try for."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.measure import Ratio, memory_ratio, ratio
from benchmarks.speed import layers, networks
from benchmarks.speed.result import OURS, TEXTBOOK, Mode, Run


class Target(NamedTuple):
    """One figure of the issue: how many times as much `base` takes as `candidate`."""

    part: str
    workload: str
    mode: Mode
    must: float
    aim: float
    base: str = TEXTBOOK
    candidate: str = OURS
    of: str = "time"


class Finding(NamedTuple):
    """A target, what was measured, and what that means."""

    target: Target
    found: Ratio
    verdict: str


TARGETS = [
    Target(layers.PART, "dynamic, FC 1152→10", "train", 12, 25),
    Target(layers.PART, "dynamic, FC 1152→10", "inference", 22, 40),
    Target(layers.PART, "dynamic, FC 2048→100", "train", 8, 15),
    Target(layers.PART, "dynamic, FC 2048→100", "inference", 16, 30),
    Target(layers.PART, "em, conv 3×3", "train", 30, 60),
    Target(layers.PART, "em, conv 3×3", "inference", 40, 75),
    Target(layers.PART, "inverted_attention, conv 3×3", "train", 18, 35),
    Target(layers.PART, "inverted_attention, conv 3×3", "inference", 32, 60),
    Target(networks.PART, "tsai2020/inverted_simple", "train", 25, 45),
    Target(networks.PART, "tsai2020/inverted_simple", "inference", 55, 90),
    Target(networks.PART, "sabour2017/capsnet", "train", 1.5, 1.75),
    Target(networks.PART, "sabour2017/capsnet, bf16", "train", 2.6, 3.5, candidate=networks.BF16),
    Target(networks.PART, "sabour2017/capsnet, bf16", "inference", 3.2, 5, candidate=networks.BF16),
    Target(layers.PART, "dynamic, FC 1152→10", "train", 12, 30, of="memory"),
    Target(layers.PART, "em, conv 3×3", "train", 50, 100, of="memory"),
    Target(layers.PART, "inverted_attention, conv 3×3", "train", 20, 50, of="memory"),
    Target(layers.PART, "uniform, FC 1152→10", "train", 0.80, 0.95, base=layers.GEMM, of="share"),
    Target(layers.PART, "uniform, FC 1152→10", "inference", 0.80, 0.95, base=layers.GEMM, of="share"),
    Target(layers.PART, "trainable, FC 1152→10", "train", 0.65, 0.90, base=layers.GEMM, of="share"),
    Target(layers.PART, "trainable, FC 1152→10", "inference", 0.65, 0.90, base=layers.GEMM, of="share"),
    Target(layers.PART, "dynamic, FC 1152→10", "train", 4, 5, candidate=layers.PLAIN),
    Target(layers.PART, "dynamic, FC 1152→10", "inference", 4.5, 10, candidate=layers.PLAIN),
]


def findings(run: Run) -> Iterator[Finding]:
    """Every target that the run has figures for."""
    for target in TARGETS:
        for row in run.find(target.part, target.workload, target.mode):
            if not {target.base, target.candidate} <= row.costs.keys():
                continue
            base, candidate = row.costs[target.base], row.costs[target.candidate]
            found = ratio(base, candidate)
            if target.of == "memory":
                memory = memory_ratio(base, candidate)
                if memory is None:
                    continue
                found = Ratio(memory, memory, memory)
            yield Finding(target, found, verdict(target, found.value, run.machine))


def verdict(target: Target, value: float, machine: dict[str, Any]) -> str:
    """Whether a target is held; a processor without AVX-512, or bf16, can hold it but not fail it."""
    if machine["quick"]:
        return "quick run, no measurement"
    if value >= target.aim:
        return "held, the second figure too"
    if value >= target.must:
        return "held"
    if not machine["avx512"]:
        return "reported (no AVX-512)"
    return "not held" if machine["bf16"] else "reported (no bf16)"
