"""Compile every kernel for cards that are not here: registers, spilled registers and shared memory, as a table.

    python -m benchmarks.gpu.kernels [--archs sm_80 …] [--match PATTERN …] [--json FILE] [--few]

The passes run on tensors without memory, and each launch is compiled as Triton's own launcher would for that card. A
run goes on where one was stopped; `--few` compiles a handful, for the tests.
"""

import argparse
import fnmatch
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # as it was before Triton asked

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget

from benchmarks.gpu.cards import ARCHS, Arch
from benchmarks.gpu.cases import ALL, KINDS, Case, keys
from torchcaps.ops.triton import _launch
from torchcaps.ops.triton._launch import Call


def call_of(case: Case, arch: Arch) -> Call:
    """A backward call with tensors that have no memory; a forward one does not look at the gradients in it."""
    s, kind, options = ALL[case.shape], KINDS[case.kind], case.options

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


if __name__ == "__main__":
    main()
