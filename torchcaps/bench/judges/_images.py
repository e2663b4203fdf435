"""What a row's network is shown."""

from collections.abc import Callable, Mapping
from typing import Any

from torchcaps.bench.subject import Subject, images
from torchcaps.data import Dataset
from torchcaps.measures import View
from torchcaps.measures.views import affine, clean, overlap

VIEWS: dict[str, Callable[..., View]] = {"clean": lambda: clean, "affine": affine, "overlap": overlap}


def shown(
    subject: Subject,
    view: str,
    count: int,
    *,
    split: str = "test",
    data: Mapping[str, Any] | None = None,
    **options: Any,
) -> Dataset:
    """Images of the row's own kind, seen in a way; options are the view's."""
    own = subject.own
    return VIEWS[view](**options)(own.model, images(own.settings, count, split=split, **(data or {})))
