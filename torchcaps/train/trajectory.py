"""Weights on the way: kept at certain numbers of images seen, with how the validation images were judged by them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor

from torchcaps.train import checkpoint
from torchcaps.train.checkpoint import Checkpoint

if TYPE_CHECKING:
    from torchcaps.train.loop import Training

FOLDER = "trajectory"
NEVER = 2**31  # how many weights `checkpoint.save` may leave: all


class Point(NamedTuple):
    """Where a training was: steps done, images seen, and how many of how many validation images were right."""

    step: int
    images: int
    right: int
    total: int

    @property
    def accuracy(self) -> float:
        """The share of the validation images."""
        return self.right / self.total


class Trajectory:
    """A callback of `fit` that keeps weights, and judges them by the validation images, at numbers of images seen.

    They are the averaged weights if the settings have an `average`, and lie in the run's folder, in `trajectory`.
    Nowhere else are the validation images looked at, unless `until_accuracy` or `judge_every` asks for it.

    >>> from torchcaps.train import fit
    >>> watch = Trajectory(images=[32, 100])
    >>> run = fit("peer2021/sign", "sign", images=64, batch_size=32, epochs=3, callbacks=[watch], quiet=True)
    >>> [(point.step, point.images) for point in watch.points]
    [(1, 32), (4, 128)]

    Args:
        images: numbers of images, rising; the first step at or past each is meant.

    Attributes:
        points: what was kept so far.
    """

    judges = True

    def __init__(self, images: Sequence[int]) -> None:
        whole = bool(images) and all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in images)
        if not whole or sorted(set(images)) != list(images):
            raise ValueError(
                f"images={images!r} is not allowed: it must be positive whole numbers, each above the last"
            )
        self.images, self.points = tuple(images), list[Point]()
        self.folder: Path | None = None

    def begin(self, training: "Training") -> None:
        """Refuse a training that has nothing to judge by."""
        if training.splits.validation is None:
            raise ValueError("trajectory: validation=0 leaves no images to judge by")
        self.folder = None if training.folder is None else training.folder.parent / FOLDER

    def after_backward(self, training: "Training") -> None:
        """Nothing: the weights have not moved."""

    def after_step(self, training: "Training") -> None:
        """Keep and judge the weights, where that is due."""
        now, before = training.seen_after(training.step), training.seen_after(training.step - 1)
        if any(before < n <= now for n in self.images):
            kept = training.fabric.broadcast(self._kept(training))  # of the first process, which writes
            self.points.append(self._new(training, now) if kept is None else kept)

    def after_epoch(self, training: "Training", entry: dict[str, Any]) -> None:
        """Tell the accuracy where it was judged after this very step."""
        if self.points and self.points[-1].step == training.step:
            entry["validation_accuracy"] = self.points[-1].accuracy

    def state(self) -> list[list[int]]:
        """The points, as JSON holds them."""
        return [list(point) for point in self.points]

    def restore(self, state: list[list[int]]) -> None:
        """Go back to these points; weights that are missing or damaged are an error."""
        self.points = [Point(*point) for point in state]
        if self.folder is not None:
            for point in self.points:
                weights_at(self.folder, point)

    def _kept(self, training: "Training") -> Point | None:
        """What an earlier process, which was killed after this step, has written already."""
        if self.folder is None or not training.fabric.is_global_zero or not _file(self.folder, training.step).exists():
            return None
        return Point(**_load(self.folder, training.step).record["point"])

    def _new(self, training: "Training", images: int) -> Point:
        assert training.splits.validation is not None
        training.check()
        point = Point(training.step, images, *training.judge(training.splits.validation))
        if self.folder is not None and training.fabric.is_global_zero:
            weights = {f"model.{name}": tensor for name, tensor in training.judged.state_dict().items()}
            record = {"settings": training.settings.to_json(), "point": point._asdict()}
            checkpoint.save(self.folder, point.step, Checkpoint(record, weights), keep=NEVER)
        return point


def weights_at(folder: Path, point: Point) -> dict[str, Tensor]:
    """The weights that were kept at a point, by the names of `state_dict`; an error if they are not whole.

    Args:
        folder: `trajectory`, in that of the run.
    """
    found = _load(folder, point.step)
    if found.record.get("point") != point._asdict():
        raise ValueError(f"{_file(folder, point.step)} is of another training: delete {folder.parent} and begin anew")
    return checkpoint.unpack_model(found)


def _file(folder: Path, step: int) -> Path:
    return folder / f"step-{step:09d}{checkpoint.ENDING}"


def _load(folder: Path, step: int) -> Checkpoint:
    try:
        found = checkpoint.load(_file(folder, step))
        if "point" not in found.record:
            raise ValueError(f"{_file(folder, step)} does not say how it was judged")
    except (ValueError, OSError) as error:
        raise ValueError(
            f"the weights that the training kept after step {step} are missing or damaged ({error}): put the file "
            f"back, or begin in another folder"
        ) from error
    return found
