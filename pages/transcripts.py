"""What commands that take minutes print, kept so that the pages that show it can be held against it.

python -m pages.transcripts sign
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from torchcaps._atomic import write_text

FOLDER = Path(__file__).parents[1] / "docs/transcripts"
COMMANDS = {
    "sign": ["torchcaps demo --sign"],
    "bench": [
        "torchcaps bench run peer2021/table1 --scale smoke --workers 1",
        "torchcaps bench report",
        "torchcaps bench verify",
    ],
}


def transcript(commands: list[str], folder: str) -> str:
    """Run commands one after the other, and note them with what they print."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    lines = []
    for command in commands:
        done = subprocess.run(
            command.split(),
            cwd=folder,
            env={**os.environ, "COLUMNS": "100", "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        lines += [f"$ {command}", *(line.rstrip() for line in done.stdout.splitlines())]
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> None:
    """Make those transcripts again that were named, or all."""
    for name in names or COMMANDS:
        with TemporaryDirectory() as folder:
            write_text(FOLDER / f"{name}.txt", transcript(COMMANDS[name], folder))


if __name__ == "__main__":
    main(sys.argv[1:])
