"""What a trained network says to image files, as entries that JSON can hold."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchcaps.data import pictures
from torchcaps.explain import Structure, Tree, describe, grow
from torchcaps.infer import infer
from torchcaps.train.run import Run

BATCH = 64
SHOWN = 5  # capsules, couplings and routes of an explanation

Answer = dict[str, Any]
Draw = Callable[[str, Tree, Tensor, int], None]


def predict(
    run: Run, paths: Iterable[Path], *, top: int = 1, explain: bool = False, draw: Draw | None = None
) -> Iterator[Answer]:
    """For each file, in order, its class and probability, or the error that it could not be read with.

    Args:
        paths: image files, and folders, of which every image is taken.
        top: how many classes to name, the most probable first.
        explain: whether to tell the capsules and couplings behind it; see `torchcaps.explain.describe`.
        draw: called with each file that could be read, its tree, the image as the network sees it, and the class.
    """
    waiting, batch = list[Answer](), list[Any]()
    for file in _files(paths):
        answer = file if isinstance(file, dict) else {"file": str(file)}
        waiting.append(answer)
        if isinstance(file, Path):
            try:
                batch.append(run.reading.read(file))
            except (OSError, ValueError) as error:
                answer["error"] = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if len(batch) == BATCH:
            yield from _fill(run, waiting, batch, top, explain=explain, draw=draw)
            waiting, batch = [], []
    yield from _fill(run, waiting, batch, top, explain=explain, draw=draw)


def _files(paths: Iterable[Path]) -> Iterator[Path | Answer]:
    """Files as they are, and the images below folders; a folder without any is an error, as a file would be."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = list(pictures(path))
        yield from found
        if not found:
            yield {"file": str(path), "error": "the folder holds no images"}


def _fill(
    run: Run, waiting: list[Answer], batch: list[Any], top: int, *, explain: bool, draw: Draw | None
) -> list[Answer]:
    """Complete the answers whose images could be read."""
    if not batch:
        return waiting
    images = torch.from_numpy(np.stack(batch)).float() / 255
    parse = infer(run.model, images, record="last" if explain or draw else "none")
    shares = run.model.probabilities(parse.scores)
    order = parse.scores.argsort(-1, descending=True)[:, :top]
    trees = grow(Structure.of(run.model, run.classes), parse) if explain or draw else []
    for k, answer in enumerate(answer for answer in waiting if "error" not in answer):
        best = [{"class": run.classes[c], "probability": shares[k, c].item()} for c in order[k].tolist()]
        answer.update(best[0])
        if top > 1:
            answer["top"] = best
        if explain:
            answer["parse"] = describe(trees[k], int(order[k, 0]), SHOWN)
        if draw is not None:
            draw(answer["file"], trees[k], images[k], int(order[k, 0]))
    return waiting
