"""`torchcaps doctor`: what this machine offers, for a look before a question is asked."""

import json
import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

EXTRAS = {
    "train": ("lightning-fabric", "pooch", "scipy"),
    "bench": ("duckdb", "matplotlib", "jinja2"),
    "attacks": ("adversarial-robustness-toolbox",),
    "export": ("onnx", "onnxscript", "onnxruntime"),
    "ray": ("ray",),
    "sklearn": ("scikit-learn",),
    "slurm": ("submitit",),
    "track": ("tensorboard",),
}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show versions, processor, compiler and installed extras."""
    facts = findings()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in facts.items():
        table.add_row(Text(name, style="bold"), Text(value))
    Console().print(table)


def findings() -> dict[str, str]:
    """Everything the doctor looks at, by name."""
    import torch

    from torchcaps import ops

    facts = {
        "torchcaps": version("torchcaps"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, {os.cpu_count()} cores",
        "threads": str(torch.get_num_threads()),
        "accelerator": str(torch.accelerator.current_accelerator() or "none"),
        "compiler": shutil.which(os.environ.get("CXX", "c++")) or "none",
        "routing passes": ops.status(),
    }
    for extra, packages in EXTRAS.items():
        missing = [name for name in packages if not _installed(name)]
        advice = f"missing {', '.join(missing)}: pip install 'torchcaps[{extra}]'"
        facts[f"extra {extra}"] = advice if missing else "installed"
    return facts


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
