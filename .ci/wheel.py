"""The wheel alone, as a stranger installs it: in an empty virtual environment, away from the repository.

python .ci/wheel.py dist
"""

import os
import re
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
IMPORT = "import torchcaps, torch; print(torchcaps.create_model('chen2019/lenet', pretrained=True).recipe['name'])"
DOCTESTS = """
import doctest, importlib, sys, torch
for name in ("torchcaps.functional", "torchcaps.models._registry", "torchcaps.train.fitting"):
    found = doctest.testmod(importlib.import_module(name), extraglobs={"torch": torch})
    print(name, found)
    assert found.attempted and not found.failed
"""
NATIVE = "from torchcaps.ops import native; assert native.status() == 'native'; print('native passes built')"


def missing(wheel: Path) -> list[str]:
    """Files of the package that git knows and the wheel does not hold."""
    tracked = subprocess.run(["git", "ls-files", "torchcaps"], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(set(tracked.stdout.split()) - set(zipfile.ZipFile(wheel).namelist()))


def try_alone(wheel: Path, folder: Path) -> None:
    """Install it and do what new users do first. The core comes alone, so that a missing extra must name itself."""
    venv.create(folder / "venv", with_pip=True)
    bin_ = folder / "venv" / "bin"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"XDG_CACHE_HOME": str(folder / "cache"), "PATH": f"{bin_}{os.pathsep}{env['PATH']}"}
    env.setdefault("TORCHCAPS_DATA", str(Path("~/.cache/torchcaps").expanduser()))

    def run(*command: str, **more: str) -> None:
        print("$", *(word if "\n" not in word else "…" for word in command), flush=True)
        subprocess.run(command, cwd=folder, env={**env, **more}, check=True)

    install = (
        "python",
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "-c",
        str(ROOT / "constraints.txt"),
    )
    run(*install, str(wheel))
    run("python", "-c", IMPORT)
    bare = subprocess.run(["torchcaps", "--help"], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert "needs the extra 'train'" in bare.stderr, bare
    run(*install, f"{wheel}[bench,explorer]")
    run("python", "-c", DOCTESTS)
    run("python", "-c", NATIVE, TORCHCAPS_PASSES="native")
    run("torchcaps", "demo", "--quick")
    assert (folder / "demo" / "report.html").is_file()
    show(folder, env)


def show(folder: Path, env: dict[str, str]) -> None:
    """Open the explorer, and look at its page and at one module of it."""
    command = ["torchcaps", "explore", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            told = server.stdout.readline() if server.stdout else ""
            address = re.search(r"http://\S+", told)
            assert address, told
            page = fetched(address[0])
            module = re.search(r'src="([^"]+\.js)"', page)
            assert module, page
            assert fetched(f"{address[0]}{module[1].lstrip('/')}")
            print(f"the explorer shows {len(page)} characters at {address[0]}")
        finally:
            server.terminate()


def fetched(address: str, tries: int = 60) -> str:
    """What a server answers that has said where it will be, and may not listen yet."""
    for _ in range(tries):
        try:
            with urlopen(address, timeout=60) as answer:
                return str(answer.read().decode())
        except URLError:
            time.sleep(1)
    raise TimeoutError(f"{address} does not answer")


def main(folder: str) -> None:
    """Check what is inside, then try it."""
    [wheel] = Path(folder).resolve().glob("*.whl")
    if left_out := missing(wheel):
        sys.exit(f"{wheel.name} lacks {', '.join(left_out)}")
    with TemporaryDirectory() as place:
        try_alone(wheel, Path(place))
    print(f"{wheel.name} works alone")


if __name__ == "__main__":
    main(*sys.argv[1:])
