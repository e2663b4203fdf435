"""Random invocations of the command line: right values and absurd ones, in any combination.

    python -m benchmarks.invocations [--count 500] [--seed 0] [--json FILE]

Every value is known to be right or absurd, so every answer can be judged: absurd ones must end with exit code 1 or 2
and a sentence, right ones with exit code 0. Nothing may end in a traceback, and no file outside of the named output
may change. All run in one process, in a folder of their own with small trained networks, photographs and damaged runs,
and under a limit of memory.
"""

import argparse
import contextlib
import io
import json
import os
import platform
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.invocation_pools import COMMANDS, Drawn
from torchcaps._atomic import write_text

ROOM = 8 * 2**30  # bytes of addresses that the process may take beyond what it has
SLOW = 60  # seconds of the processor after which an answer counts as none


@dataclass(frozen=True)
class Answer:
    """What became of an invocation: exit code, or None for a traceback, and what is wrong with it, if anything."""

    arguments: list[str]
    code: int | None
    seconds: float
    said: str
    wrong: list[str]


def prepare(folder: Path) -> None:
    """Runs, images and files that invocations may name."""
    import numpy as np
    from PIL import Image

    from torchcaps.train import fit

    few = {"images": 40, "epochs": 1, "quiet": True}
    fit("chen2019/lenet", "glyphs", out=folder / "lenet", **few)
    fit("mitterreiter2023/capsnet", "glyphs", options={"width": 0.1}, out=folder / "caps", **few)
    rng = np.random.default_rng(0)
    for kind in ("cat", "dog", "owl"):
        for k in range(24):
            path = folder / "photos" / kind / f"{k}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (20 + k, 30, 3), dtype=np.uint8)).save(path)
    (folder / "one" / "only").mkdir(parents=True)
    shutil.copy(folder / "photos" / "cat" / "0.png", folder / "one" / "only" / "0.png")
    (folder / "empty").mkdir()
    for name in ("notes.txt", "notes.onnx", "bad.png", "cut.npz"):
        (folder / name).write_text("mine")
    os.mkfifo(folder / "pipe.onnx")
    for name in ("broken", "torn"):
        shutil.copytree(folder / "lenet", folder / name)
    (folder / "broken" / "run.json").write_text('{"format": 3, "settings"')
    shutil.rmtree(folder / "torn" / "model")
    [last] = (folder / "torn" / "checkpoints").iterdir()
    last.write_bytes(last.read_bytes()[:-100])


def snapshot(folder: Path, spared: list[str]) -> dict[str, tuple[int, int, int]]:
    """Every file, but for those under the named output: which it is, its size, and when it was written."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not any(name == spare or name.startswith(f"{spare}/") for spare in spared) and not path.is_dir():
            seen = path.lstat()
            found[name] = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return found


def ask(drawn: Drawn, folder: Path) -> Answer:
    """Run one invocation as the shell would, and judge the answer."""
    before, began = snapshot(folder, drawn.outputs), time.process_time()
    code, out, err = invoke(drawn.arguments)
    seconds = time.process_time() - began
    changed = dict(set(snapshot(folder, drawn.outputs).items()) ^ set(before.items()))
    refused = code not in (0, None)
    faults = {
        f"traceback: {err.strip().splitlines()[-1] if err.strip() else ''}": code is None or "Traceback" in err,
        f"exit code 0 in spite of {', '.join(drawn.absurd)}": code == 0 and bool(drawn.absurd),
        "refused though all of it is right": refused and not drawn.absurd,
        "ended without a word": refused and not (err + out).strip(),
        f"touched {', '.join(sorted(changed))}": bool(changed),
        f"took {seconds:.0f} seconds of the processor": seconds > SLOW,
    }
    wrong = [fault for fault, found in faults.items() if found]
    return Answer(drawn.arguments, code, round(seconds, 3), err.strip()[-300:], wrong)


def invoke(arguments: list[str]) -> tuple[int | None, str, str]:
    """Exit code, None for a traceback, and what was said."""
    from torchcaps.cli import main as torchcaps

    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["torchcaps", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            torchcaps()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1 if stop.code else 0
        except BaseException:
            return None, out.getvalue(), err.getvalue() + traceback.format_exc()
        else:
            code = 0
    return code, out.getvalue(), err.getvalue()


def run(count: int, seed: int, folder: Path, *, heavy: bool = True) -> list[Answer]:
    """So many random invocations in a folder; without the heavy ones, an ONNX file and a page take seconds each."""
    os.environ["TORCHCAPS_DATA"] = str(folder / ".cache")
    prepare(folder)
    rng, answers = random.Random(seed), list[Answer]()
    names = [name for name, command in COMMANDS.items() for _ in range(command.weight)]
    here = Path.cwd()
    os.chdir(folder)
    try:
        for k in range(count):
            drawn = COMMANDS[rng.choice(names)].draw(rng, f"out{k}", heavy=heavy)
            answers.append(ask(drawn, folder))
            for name in drawn.made:
                shutil.rmtree(name, ignore_errors=True)
                Path(name).unlink(missing_ok=True)
            if answers[-1].wrong:
                sys.stderr.write(f"{k}: {answers[-1]}\n")
    finally:
        os.chdir(here)
    return answers


def summary(answers: list[Answer], seed: int) -> dict[str, object]:
    """What is kept of them: how many ended how, how long they took, and everything that was wrong."""
    seconds = sorted(answer.seconds for answer in answers)
    return {
        "invocations": len(answers),
        "seed": seed,
        "commands": dict(sorted(Counter(answer.arguments[0] for answer in answers if answer.arguments).items())),
        "exit_codes": {str(code): n for code, n in sorted(Counter(str(answer.code) for answer in answers).items())},
        "tracebacks": sum(answer.code is None for answer in answers),
        "processor_seconds": {"median": seconds[len(seconds) // 2], "most": seconds[-1], "all": round(sum(seconds), 1)},
        "wrong": [asdict(answer) for answer in answers if answer.wrong],
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def limit_memory(room: int = ROOM) -> None:
    """Let an absurd size end in an error, not in the machine's memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + room, resource.RLIM_INFINITY))


def main() -> None:
    """Ask, and tell what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import torchcaps.train  # noqa: F401  # before memory is limited

    limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        told = summary(run(options.count, options.seed, Path(folder)), options.seed)
    if options.json:
        write_text(options.json, json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    sys.stdout.write(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    sys.exit(bool(told["wrong"]))


if __name__ == "__main__":
    main()
