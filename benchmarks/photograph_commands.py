"""The four commands for own photographs, on 300 of them, as processes of their own, for every model that ships.

    python -m benchmarks.photograph_commands [PATTERN …] [--archive FILE.tar] [--json FILE]

`train` (a few steps) at the README's size and width, then `evaluate`, `predict` of all images and `report` as
docs/own-images.md gives them. The archive holds a folder of images a class, somewhere in it; without one the pictures
are generated. Models that stand in the JSON without a fault are not run again. Exit code 1 if any failed.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image

from torchcaps.models import list_models

CLASSES, EACH = 3, 100
SIZE, WIDTH, STEPS, BATCH = 48, 0.25, 4, 32
LONGEST = 900  # seconds a command may take
TORCHCAPS = (sys.executable, "-c", "from torchcaps.cli import main; main()")


class Photographs(NamedTuple):
    """A folder with a sub-folder for each class."""

    root: Path
    classes: tuple[str, ...]
    images: int


def generate(root: Path, classes: int = CLASSES, each: int = EACH) -> Photographs:
    """JPEGs of many sizes: soft noise of one colour a class."""
    rng = np.random.default_rng(0)
    names = tuple(f"kind {k}" for k in range(classes))
    for k, name in enumerate(names):
        (root / name).mkdir(parents=True)
        tint = np.roll((1.0, 0.5, 0.2), k) * (1 - k // 3 / 4)
        for number in range(each):
            rough = (rng.integers(0, 256, (6, 8, 3)) * tint).astype(np.uint8)
            wide, high = (int(side) for side in rng.integers(40, 120, 2))
            picture = Image.fromarray(rough).resize((wide, high), Image.Resampling.BICUBIC)
            picture.save(root / name / f"{number:03}.jpg")
    return Photographs(root, names, classes * each)


def unpack(archive: Path, root: Path, classes: int = CLASSES, each: int = EACH) -> Photographs:
    """The first images of the first folders of an archive that have enough of them."""
    with tarfile.open(archive) as source:
        folders: dict[PurePosixPath, list[tarfile.TarInfo]] = {}
        for member in source:
            if member.isfile():
                folders.setdefault(PurePosixPath(member.name).parent, []).append(member)
        enough = [folder for folder in sorted(folders) if len(folders[folder]) >= each][:classes]
        if len(enough) < classes:
            raise ValueError(f"{archive} has {len(enough)} folders of at least {each} files: {classes} are needed")
        for folder in enough:
            (root / folder.name).mkdir(parents=True)
            for member in sorted(folders[folder], key=lambda entry: entry.name)[:each]:
                content = source.extractfile(member)
                assert content is not None
                (root / folder.name / PurePosixPath(member.name).name).write_bytes(content.read())
    return Photographs(root, tuple(folder.name for folder in enough), classes * each)


class Command(NamedTuple):
    """What a command said, and how long it took."""

    code: int
    out: str
    errors: str
    seconds: float

    @property
    def fault(self) -> str:
        """Why it failed, or nothing."""
        if self.code == 0 and "Traceback" not in self.out + self.errors:
            return ""
        lines = [line for line in self.errors.splitlines() if line.strip()]
        return f"exit code {self.code}: {' '.join(lines[-3:])[-400:]}"


def call(folder: Path, *words: str) -> Command:
    """`torchcaps` with some words, as a process of its own in a folder."""
    root = str(Path(__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            [*TORCHCAPS, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return Command(-1, "", f"not done after {LONGEST} s", LONGEST)
    return Command(done.returncode, done.stdout, done.stderr, time.perf_counter() - begin)


def commands(model: str, photos: Photographs) -> dict[str, list[str]]:
    """The four, in order."""
    few = ["--set", f"steps={STEPS}", "--batch-size", str(BATCH)]
    size = ["--image-size", str(SIZE), "--set", f"width={WIDTH}"]
    return {
        "train": ["train", model, "--data", str(photos.root), "--out", "run", *size, *few],
        "evaluate": ["evaluate", "run", "--json"],
        "predict": ["predict", "run", str(photos.root), "--json"],
        "report": ["report", "run", "--out", "run.html", "--images", "20"],
    }


def wrong(name: str, said: str, folder: Path, photos: Photographs) -> str:
    """What is not as it should be in the answer of a command that did not fail, or nothing."""
    if name == "predict":
        answers = json.loads(said)
        if len(answers) != photos.images:
            return f"{len(answers)} answers for {photos.images} images"
        bad = [a for a in answers if a.get("class") not in photos.classes or not 0 <= a["probability"] <= 1]
        return f"{len(bad)} answers such as {bad[0]}" if bad else ""
    if name == "evaluate":
        return "" if all(math.isfinite(value) for value in numbers(json.loads(said))) else f"not finite: {said[:200]}"
    if name == "report":
        return "" if "</html>" in (folder / "run.html").read_text() else "the page has no end"
    return "" if (folder / "run" / "run.json").is_file() else "no run.json"


def numbers(found: Any) -> list[float]:
    """All numbers anywhere in what JSON held."""
    if isinstance(found, dict | list):
        return [n for part in (found.values() if isinstance(found, dict) else found) for n in numbers(part)]
    return [found] if isinstance(found, int | float) else []


def tour(model: str, photos: Photographs, folder: Path) -> dict[str, Any]:
    """All four commands for a model; the first that fails is the last."""
    seconds: dict[str, float] = {}
    for name, words in commands(model, photos).items():
        done = call(folder, *words)
        seconds[name] = round(done.seconds, 1)
        if fault := done.fault or wrong(name, done.out, folder, photos):
            return {"model": model, "seconds": seconds, "fault": f"{name}: {fault}"}
    return {"model": model, "seconds": seconds, "fault": None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--archive", type=Path, help="a .tar with a folder of images a class; generated without one")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    names = sorted({name for pattern in given.patterns for name in list_models(pattern)})
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "photos")
        photos = unpack(given.archive, root) if given.archive else generate(root)
        made = facts(photos, given.archive.name if given.archive else "generated")
        rows = done_before(given.json, made) if given.json else {}
        for number, name in enumerate(name for name in names if name not in rows):
            folder = Path(place, str(number))
            folder.mkdir()
            rows[name] = row = tour(name, photos, folder)
            times = "  ".join(f"{command} {value:5.1f} s" for command, value in row["seconds"].items())
            print(f"{name:30} {times}  {row['fault'] or 'ok'}", flush=True)
            if given.json:
                write(given.json, made, rows)
    failed = [name for name in names if rows[name]["fault"]]
    print(f"{len(names) - len(failed)} of {len(names)} models did all four on {photos.images} images")
    raise SystemExit(bool(failed))


def facts(photos: Photographs, source: str) -> dict[str, Any]:
    """What every row of a file has in common."""
    shown = {"images": photos.images, "from": source, "classes": list(photos.classes)}
    return {**shown, "image_size": SIZE, "width": WIDTH, "steps": STEPS, "torch": torch.__version__}


def done_before(file: Path, made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Rows of an earlier run that had no fault, by model; none if that was of other images or settings."""
    found = json.loads(file.read_text()) if file.exists() else {"models": []}
    rows = found.pop("models")
    return {row["model"]: row for row in rows if not row["fault"]} if found == made else {}


def write(file: Path, made: dict[str, Any], rows: dict[str, dict[str, Any]]) -> None:
    """What was found, and on what."""
    file.write_text(json.dumps({**made, "models": [rows[name] for name in sorted(rows)]}, indent=2) + "\n")


if __name__ == "__main__":
    main()
