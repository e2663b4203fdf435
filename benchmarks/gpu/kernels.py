"""Compile every kernel for cards that are not here: registers, spilled registers and shared memory, as a table.

    python -m benchmarks.gpu.kernels [--archs sm_80 …] [--match PATTERN …] [--json FILE] [--few]

The passes run on tensors without memory, and each launch is compiled as Triton's own launcher would for that card. A
run goes on where one was stopped; `--few` compiles a handful, for the tests.
"""

import argparse
import fnmatch
import itertools
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # as it was before Triton asked

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget

from benchmarks.gpu.cards import ARCHS, Arch
from torchcaps.ops.sizes import Sizes
from torchcaps.ops.triton import _launch
from torchcaps.ops.triton._launch import Call

SHAPES = {
    "FC 1152×8→10×16, batch 128": Sizes(1152, 8, 1, 128, 10, 16),
    "FC 1152×8→10×16, batch 1": Sizes(1152, 8, 1, 1, 10, 16),
    "FC 2048×8→100×16, batch 32": Sizes(2048, 8, 1, 32, 100, 16),
    "FC 512×16→10×16, batch 32": Sizes(512, 16, 1, 32, 10, 16),
    "conv 288×4×4→32×4×4, batch 8": Sizes(288, 4, 4, 392, 32, 4),
    "conv 72×8→8×8, batch 32": Sizes(72, 8, 1, 1152, 8, 8),
}
MANY = "FC 2048×8→100×16, batch 32"
ODD = {
    "FC 512×64→10×64, batch 32": Sizes(512, 64, 1, 32, 10, 64),
    "FC 30×100→3×100, batch 7": Sizes(30, 100, 1, 7, 3, 100),
    "conv 27×3×5→7×5×3, batch 5": Sizes(27, 3, 5, 45, 7, 3),
    "FC 6×1→2×1, batch 1000": Sizes(6, 1, 1, 1000, 2, 1),
    "FC 1×8→10×16, batch 1": Sizes(1, 8, 1, 1, 10, 16),
}
KINDS = {"float32": torch.float32, "TF32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Options(NamedTuple):
    """Which tensors a pass is given, and how it runs; "prior" says what it differs by: i, m, both or neither."""

    bias: bool = False
    query: bool = True
    precision: bool = False
    prior: str | None = None
    weight: bool = False
    detach: bool = False
    deterministic: bool = False


USUAL = {
    "attend": Options(),
    "moments": Options(query=False, precision=True, prior="m", weight=True),
}
VARIANTS = {
    "attend": [
        Options(bias=True, detach=True),
        Options(query=False, prior="im", weight=True),
        Options(prior="i"),
        Options(prior="m", deterministic=True),
        Options(prior="", bias=True, weight=True, deterministic=True),
    ],
    "moments": [
        Options(query=False, weight=True),
        Options(bias=True, precision=True, prior="im", deterministic=True),
        Options(query=True, prior="i"),
        Options(query=False, precision=True, prior="", bias=True),
    ],
}


class Case(NamedTuple):
    """A pass to compile, forward and backward."""

    operator: str
    shape: str
    kind: str
    options: Options


def cases() -> Iterator[Case]:
    """Usual calls, in single precision first; then other kinds of numbers, other calls and odd shapes."""
    for operator, usual in USUAL.items():
        for shape in SHAPES:
            yield Case(operator, shape, "float32", usual)
    for operator, usual in USUAL.items():
        for kind, shape in itertools.product(("TF32", "bfloat16", "float16"), list(SHAPES)[::2]):
            yield Case(operator, shape, kind, usual)
        for options, shape in zip(VARIANTS[operator], itertools.cycle(("FC 1152×8→10×16, batch 128", MANY))):
            yield Case(operator, shape, "float32", options)
        for shape in ODD:
            yield Case(operator, shape, "float32", usual)


FEW = {
    Case("moments", "FC 1152×8→10×16, batch 128", "float32", USUAL["moments"]): ("sm_75", "sm_90", "gfx942"),
    Case("attend", "FC 2048×8→100×16, batch 32", "bfloat16", USUAL["attend"]): ("sm_80", "gfx1100"),
}


def call_of(case: Case, arch: Arch) -> Call:
    """A backward call with tensors that have no memory; a forward one does not look at the gradients in it."""
    s, kind, options = (SHAPES | ODD)[case.shape], KINDS[case.kind], case.options

    def room(*shape: int, here: bool = True) -> Tensor | None:
        return torch.empty(*shape, dtype=kind, device="meta") if here else None

    moments, prior = case.operator == "moments", options.prior
    given = {
        "u": room(s.i, s.x, s.a, s.m),
        "w": room(s.i, s.x, s.j * s.y),
        "bias": room(s.j, s.y, s.a, 1, here=options.bias),
        "centre": room(*s.poses, here=moments),
        "query": room(*s.poses, here=options.query),
        "precision": room(*s.poses, here=options.precision),
        "prior": None if prior is None else room(s.i if "i" in prior else 1, s.j, s.m if "m" in prior else 1),
        "weight": room(s.i, s.m, here=options.weight),
        "g_mass": room(s.j, s.m),
        "g_first": room(*s.poses),
        "g_second": room(*s.poses, here=moments),
    }
    return Call(given, s, arch.target, options.detach)


def launches(case: Case, arch: Arch) -> dict[str, tuple[Any, ...]]:
    """Every kernel that a case runs, by name, with what it is given."""
    found = dict[str, tuple[Any, ...]]()

    def note(kernel: Any, how: Any, call: Call, *tensors: Tensor | None) -> None:
        name = kernel.__name__ + (" back" if kernel.__name__ == "scan" and tensors[-1] is not None else "")
        found[name] = (kernel, how, (*tensors, call.s.i, call.s.m, how.span, how.plan))

    torch.use_deterministic_algorithms(case.options.deterministic)
    torch.backends.cuda.matmul.allow_tf32 = case.kind == "TF32"
    with patch.object(_launch, "_run", note):
        call = call_of(case, arch)
        _launch.run_forward(call, second=case.operator == "moments")
        _launch.run_backward(call)
    torch.use_deterministic_algorithms(False)
    return found


class NoCard:
    """What Triton asks a driver before it compiles."""

    def __init__(self, arch: Arch) -> None:
        self.target = GPUTarget(arch.target.backend, arch.target.arch, arch.warp)

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> str:
        return str(self.target)

    def get_current_stream(self, device: str) -> int:
        return 0


def compiled(name: str, launch: tuple[Any, ...], arch: Arch) -> dict[str, int | str]:
    """A kernel as the launcher would compile it for a card, and what it takes there."""
    kernel, how, given = launch
    triton.runtime.driver.set_active(NoCard(arch))
    made = kernel.warmup(*given, grid=how.grid, **how.options)
    facts = _nvidia(made.asm["cubin"]) if arch.target.backend == "cuda" else _amd(made.asm["amdgcn"])
    p = how.plan
    block = f"{p.jb}×{p.yp}×{p.ap}×{p.bm}"
    return {"kernel": name, **facts, "shared": made.metadata.shared, "warps": made.metadata.num_warps, "tile": block}


def _nvidia(cubin: bytes) -> dict[str, int]:
    """Registers of a thread, and bytes that it spills to its stack."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        told = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True, check=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", told)
    assert found is not None, told
    return {"registers": int(found[1]), "spilled": int(found[2])}


def _amd(assembly: str) -> dict[str, int]:
    """Vector registers of a thread, and bytes that it spills to memory; scalar ones go to the lanes of a vector."""
    used, spilled = (int(re.findall(rf"\.{key}:\s*(\d+)", assembly)[0]) for key in ("vgpr_count", "vgpr_spill_count"))
    return {"registers": used, "spilled": 4 * spilled}


def read(path: Path) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """What was compiled, by card, pass, shape, kind of numbers and options."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {tuple(line["case"]): line["kernels"] for line in lines}


def keys(archs: Sequence[str], *, few: bool = False) -> Iterator[tuple[tuple[str, ...], Case]]:
    """Every case for every card, under the name of its line."""
    for case in FEW if few else cases():
        for arch in FEW[case] if few else archs:
            yield (arch, case.operator, case.shape, case.kind, _told(case.options)), case


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.kernels", description=__doc__.splitlines()[0])
    parser.add_argument("--archs", nargs="+", choices=list(ARCHS), default=list(ARCHS))
    parser.add_argument("--match", nargs="+", metavar="PATTERN", default=["*"], help="of operator, shape and kind")
    parser.add_argument("--json", type=Path, metavar="FILE", help="lines are added to it; those that it has are kept")
    parser.add_argument("--few", action="store_true")
    options = parser.parse_args()
    done = read(options.json) if options.json else {}
    begin = time.perf_counter()
    for key, case in keys(options.archs, few=options.few):
        if key in done or not any(fnmatch.fnmatch(" ".join(key[1:4]), pattern) for pattern in options.match):
            continue
        arch = ARCHS[key[0]]
        rows = [compiled(kernel, launch, arch) for kernel, launch in launches(case, arch).items()]
        if options.json:
            with options.json.open("a") as file:
                file.write(json.dumps({"case": key, "kernels": rows}, ensure_ascii=False) + "\n")
        for row in rows:
            good = not row["spilled"] and int(row["shared"]) <= arch.shared
            seconds = time.perf_counter() - begin
            print(f"[{seconds:5.0f} s] {'ok ' if good else 'BAD'} {' | '.join(key)}: {row}", flush=True)


def _told(options: Options) -> str:
    return ", ".join(f"{name}={value}" for name, value in options._asdict().items() if value not in (False, None))


if __name__ == "__main__":
    main()
