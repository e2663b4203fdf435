"""Six classes of photographs: heads on a frozen pretrained backbone, beside networks that learn from nothing.

    python -m benchmarks.photographs ARCHIVE.tar --json FILE [--rows PATTERN …] [--splits N]

The archive holds CIFAR-100 as pictures, a folder a class. Each split draws from all 600 pictures of a class 150 to
learn from, of which a tenth is held out to validate as `torchcaps train` does, and 100 to test by. A split is also the
seed of its training. Features are computed before any row and timed apart. Rows and splits that stand in the file are
not trained again, unless anything they have in common changed.
"""

import argparse
import fnmatch
import itertools
import json
import os
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import torch

from torchcaps._atomic import write_text
from torchcaps.backbones import FeatureCache, Trunk, load_backbone, trunk_of
from torchcaps.bench.sample import Sample
from torchcaps.data import Dataset, Stored, look_through
from torchcaps.measures import accuracy
from torchcaps.train import Run, fit
from torchcaps.train.features import Featured

CLASSES = ("apple", "bicycle", "castle", "dolphin", "sunflower", "tiger")
LEARN, TEST, SPLITS = 150, 100, 5
BACKBONE, SIZE, OWN_SIZE = "efficientnet_lite0", 128, 32


COMMAND = "python -m benchmarks.photographs cifar100-png.tar --json benchmarks/results/photographs.json"


class Row(NamedTuple):
    """What is trained: a model, its options, the height and width of its images, and other settings than the usual."""

    model: str
    options: dict[str, Any]
    image_size: int
    settings: dict[str, Any]


ROWS = {
    "frozen, linear head": Row("baselines/linear_head", {"backbone": BACKBONE}, SIZE, {}),
    "frozen, inverted attention": Row("tsai2020/inverted_simple", {"backbone": BACKBONE}, SIZE, {}),
    "frozen, CapsNet": Row("sabour2017/capsnet", {"backbone": BACKBONE}, SIZE, {}),
    "scratch, small CNN, 32 px": Row("baselines/small_cnn", {}, OWN_SIZE, {"epochs": 30}),
    "scratch, inverted attention, 32 px": Row("tsai2020/inverted_simple", {"width": 0.25}, OWN_SIZE, {"epochs": 30}),
    "scratch, small CNN": Row("baselines/small_cnn", {}, SIZE, {"epochs": 30}),
    "scratch, inverted attention": Row("tsai2020/inverted_simple", {"width": 0.25}, SIZE, {"epochs": 30}),
}


def unpack(archive: Path, root: Path, least: int = LEARN + TEST) -> dict[str, list[Path]]:
    """All pictures of each class in an archive, by name, whatever folders its classes are in."""
    with tarfile.open(archive) as source:
        found: dict[str, list[tarfile.TarInfo]] = {name: [] for name in CLASSES}
        for member in source:
            folder = PurePosixPath(member.name).parent.name
            if member.isfile() and folder in found:
                found[folder].append(member)
        for name, members in found.items():
            if len(members) < least:
                raise ValueError(f"{archive} has {len(members)} pictures of {name!r}: {least} are needed")
        return {name: sorted(_written(source, m, root) for m in members) for name, members in found.items()}


def _written(source: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> Path:
    content = source.extractfile(member)
    assert content is not None
    name = PurePosixPath(member.name)
    file = root / name.parent.name / name.name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("xb") as target:  # no two of one name
        target.write(content.read())
    return file


def part(files: dict[str, list[Path]], root: Path, split: int, learn: int = LEARN, test: int = TEST) -> Path:
    """A folder with `train` and `test`, in which each class has so many pictures."""
    rng = np.random.default_rng(split)
    for name, pictures in files.items():
        for place, number in enumerate(rng.permutation(len(pictures))[: learn + test]):
            folder = root / ("train" if place < learn else "test") / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / pictures[number].name).hardlink_to(pictures[number])
    return root


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What a call gives, and its seconds by the clock and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    found = work()
    told = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    return found, {name: round(value, 2) for name, value in told.items()}


def features(root: Path, trunk: Trunk) -> dict[str, Any]:
    """Compute those of all pictures, as far as they are not kept already."""
    own = look_through(root, image_size=SIZE)
    found, seconds = timed(lambda: FeatureCache().features(trunk, own.stored(own.items).images))
    return {
        "images": len(found.rows),
        "computed": found.computed,
        "seconds": seconds,
        "load": round(os.getloadavg()[0], 1),
    }


def judged_by(run: Run) -> Dataset:
    """The test images, as features where the backbone is frozen."""
    data, trunk = run.test_data(), trunk_of(run.model)
    if trunk is None or not trunk.is_frozen:
        return data
    assert isinstance(data, Stored)
    found = FeatureCache().features(trunk, data.images)
    assert found is not None
    return Featured(data, [found])


def train(row: Row, folder: Path, split: int) -> dict[str, Any]:
    """A training of a row on a split, and its accuracy by the test images."""
    run, learning = timed(
        lambda: fit(
            row.model,
            folder,
            options=row.options,
            image_size=row.image_size,
            seed=split,
            quiet=True,
            **row.settings,
        )
    )
    score, judging = timed(lambda: accuracy(run.model, judged_by(run)))
    learns = sum(p.numel() for p in run.model.parameters() if p.requires_grad)
    seconds = {"train": learning, "test": judging}
    told = {"split": split, "accuracy": score.value, "parameters": learns}
    return {**told, "epochs": run.settings.epochs, "seconds": seconds, "load": round(os.getloadavg()[0], 1)}


def summary(splits: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean over splits with its t-interval of 95 %, which less than three of them do not give."""
    sample = Sample(np.array([one["accuracy"] for one in splits]))
    interval = [round(end, 4) for end in sample.interval()] if len(splits) > 2 else None
    return {"mean": round(sample.mean, 4), "interval": interval, "splits": splits}


def common(archive: Path) -> dict[str, Any]:
    """What all rows of a file share."""
    images = {"classes": list(CLASSES), "from": archive.name, "learn": LEARN, "test": TEST}
    machine = {"cores": os.cpu_count(), "threads": torch.get_num_threads(), "torch": torch.__version__}
    return {**images, "backbone": BACKBONE, **machine}


def measure(archive: Path, file: Path, names: list[str], splits: int) -> None:
    """Train what a file lacks of rows and splits; each is written as soon as it is done."""
    shared = common(archive)
    before = json.loads(file.read_text()) if file.exists() else {}
    kept = before if {name: before.get(name) for name in shared} == shared else {}
    told = {"command": COMMAND, **shared, "features": kept.get("features", []), "rows": kept.get("rows", {})}
    with tempfile.TemporaryDirectory() as place:
        files = unpack(archive, Path(place, "photos"))
        told["features"].append(features(Path(place, "photos"), frozen()))
        folders = [part(files, Path(place, str(split)), split) for split in range(splits)]
        for name, split in itertools.product(names, range(splits)):
            done = told["rows"].get(name, {}).get("splits", [])
            if any(one["split"] == split for one in done):
                continue
            found = train(ROWS[name], folders[split], split)
            print(f"{name:36} {split}  {found['accuracy']:.4f}  {found['seconds']}", flush=True)
            told["rows"][name] = {**ROWS[name]._asdict(), **summary([*done, found])}
            told["not_run"] = missing(told["rows"])
            write_text(file, json.dumps(told, indent=2) + "\n")


def missing(rows: dict[str, Any]) -> dict[str, int]:
    """How many splits each row lacks."""
    lacking = {name: SPLITS - len(rows.get(name, {}).get("splits", [])) for name in ROWS}
    return {name: count for name, count in lacking.items() if count > 0}


def frozen() -> Trunk:
    """The backbone, of which nothing learns."""
    trunk = load_backbone(BACKBONE)
    trunk.tune("head")
    return trunk.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--rows", nargs="*", default=["*"], help="patterns of names of rows")
    parser.add_argument("--splits", type=int, default=SPLITS)
    given = parser.parse_args()
    torch.set_num_threads(1)  # two threads on cores that others use wait for each other
    names = [name for name in ROWS if any(fnmatch.fnmatch(name, pattern) for pattern in given.rows)]
    measure(given.archive, given.json, names, given.splits)


if __name__ == "__main__":
    main()
