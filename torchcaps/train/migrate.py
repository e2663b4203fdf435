"""Settings as older versions wrote them, in run.json and in checkpoints: one table, a row for each format."""

from collections.abc import Callable
from typing import Any

from torchcaps.data import NAMES, list_datasets

FORMAT, UNSEALED = 3, 1
"""Today's format, and the last one in which run.json had no checksum."""
RENAMED = {"reconstruction": "reconstruction_weight", "schedule": "lr_schedule"}
"""Settings of format 1 under the names they have now."""

Values = dict[str, Any]


def _from_1(settings: Values) -> Values:
    return {RENAMED.get(name, name): value for name, value in settings.items()}


def _from_2(settings: Values) -> Values:
    """A user's own images were parted by the names of files; a network trained on them so is judged by them so."""
    named = ["custom", None, *list_datasets()]
    rule = {"rule": NAMES}
    for data, options in (("data", "data_options"), ("validation_data", "validation_options")):
        if settings.get(data) not in named:
            settings = {**settings, options: {**settings.get(options, {}), **rule}}
    return settings


MIGRATIONS: dict[int, Callable[[Values], Values]] = {1: _from_1, 2: _from_2}
"""From the settings of a format to those of the next."""


def migrated(settings: Values, written: Any) -> Values:
    """Settings in today's format; one that nobody knows is an error that says which are read.

    >>> migrated({"schedule": "cosine"}, 1)
    {'lr_schedule': 'cosine'}

    Args:
        settings: as they stand in the file.
        written: the format that the file names.
    """
    if not isinstance(written, int) or not min(MIGRATIONS) <= written <= FORMAT:
        raise ValueError(f"its format is {written!r}, and this version reads {min(MIGRATIONS)} to {FORMAT}")
    for version in range(written, FORMAT):
        settings = MIGRATIONS[version](settings)
    return settings
