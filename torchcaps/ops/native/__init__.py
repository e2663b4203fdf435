"""The passes in C++: built on first use with the machine's compiler, kept by source, torch and processor.

Without a compiler, or with `TORCHCAPS_NATIVE=0`, the plain passes serve, and one line says so. More flags for compiler
and linker are read from `TORCHCAPS_NATIVE_FLAGS`; `make sanitize` gives some.
"""

import hashlib
import logging
import os
import platform
import shutil
import sys
from functools import lru_cache
from pathlib import Path

import torch
from filelock import FileLock
from torch import Tensor

from torchcaps._paths import cache_home

HERE = Path(__file__).parent
SOURCES = ("attend.cpp", "moments.cpp")
HEADERS = ("lanes.h", "votes.h")
# Never -ffast-math: linked into a library it flushes denormal numbers in the whole process.
FLAGS = ("-O3", "-march=native", "-fopenmp", "-ffp-contract=fast", "-Wno-psabi")

log = logging.getLogger("torchcaps")


def serves(u: Tensor) -> bool:
    """Whether the native passes take these children: on a CPU, single or double precision.

    While a model is exported, or under `torch.func`, the plain passes serve: they are ordinary torch.
    """
    if u.device.type != "cpu" or u.dtype not in (torch.float32, torch.float64) or torch.compiler.is_exporting():
        return False
    if not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None:
        return False
    return _ready()


def _ready() -> bool:
    return status() == "native"


# A compiler asks, and does not look inside. This mark is all that torch.compiler.assume_constant_result makes, but that
# imports torch._dynamo first, which would take two seconds of every start.
_ready._dynamo_marked_constant = True  # type: ignore[attr-defined]


@lru_cache(maxsize=1)
def status() -> str:
    """ "native" once the passes are built and loaded, or why they are not."""
    if os.environ.get("TORCHCAPS_NATIVE") == "0":
        return "plain torch: TORCHCAPS_NATIVE=0"
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        log.warning("torchcaps: no C++ compiler found, so the plain torch passes serve; they are several times slower")
        return "plain torch: no C++ compiler"
    try:
        _load(cache_home() / "native" / _key(compiler))
    except Exception as error:
        log.warning("torchcaps: the native passes could not be built, so the plain torch passes serve: %s", error)
        return f"plain torch: the build failed ({type(error).__name__})"
    return "native"


def _more_flags() -> list[str]:
    return os.environ.get("TORCHCAPS_NATIVE_FLAGS", "").split()


def _key(compiler: str) -> str:
    """What a build depends on: sources, flags, torch, compiler and processor."""
    parts = [(HERE / name).read_bytes() for name in (*SOURCES, *HEADERS)]
    cpu = Path("/proc/cpuinfo")
    flags = (
        next((line for line in cpu.read_text().splitlines() if line.startswith("flags")), "") if cpu.exists() else ""
    )
    parts += [
        " ".join((*FLAGS, *_more_flags())).encode(),
        torch.__version__.encode(),
        compiler.encode(),
        flags.encode(),
    ]
    return f"{platform.machine()}-{hashlib.sha256(b'|'.join(parts)).hexdigest()[:16]}"


def _build(folder: Path) -> None:
    """Compile and load. The ninja that was installed beside torchcaps is found even if nobody put it on the path."""
    import ninja
    from torch.utils.cpp_extension import load

    # torch's own lock, left by a build that was killed, would be waited for without end; nobody else is in here now.
    (folder / "lock").unlink(missing_ok=True)
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([ninja.BIN_DIR, str(Path(sys.executable).parent), before])
    try:
        load(
            "torchcaps_native",
            [str(HERE / name) for name in SOURCES],
            extra_cflags=[*FLAGS, *_more_flags()],
            extra_ldflags=["-fopenmp", *_more_flags()],
            build_directory=str(folder),
            is_python_module=False,
        )
    finally:
        os.environ["PATH"] = before


def _load(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "torchcaps_native.so"
    with FileLock(folder / ".lock"):  # several processes may start at once; one builds
        if not (folder / "ready").exists():
            log.warning("torchcaps: building the native passes, once for this machine (about a minute)")
            _build(folder)
            (folder / "ready").touch()
        else:
            torch.ops.load_library(str(library))
    from torchcaps.ops.native import _autograd  # registers fake and autograd implementations of what is now loaded

    assert _autograd
