"""The tables of the report, one function each; an empty text where a run has nothing to say."""

from collections.abc import Callable, Sequence

from benchmarks.measure import INTERVAL, Cost, Ratio, memory_ratio, ratio
from benchmarks.speed import gemm, layers, networks, scaling
from benchmarks.speed.result import OURS, TEXTBOOK, Mode, Row, Run
from benchmarks.speed.targets import NOT_SLOWER, Finding, findings, slower

MODES: tuple[Mode, ...] = ("train", "inference")
TIME, MEMORY, SHARE = "×", "÷", "%"
OF = {"time": TIME, "memory": MEMORY, "share": SHARE, "peak": SHARE}


def table(title: str, text: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A section with a table; nothing without rows."""
    if not rows:
        return ""
    lines = [f"## {title}\n", *([f"{text}\n"] if text else [])]
    lines += [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """As many digits as are worth reading."""
    digits = 2 if value < 2 else 1 if value < 100 else 0
    return f"{value:.{digits}f}".removesuffix(".0")


def figure(value: float, sign: str) -> str:
    """A ratio of times or memory, or a share."""
    return f"{value:.0%}" if sign == SHARE else f"{sign}{number(value)}"


def shown(found: Ratio, sign: str = TIME) -> str:
    """A ratio and its interval."""
    low, high = (figure(bound, sign).strip("×÷%") for bound in (found.low, found.high))
    return f"{figure(found.value, sign)} ({low}–{high})"


def against(row: Row | None, base: str = TEXTBOOK, candidate: str = OURS, sign: str = TIME) -> str:
    """A row's ratio, where both candidates ran."""
    if row is None or not {base, candidate} <= row.costs.keys():
        return "–"
    return shown(ratio(row.costs[base], row.costs[candidate]), sign)


def milliseconds(row: Row | None, name: str) -> str:
    return "–" if row is None or name not in row.costs else number(row.costs[name].seconds * 1e3)


def memory(row: Row | None, candidate: str = OURS) -> str:
    """The textbook's peak over a candidate's, and both in megabytes."""
    if row is None or not {TEXTBOOK, candidate} <= row.costs.keys():
        return "–"
    base, mine = row.costs[TEXTBOOK], row.costs[candidate]
    times = memory_ratio(base, mine)
    return "–" if times is None else f"{figure(times, MEMORY)} ({base.megabytes:.0f} → {mine.megabytes:.0f} MB)"


def by_mode(run: Run, part: str) -> dict[str, dict[Mode, Row]]:
    """For each workload of a part its rows, in the order of the run."""
    found: dict[str, dict[Mode, Row]] = {}
    for row in run.find(part):
        found.setdefault(row.workload, {})[row.mode] = row
    return found


def targets(run: Run) -> str:
    rows = [_target(finding) for finding in findings(run)]
    text = (
        "What was set as a goal on two threads: the figure that must be shown by a processor like this one, and the "
        "one to try for. Goals for bf16 are due where the processor has it."
    )
    header = ("workload", "of", "measured", "must", "try for", "")
    return table("Goals", text, header, rows)


def _target(finding: Finding) -> list[str]:
    target, must, found, verdict = finding
    sign = OF[target.of]
    what = {
        "time": target.mode,
        "memory": "peak memory",
        "share": f"share of the GEMM's speed, {target.mode}",
        "peak": f"share of the GEMM peak, {'forward' if target.mode == 'inference' else 'backward'}",
    }[target.of]
    name = target.workload + (f", {target.candidate}" if target.candidate == layers.PLAIN else "")
    measured = figure(found.value, sign) if target.of == "memory" else shown(found, sign)
    goals = [f"{goal:.0%}" if sign == SHARE else f"{sign}{goal:g}" for goal in (must, target.aim)]
    return [name, what, measured, *goals, verdict]


def not_faster(run: Run) -> str:
    """What is slower than the textbook, said also where nothing is."""
    rows = [[row.workload, row.part, row.mode, shown(found)] for row, found in slower(run)]
    title, bound = "Slower than the textbook", f"{INTERVAL[0]}–{INTERVAL[1]} % interval wholly below {NOT_SLOWER}"
    if not rows:
        return f"## {title}\n\nNo workload of this run has a {bound}.\n"
    return table(title, f"Workloads with a {bound}.", ("workload", "part", "", "ratio"), rows)


def one_layer(run: Run) -> str:
    rows = []
    for workload, modes in by_mode(run, layers.PART).items():
        train, inference = modes.get("train"), modes.get("inference")
        took = f"{milliseconds(train, OURS)} / {milliseconds(inference, OURS)}"
        rows.append([workload, against(train), against(inference), memory(train), took])
    text = (
        "FC: 1152 capsules of 8 to 10 of 16, batch 128; 2048 to 100, batch 32. "
        "Conv: 3×3 windows, stride 2, over 16×16×32 capsules of 4×4, 32 types of parents, batch 8."
    )
    header = ("routing", "train", "inference", "peak memory, train", "ms of torchcaps, train / inference")
    return table("One layer", text, header, rows)


def beside(run: Run) -> str:
    """The plain passes and the GEMM, which ran in the same rounds."""
    rows = []
    for workload, modes in by_mode(run, layers.PART).items():
        train, inference = modes.get("train"), modes.get("inference")
        for title, base, candidate, sign in (
            ("plain torch against the textbook", TEXTBOOK, layers.PLAIN, TIME),
            ("share of the speed of one GEMM", layers.GEMM, OURS, SHARE),
        ):
            cells = [against(row, base, candidate, sign) for row in (train, inference)]
            if cells != ["–", "–"]:
                rows.append([workload, title, *cells])
    text = (
        "Where there is no compiler the passes run in plain torch. Uniform and trainable couplings fold into one "
        "matmul; the GEMM is that matmul alone, in training with the two of its gradients."
    )
    return table("Plain torch, and the GEMM below", text, ("workload", "", "train", "inference"), rows)


def whole(run: Run) -> str:
    rows = []
    for workload, modes in by_mode(run, networks.PART).items():
        train, inference = modes.get("train"), modes.get("inference")
        name = networks.BF16 if workload.endswith(", bf16") else OURS
        batch = next(row.notes["batch"] for row in modes.values())
        ratios = [against(row, candidate=name) for row in (train, inference)]
        rows.append([workload, str(batch), *ratios, memory(train, name)])
    text = (
        "The twin of a network shares its parameters, builds all votes and computes every update. Always against "
        "single precision; bf16 is autocast, convolutions and decoder in bf16, routing in single precision. "
        "Convolutions of ours go through the frequency domain where that is faster, those of 3×3 by Winograd's way; "
        "the twin's never."
    )
    if not run.machine["bf16"]:
        text += " This processor only emulates bf16, which is slow and tells nothing about one that has it."
    return table("Whole networks", text, ("network", "batch", "train", "inference", "peak memory, train"), rows)


def models(run: Run) -> str:
    rows = []
    for name, modes in by_mode(run, networks.MODELS).items():
        found = [modes.get(mode) for mode in MODES]
        rows.append([f"`{name}`", *(_rate(row) for row in found), *(against(row) for row in found)])
    text = (
        "Images a second at the paper's image size, batch 8, and against the textbook where the network has capsules "
        "and its votes tensor fits a gigabyte."
    )
    header = ("model", "train, images/s", "inference, images/s", "train", "inference")
    return table("Every paper's model", text, header, rows)


def _rate(row: Row | None) -> str:
    return "–" if row is None else f"{row.notes['batch'] / row.costs[OURS].seconds:,.0f}"


def growth(run: Run) -> str:
    rows = []
    for modes in by_mode(run, scaling.PART).values():
        found = [modes.get(mode) for mode in MODES]
        notes = next(row.notes for row in found if row is not None)
        times = [f"{milliseconds(row, TEXTBOOK)} → {milliseconds(row, OURS)}" for row in found]
        pairs = [cell for time, row in zip(times, found, strict=True) for cell in (time, against(row))]
        rows.append([notes["axis"], str(notes["value"]), *pairs])
    base = ", ".join(f"{value} {name}" for name, value in scaling.BASE.items() if name not in ("dimension", "batch"))
    text = (
        f"Dynamic routing, fully connected. The axes that stand still have {base}, poses of "
        f"{scaling.BASE['dimension']} below and above, and a batch of {scaling.BASE['batch']}."
    )
    header = ("axis", "", "train, ms", "ratio", "inference, ms", "ratio")
    return table("How time grows", text, header, rows)


def peak(run: Run, passes: str = "native") -> str:
    rows = []
    for row in run.find(gemm.PART):
        limit = _rate_of(row.costs[gemm.LIMIT], row.notes["limit_flops"])
        reached = _rate_of(row.costs[gemm.PASS], row.notes["flops"])
        rows.append([row.workload, row.notes["pass"], f"{reached:.0f}", f"{limit:.0f}", f"{reached / limit:.0%}"])
    text = (
        f"The {passes} `attend`, its arithmetic counted without the softmax's exponentials, beside a large square "
        "matmul in the same rounds."
    )
    if passes == "native":
        text += (
            " MKL, which multiplies for torch, uses half the vectors of AMD's processors with AVX-512: there a share "
            "may be above 100 %."
        )
    header = ("pass", "", "GFLOP/s", "GEMM, GFLOP/s", "share")
    return table("Share of the GEMM peak", text, header, rows)


def _rate_of(cost: Cost, flops: int) -> float:
    return flops / cost.seconds / 1e9


SECTIONS: list[Callable[[Run], str]] = [targets, not_faster, one_layer, beside, whole, models, growth, peak]
