"""What issues 5 and 18 ask for: the least that must be shown, by the processor at hand, and the figure to try for."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.measure import Ratio, memory_ratio, ratio
from benchmarks.speed import gemm, layers, networks, scaling
from benchmarks.speed.result import OURS, TEXTBOOK, Mode, Row, Run

NOT_SLOWER = 0.97  # an interval that lies below this wholly is slower than the textbook


class Must(NamedTuple):
    """The least on a processor with AVX-512, and on one with AVX2 alone."""

    avx512: float
    avx2: float


class Target(NamedTuple):
    """One figure of an issue: how many times as much `base` takes as `candidate`.

    Args:
        of: "time"; "memory"; "share" of the base's speed; or "peak", the share of its operations a second.
    """

    part: str
    workload: str
    mode: Mode
    must: Must
    aim: float
    base: str = TEXTBOOK
    candidate: str = OURS
    of: str = "time"

    def least(self, machine: dict[str, Any]) -> float:
        """What the processor must show."""
        return self.must.avx512 if machine["avx512"] else self.must.avx2


class Finding(NamedTuple):
    """A target, the figure that is due here, what was measured, and what that means."""

    target: Target
    must: float
    found: Ratio
    verdict: str


def both(
    part: str, workload: str, train: tuple[Must, float], inference: tuple[Must, float], **options: str
) -> list[Target]:
    """Training and inference, each what must be and what to try for."""
    return [
        Target(part, workload, "train", *train, **options),
        Target(part, workload, "inference", *inference, **options),
    ]


def same(value: float) -> Must:
    """The same for every processor."""
    return Must(value, value)


PEAK = {"base": gemm.LIMIT, "candidate": "attend", "of": "peak"}
SHARE = {"base": layers.GEMM, "of": "share"}
TARGETS = [
    *both(networks.PART, "sabour2017/capsnet", (Must(2.0, 1.8), 2.6), (Must(1.7, 1.6), 2.5)),
    *both(networks.PART, "gu2021/capsnet", (Must(1.8, 1.7), 2.6), (Must(1.6, 1.5), 2.2)),
    *both(networks.PART, "sabour2017/capsnet, bf16", (same(2.6), 3.5), (same(3.2), 5), candidate=networks.BF16),
    *both(networks.PART, "tsai2020/inverted_simple", (same(25), 45), (same(55), 90)),
    *both(layers.PART, "dynamic, FC 1152→10", (same(16), 25), (Must(28, 22), 40)),
    *both(layers.PART, "dynamic, FC 2048→100", (Must(14, 11), 20), (Must(18, 20), 35)),
    *both(layers.PART, "em, conv 3×3", (Must(28, 30), 60), (Must(32, 45), 75)),
    *both(layers.PART, "inverted_attention, conv 3×3", (Must(20, 24), 35), (Must(35, 36), 60)),
    *(
        target
        for name in gemm.SHAPES
        for target in (
            Target(gemm.PART, name, "inference", Must(0.45, 0.60), 0.65, **PEAK),
            Target(gemm.PART, name, "train", Must(0.40, 0.50), 0.60, **PEAK),
        )
    ),
    *both(layers.PART, "trainable, FC 1152→10", (Must(0.65, 0.75), 0.90), (Must(0.72, 0.78), 0.90), **SHARE),
    *both(layers.PART, "uniform, FC 1152→10", (same(0.80), 0.95), (same(0.80), 0.95), **SHARE),
    *(Target(scaling.PART, f"dimension {d}", "train", same(2.5), 5) for d in (32, 64)),
    *(Target(networks.MODELS, f"tsai2020/diverse_{kind}", "train", same(1.8), 4) for kind in ("vector", "dynamic")),
    *both(scaling.PART, "batch 1", (same(1), 2), (same(1), 2)),
    *both(scaling.PART, "batch 8", (same(1.3), 2), (same(1.5), 2)),
    *both(networks.MODELS, "mitterreiter2023/capsnet", (same(1.1), 1.5), (same(1.1), 1.5)),
    *both(networks.MODELS, "peer2021/sign", (same(1.1), 1.5), (same(1.1), 1.5)),
    Target(layers.PART, "dynamic, FC 1152→10", "train", same(12), 30, of="memory"),
    Target(layers.PART, "em, conv 3×3", "train", same(50), 100, of="memory"),
    Target(layers.PART, "inverted_attention, conv 3×3", "train", same(20), 50, of="memory"),
    *both(layers.PART, "dynamic, FC 1152→10", (same(4), 5), (same(4.5), 10), candidate=layers.PLAIN),
]


def findings(run: Run) -> Iterator[Finding]:
    """Every target that the run has figures for; those of bf16 only where the processor has it."""
    for target in TARGETS:
        if target.candidate == networks.BF16 and not run.machine["bf16"]:
            continue
        for row in run.find(target.part, target.workload, target.mode):
            found = measured(target, row)
            if found is not None:
                told = verdict(target, found.value, run.machine)
                if told == "not held" and networks.FREE in row.costs:
                    limit = ratio(row.costs[target.base], row.costs[networks.FREE]).value
                    told += f"; ×{limit:.2f} if routing took no time"
                yield Finding(target, target.least(run.machine), found, told)


def measured(target: Target, row: Row) -> Ratio | None:
    """A row's figure for a target, if it has one."""
    if not {target.base, target.candidate} <= row.costs.keys():
        return None
    base, candidate = row.costs[target.base], row.costs[target.candidate]
    if target.of == "memory":
        memory = memory_ratio(base, candidate)
        return None if memory is None else Ratio(memory, memory, memory)
    found = ratio(base, candidate)
    if target.of == "peak":
        share = row.notes["flops"] / row.notes["limit_flops"]
        found = Ratio(*(value * share for value in found))
    return found


def verdict(target: Target, value: float, machine: dict[str, Any]) -> str:
    """Whether a target is held on the processor at hand."""
    if machine["quick"]:
        return "quick run, no measurement"
    if value >= target.aim:
        return "both targets met"
    return "held" if value >= target.least(machine) else "not held"


def slower(run: Run) -> list[tuple[Row, Ratio]]:
    """The workloads that are slower than the textbook: no value of their interval is near one."""
    pairs = [
        (row, ratio(row.costs[TEXTBOOK], row.costs[OURS])) for row in run.rows if {TEXTBOOK, OURS} <= row.costs.keys()
    ]
    return [(row, found) for row, found in pairs if found.high < NOT_SLOWER]
