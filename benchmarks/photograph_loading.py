"""What it costs to load a folder of JPEGs and where the time goes; what it costs if the images lie in a file.

    python -m benchmarks.data --photographs benchmarks/results/photograph-loading.json

Seconds are those of the processor, on one thread, so that other work on the machine is not counted.
"""

import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image

from benchmarks.measure import Effort, measure, ratio
from torchcaps.data import Stored, _room, look_through
from torchcaps.data._files import digest_of
from torchcaps.data._tree import places
from torchcaps.data.photograph import read_image
from torchcaps.data.resize import fitted
from torchcaps.losses import multi_hot
from torchcaps.models import create_model

FILES, SIDE = 5000, 28
SIZES = {"web, 640×480": (640, 480), "phone, 4032×3024": (4032, 3024)}
SMALL, COUNT, BATCH = 32, 20_000, 128
MOST_COST = 1.2  # how many times as long images in a file may take as images in memory


def make_folder(root: Path, size: tuple[int, int], count: int) -> None:
    """JPEGs of one size in two classes: a few pictures, each told from its copies by bytes behind its end."""
    rng = np.random.default_rng(0)
    kinds = []
    for _ in range(4):
        rough = rng.integers(0, 256, (size[1] // 16, size[0] // 16, 3)).astype(np.uint8)
        stream = io.BytesIO()
        Image.fromarray(rough).resize(size, Image.Resampling.BICUBIC).save(stream, "JPEG", quality=85)
        kinds.append(stream.getvalue())
    for k in range(count):
        folder = root / "ab"[k % 2]
        folder.mkdir(exist_ok=True)
        (folder / f"{k}.jpg").write_bytes(kinds[k % 4] + k.to_bytes(4, "little"))


def seconds(call: Callable[[], object]) -> float:
    """Of the processor."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def load_all(root: Path) -> None:
    """As a training and its judging would."""
    own = look_through(root, image_size=SIDE)
    own.stored(own.items)


def loading(name: str, size: tuple[int, int], count: int) -> dict[str, object]:
    """Seconds for 5,000 files, in all and by stage; of large ones a part is timed and multiplied."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_folder(root, size, count)
        files = sorted(root.rglob("*.jpg"))
        times = FILES / count
        whole = Image.open(files[0])
        whole.load()
        found = {
            "walk the folders": seconds(lambda: [list(place.folder.iterdir()) for place in places(root, [])]),
            "read and hash": seconds(lambda: [digest_of(file) for file in files]),
            "decode and resize": seconds(lambda: [read_image(file, SIDE, 3) for file in files]),
            "look through, all of it": seconds(lambda: look_through(root)),
            "load, all of it": seconds(lambda: load_all(root)),
            "for comparison: decode every pixel": seconds(lambda: [Image.open(file).load() for file in files]),
            "for comparison: resize in full": seconds(lambda: [fitted(whole, (SIDE, SIDE)) for _ in files]),
        }
        return {
            "images": name,
            "files": FILES,
            "timed": count,
            "bytes_each": files[0].stat().st_size,
            "seconds": {stage: round(value * times, 2) for stage, value in found.items()},
        }


def small_images(room: torch.Tensor) -> Stored:
    generator = torch.Generator().manual_seed(0)
    room.copy_(torch.randint(256, room.shape, dtype=torch.uint8, generator=generator))
    return Stored(room, torch.arange(len(room)) % 10, tuple("0123456789"))


def in_a_file() -> list[dict[str, object]]:
    """How many times as long an epoch takes whose images lie in a file, read from disk or still in the cache."""
    shape = (COUNT, 3, SMALL, SMALL)
    kept: list[Path] = []
    with patch.object(Path, "unlink", lambda path, **_: kept.append(path)):  # a name, so that its pages can be dropped
        mapped = small_images(_room._mapped(COUNT * 3 * SMALL * SMALL).reshape(shape))
    file = kept[0]
    try:
        memory = small_images(torch.empty(shape, dtype=torch.uint8))
        assert torch.equal(memory.images, mapped.images)
        net = create_model("chen2019/lenet", in_chans=3, image_size=SMALL)
        adam = torch.optim.Adam(net.parameters())

        def read(data: Stored) -> None:
            for _ in data.batches(BATCH, shuffle=True):
                pass

        def learn(data: Stored) -> None:
            for batch in data.batches(BATCH, shuffle=True):
                adam.zero_grad()
                net.loss(net(batch.images).scores, multi_hot(batch.labels, 10)).backward()
                adam.step()

        def cold(work: Callable[[Stored], None]) -> None:
            dropped = drop(mapped.images, file)
            assert dropped > 0.9, f"only {dropped:.0%} of the pages could be dropped"
            work(mapped)

        rows = []
        for what, work, effort in (("read alone", read, Effort(4, 12, 10)), ("train LeNet", learn, Effort(3, 4, 90))):
            costs = measure(
                {
                    "memory": lambda work=work: work(memory),  # type: ignore[misc]
                    "file, cached": lambda work=work: work(mapped),  # type: ignore[misc]
                    "file, from disk": lambda work=work: cold(work),  # type: ignore[misc]
                },
                effort,
            )
            for name in ("file, cached", "file, from disk"):
                found = ratio(costs[name], costs["memory"])
                rate = COUNT / costs[name].seconds
                rows.append({"work": what, "images": name, "per_second": round(rate), "times": found._asdict()})
        return rows
    finally:
        os.unlink(file)


def drop(images: torch.Tensor, file: Path) -> float:
    """Let the system forget a mapped file, so that it must be read again; the share of its pages that it forgot."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    address, size = ctypes.c_void_p(images.data_ptr()), ctypes.c_size_t(images.numel())
    libc.madvise(address, size, 4)  # MADV_DONTNEED: off our table of pages; it stays in the file
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    pages = -(-images.numel() // os.sysconf("SC_PAGE_SIZE"))
    resident = (ctypes.c_ubyte * pages)()
    libc.mincore(address, size, resident)
    return 1 - sum(byte & 1 for byte in resident) / pages


def photographs() -> tuple[dict[str, object], bool]:
    """All of it, and whether images in a file cost at most a fifth of the speed of a training."""
    torch.set_num_threads(1)
    loads = [loading(name, size, FILES if size[0] < 1000 else 100) for name, size in SIZES.items()]
    rows = in_a_file()
    for load in loads:
        print(load["images"], load["seconds"])
    for row in rows:
        print(row)
    trained = [row["times"] for row in rows if row["work"] == "train LeNet"]
    good = all(times["value"] <= MOST_COST for times in trained)  # type: ignore[index]
    return {"side": SIDE, "loading": loads, "small_images_in_a_file": rows}, good
