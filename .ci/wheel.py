"""What is in the wheel and the sdist, and the wheel alone, as a stranger installs it: in an empty virtual environment,
away from the repository.

python .ci/wheel.py dist
"""

import os
import re
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from pathlib import Path, PurePosixPath
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


SHIPPED = {
    "chen2019--lenet",
    "gu2021--capsnet",
    "mitterreiter2023--capsnet",
    "peer2021--sign",
    "sabour2017--capsnet",
    "tsai2020--inverted_simple",
}
SHOWN = SHIPPED - {"peer2021--sign"}
SOURCES = {
    "torchcaps/bench/templates/*.html",
    "torchcaps/bench/templates/*.css",
    "torchcaps/explorer/page/*.html",
    "torchcaps/explorer/page/*.css",
    "torchcaps/explorer/page/*.js",
    "torchcaps/ops/native/*.cpp",
    "torchcaps/ops/native/*.h",
    "torchcaps/report/templates/*.html",
    "torchcaps/report/templates/*.css",
}
PAPERS = ("gu2021", "chen2019", "mitterreiter2023", "peer2021", "tsai2020", "cross")
DATA = {
    "torchcaps/py.typed",
    "torchcaps/bench/deviations.toml",
    *(f"torchcaps/bench/papers/{paper}/{file}" for paper in PAPERS for file in ("claims.toml", "frozen.json")),
    "torchcaps/explorer/digits.npz",
    *(f"torchcaps/explorer/findings/{name}.json" for name in SHOWN),
    *(f"torchcaps/models/weights/{name}/{file}" for name in SHIPPED for file in ("config.json", "model.safetensors")),
}
LICENCES = {"LICENSE", "NOTICE"}
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", *(f"licenses/{name}" for name in LICENCES)}
MOST_BYTES = 9_000_000  # 8.1 million of them were there in the first version; 7.8 are weights


def tracked() -> set[str]:
    """Files of the package that git knows."""
    told = subprocess.run(["git", "ls-files", "torchcaps"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(told.stdout.split())


def complaints(wheel: Path, known: set[str], most: int = MOST_BYTES) -> list[str]:
    """What is wrong with the contents of a wheel: files that lack or that nobody listed, and its size."""
    names = set(zipfile.ZipFile(wheel).namelist())
    info = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/"
    code = {name for name in known if name.endswith(".py")}
    wanted = known | DATA | {info + name for name in METADATA}
    listed = code | DATA | {info + name for name in METADATA}
    # an absolute pattern must match the whole of a path
    strays = {n for n in names - listed if not any(PurePosixPath("/", n).match(f"/{source}") for source in SOURCES)}
    found = [f"lacks {name}" for name in sorted(wanted - names)]
    found += [f"holds {name}, which no list in .ci/wheel.py names" for name in sorted(strays)]
    if (size := wheel.stat().st_size) > most:
        found.append(f"has {size:,} bytes, more than {most:,}")
    return found


def without_licences(sdist: Path) -> list[str]:
    """Those of the licences that an sdist lacks."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    return [f"lacks {name}" for name in sorted(LICENCES - names)]


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
    [wheel], [sdist] = (list(Path(folder).resolve().glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    wrong = [f"{wheel.name} {fault}" for fault in complaints(wheel, tracked())]
    wrong += [f"{sdist.name} {fault}" for fault in without_licences(sdist)]
    if wrong:
        sys.exit("\n".join(wrong))
    with TemporaryDirectory() as place:
        try_alone(wheel, Path(place))
    print(f"{wheel.name} works alone")


if __name__ == "__main__":
    main(*sys.argv[1:])
