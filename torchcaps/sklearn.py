"""Capsule networks as scikit-learn's classifiers: in pipelines, grid searches and cross validation."""

from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from torchcaps.data import Batch, Dataset
from torchcaps.data.npz import channels_first
from torchcaps.infer import infer
from torchcaps.models import create_model
from torchcaps.models._assemble import widen
from torchcaps.models._backbones import convolutions
from torchcaps.network import Model
from torchcaps.train import fit

try:
    from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
    from sklearn.utils import check_random_state  # type: ignore[import-untyped]
    from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
    from sklearn.utils.validation import check_is_fitted, validate_data  # type: ignore[import-untyped]
except ImportError as error:
    advice = "CapsNetClassifier needs scikit-learn 1.6 or later: pip install 'torchcaps[sklearn]'"
    raise ModuleNotFoundError(f"{advice} ({error})", name="sklearn") from error

Shape = tuple[int, int, int]
Scale = tuple[np.ndarray | float, np.ndarray | float]
LARGE, CONVOLVED = 17, 5  # the least sides that CapsNet's two 9×9 convolutions, and two 3×3 ones, can take


class Rows(Dataset):
    """Images in memory as rows of any numbers, less the first of `scale` and over the second when they are asked for.

    >>> data = Rows(np.array([[3, 7, 5, 3]]), np.array([1]), ("a", "b"), (1, 2, 2), scale=(3.0, 4.0))
    >>> data.batch(torch.tensor([0])).images.tolist()
    [[[[0.0, 1.0], [0.5, 0.0]]]]
    """

    def __init__(
        self, rows: np.ndarray, labels: np.ndarray, classes: Sequence[str], image: Shape, *, scale: Scale, seed: int = 0
    ) -> None:
        super().__init__(classes, image, seed=seed)
        self.rows, self.labels, self.scale = rows, labels, scale

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The images of these rows, the same in every epoch."""
        at = index.cpu().numpy()
        low, span = self.scale
        images = ((self.rows[at] - low) / span).astype(np.float32).reshape(-1, *self.image_shape)
        return Batch(torch.from_numpy(images), torch.from_numpy(self.labels[at, None].astype(np.int64)))


class CapsNetClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A capsule network that is trained with `fit(X, y)` on arrays and labels of any kind.

    `X` holds images, (n, height, width), (n, channels, height, width) or, where there are 1, 3 or 4, channels last;
    flat rows of images, with `image_shape`; or rows of any numbers, a table. Images of bytes become 0 to 1; others are
    scaled so that all numbers seen in training lie between 0 and 1, tables so that those of each column do. What is
    predicted later is scaled in the same way.

    >>> X, y = np.eye(4).repeat(8, axis=0), np.array(["north", "east", "south", "west"]).repeat(8)
    >>> CapsNetClassifier(batch_size=8, lr=0.01, random_state=0).fit(X, y).predict(X[::8]).tolist()
    ['north', 'east', 'south', 'west']

    Args:
        model: a name of `list_models`, or "auto": "sabour2017/capsnet" where images have at least 17 × 17 pixels, and a
            small relative of "mitterreiter2023/capsnet" for smaller ones and for tables.
        image_shape: channels, height and width of the image in each row of a flat `X`; without it rows are a table.
        width: factor of the network's channels and capsules; 1 is the paper's own size.
        random_state: what the weights at the start and the order of the images depend on.
        model_options: more options of `create_model`, such as `{"routing": "em"}`.

    Attributes:
        classes_: the labels, sorted.
        model_: the trained network.
        history_: what was measured in each epoch.
        image_shape_: channels, height and width of the images the network takes.
        n_features_in_: how many numbers an image has.
    """

    def __init__(
        self,
        model: str = "auto",
        *,
        image_shape: Shape | None = None,
        epochs: int = 10,
        batch_size: int = 32,
        lr: float = 2e-3,
        width: float = 0.25,
        random_state: int | np.random.RandomState | None = None,
        model_options: dict[str, Any] | None = None,
    ) -> None:
        self.model, self.image_shape, self.width = model, image_shape, width
        self.epochs, self.batch_size, self.lr = epochs, batch_size, lr
        self.random_state, self.model_options = random_state, model_options

    def fit(self, X: Any, y: Any) -> "CapsNetClassifier":  # noqa: N803
        """Train a new network on images and their labels."""
        rows, shape = _flat(X)
        rows, y = validate_data(self, rows, y)
        check_classification_targets(y)
        given = shape if self.image_shape is None else _checked(self.image_shape)
        self.image_shape_ = given or (1, 1, rows.shape[1])
        self._agree(rows, shape)
        self._scale = _scale_of(rows, whole=given is not None)
        self.classes_, labels = np.unique(y, return_inverse=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        names = [str(name) for name in self.classes_]
        data = Rows(rows, labels, names, self.image_shape_, scale=self._scale, seed=seed)
        settings: dict[str, Any] = {name: getattr(self, name) for name in ("epochs", "batch_size", "lr")}
        settings["precision"] = "64" if given is None else "32"  # scikit-learn computes tables in double precision
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            run = fit(self._network(table=given is None), data, seed=seed, validation=0.0, quiet=True, **settings)
        self.model_, self.history_ = run.model, run.history
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The most probable label of each image."""
        likely = self.predict_proba(X).argmax(axis=1)  # asked first: it says so if there was no fit
        return np.asarray(self.classes_[likely])

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """The probability of each of `classes_` for each image."""
        check_is_fitted(self)
        rows, shape = _flat(X)
        rows = validate_data(self, rows, reset=False)
        self._agree(rows, shape)
        data = Rows(rows, np.zeros(len(rows), np.int64), (), self.image_shape_, scale=self._scale)
        scores = torch.cat([infer(self.model_, batch.images).scores.cpu() for batch in data.batches(256)])
        return self.model_.probabilities(scores.double()).numpy()

    def _network(self, *, table: bool) -> Model:
        c, h, w = self.image_shape_
        name, options = self.model, dict(self.model_options or {})
        if name == "auto" and min(h, w) >= LARGE:
            name = "sabour2017/capsnet"
        elif name == "auto":
            name = "mitterreiter2023/capsnet"
            small = {"backbone": _backbone(self.image_shape_, self.width), "layers": 2, "capsules": 64}
            options = {**small, "reconstruction": "none", **options}
        sizes = {"num_classes": len(self.classes_), "in_chans": c, "image_size": (h, w), "width": self.width}
        try:
            return create_model(name, **{**sizes, **options})
        except ValueError as error:
            what = f"images of {self.image_shape_}" + ", as rows are taken without image_shape=" * table
            raise ValueError(f"model={self.model!r} does not fit {what}: {error}") from error

    def _agree(self, rows: np.ndarray, shape: Shape | None) -> None:
        if shape not in (None, self.image_shape_):
            raise ValueError(f"X has images of {shape}, but image_shape is {self.image_shape_}")
        numbers = prod(self.image_shape_)
        if rows.shape[1] != numbers:
            asked = f"image_shape={self.image_shape_} is not allowed: it asks for {numbers} numbers an image"
            raise ValueError(f"{asked}, but X has {rows.shape[1]} features")


def _flat(X: Any) -> tuple[Any, Shape | None]:  # noqa: N803
    """Images as rows, with their shape; anything else as it is."""
    array = X if hasattr(X, "ndim") else np.asarray(X)
    if array.ndim not in (3, 4):
        return X, None
    array = np.asarray(array)
    array = array[:, None] if array.ndim == 3 else array
    array = channels_first(array)
    n, c, h, w = array.shape
    return array.reshape(n, c * h * w), (c, h, w)


def _checked(shape: Any) -> Shape:
    sides = tuple(shape) if isinstance(shape, tuple | list) else ()
    if len(sides) != 3 or not all(isinstance(side, Integral) and int(side) > 0 for side in sides):
        raise ValueError(f"image_shape={shape!r} is not allowed: give channels, height and width, such as (1, 28, 28)")
    c, h, w = map(int, sides)
    return c, h, w


def _scale_of(rows: np.ndarray, *, whole: bool) -> Scale:
    """What becomes 0, and how far above it what becomes 1."""
    if whole and rows.dtype == np.uint8:
        return 0.0, 255.0
    low, high = (np.asarray(end(axis=None if whole else 0), np.float64) for end in (rows.min, rows.max))
    return low, np.where(high > low, high - low, 1.0)


def _backbone(image: Shape, width: float) -> nn.Module:
    """Features of a small image: two convolutions, or one that sees all of it at once."""
    c, h, w = image
    if min(h, w) >= CONVOLVED:
        return convolutions(c, [(widen(128, width), 3, 1), (widen(256, width), 3, 2 if min(h, w) > 6 else 1)])
    return nn.Sequential(nn.Conv2d(c, widen(256, width), (h, w)), nn.ReLU())
