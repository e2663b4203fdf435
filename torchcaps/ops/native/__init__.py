"""The passes in C++: built on first use with the machine's compiler, kept by source, torch and processor.

Without a compiler the plain passes serve, and one line says so; `torchcaps.ops.choice` tells how to insist on either.
More flags for compiler and linker are read from `TORCHCAPS_NATIVE_FLAGS`; `make sanitize` gives some.
"""

import hashlib
import logging
import os
import platform
import re
import shutil
import sys
from functools import lru_cache
from pathlib import Path

import torch
from filelock import FileLock
from torch._C import _dispatch_has_kernel_for_dispatch_key as _has_kernel

from torchcaps._paths import cache_home
from torchcaps._shown import shown
from torchcaps.ops.choice import choice
from torchcaps.ops.native._library import is_whole, sign, trust
from torchcaps.ops.native._ninja import put_into

HERE = Path(__file__).parent
# Never -ffast-math: linked into a library it flushes denormal numbers in the whole process.
FLAGS = ("-O3", "-march=native", "-fopenmp", "-ffp-contract=fast", "-Wno-psabi")

KEYS = ("CPU", "CompositeExplicitAutograd")

log = logging.getLogger("torchcaps")


def status() -> str:
    """ "native" once the passes are built and loaded, or why they are not; an error if TORCHCAPS_PASSES wants them."""
    if choice() == "plain":
        return "plain torch: TORCHCAPS_PASSES=plain"
    failure = _failure()
    if failure is not None and choice() == "native":
        raise RuntimeError(f"TORCHCAPS_PASSES=native, but {failure}")
    return "native" if failure is None else f"plain torch: {failure}"


@lru_cache(maxsize=1)
def _failure() -> str | None:
    """Build and load, once in a process; what stood in the way, if something did."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        log.warning("torchcaps: no C++ compiler found, so the plain torch passes serve; they are several times slower")
        return "no C++ compiler"
    try:
        _load(cache_home() / "native" / _key(compiler))
    except Exception as error:
        log.warning("torchcaps: no native passes could be had, so the plain torch passes serve: %s", shown(str(error)))
        return f"the native passes could not be had ({type(error).__name__}: {str(error).splitlines()[0]})"
    return None


def _sources(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in HERE.glob(pattern))


def _more_flags() -> list[str]:
    return os.environ.get("TORCHCAPS_NATIVE_FLAGS", "").split()


def check_kernels() -> None:
    """Refuse what was loaded if it lacks an operator of the sources: the plain passes would serve in its place."""
    names = {name for path in _sources("*.cpp") for name in re.findall(r'm\.impl\("(\w+)"', path.read_text())}
    missing = [name for name in sorted(names) if not _is_there(f"torchcaps::{name}")]
    if missing:
        raise ImportError(f"the library that the compiler made lacks {len(missing)} operators, such as {missing[0]}")


def _is_there(operator: str) -> bool:
    try:
        return any(_has_kernel(operator, key) for key in KEYS)
    except RuntimeError:  # nobody has so much as declared it
        return False


def _key(compiler: str) -> str:
    """What a build depends on: sources, headers, flags, torch, compiler and processor."""
    parts = [path.name.encode() + path.read_bytes() for path in _sources("*.cpp", "*.h")]
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
    put_into(folder / "bin", Path(ninja.BIN_DIR) / "ninja")
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(folder / "bin"), ninja.BIN_DIR, str(Path(sys.executable).parent), before])
    try:
        load(
            "torchcaps_native",
            [str(path) for path in _sources("*.cpp")],
            extra_cflags=[*FLAGS, *_more_flags()],
            extra_ldflags=["-fopenmp", *_more_flags()],
            build_directory=str(folder),
            is_python_module=False,
        )
    finally:
        os.environ["PATH"] = before


def _load(folder: Path) -> None:
    """Load what lies in the folder if that is whole, which needs no right to write there; else build it first."""
    library = folder / "torchcaps_native.so"
    if not is_whole(library):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        trust(folder)
        with FileLock(folder / ".lock"):  # several processes may start at once; one builds
            if not is_whole(library):
                log.warning("torchcaps: building the native passes, once for this machine (a minute or two)")
                library.unlink(missing_ok=True)  # ninja would take a broken one for built
                _build(folder)
                check_kernels()
                sign(library)
    trust(folder)
    trust(library)
    torch.ops.load_library(str(library))
    check_kernels()
