"""Which images are to learn from, to validate and to test by: decided by each image's contents, and by nothing else.

An image's SHA-256 is as good as a number drawn for it once and for all. So other images that come or go, other names,
machines and orders never move it from one part to another, and copies of it stay with it.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

PARTS = ("train", "validation", "test")
TEST_SHARE = 0.2
_NAMES = {"train": "train", "test": "test", "val": "validation", "valid": "validation", "validation": "validation"}


class Item(NamedTuple):
    """An image that was found: what it is called, the SHA-256 of its contents, its class, the part the user chose."""

    name: str
    digest: bytes
    label: int
    given: str | None = None


def part_named(name: str) -> str | None:
    """The part that the user means by the name of a folder or an array.

    >>> part_named("Val"), part_named("cats")
    ('validation', None)
    """
    return _NAMES.get(name.lower())


def drawn(digest: bytes) -> tuple[float, float]:
    """Two numbers from 0 up to 1 that an image has for ever: for testing, and for validation.

    >>> [round(u, 3) for u in drawn(bytes.fromhex("80" + 15 * "00" + 16 * "ff"))]
    [0.5, 0.0]
    """
    first, second = struct.unpack(">QQ", digest[:16])
    return first / 2**64, second / 2**64


def divide(
    items: Iterable[Item], *, validation: float = 0.0, make_missing: bool = False
) -> tuple[dict[str, list[Item]], list[Item]]:
    """The images of each part, in their order, and those left out because they are copies of one judged by.

    Without parts of the user's own a fifth is for testing, and `validation` of the rest for validation. The user's own
    are kept as they are; only what is missing is made: images to validate by, from those to learn from; and with
    `make_missing` a test part from the training part, or the other way round.

    Args:
        validation: share of the images to learn from.
        make_missing: whether one of the user's own parts is divided to make the other.
    """
    items = list(items)
    given = {item.given for item in items}
    judged = {item.digest: item.given for part in ("validation", "test") for item in items if item.given == part}
    found: dict[str, list[Item]] = {part: [] for part in PARTS}
    copies = list[Item]()
    for item in items:
        if item.given is not None and judged.get(item.digest, item.given) != item.given:
            copies.append(item)
        else:
            found[_part(item, given, validation, make_missing=make_missing)].append(item)
    return found, copies


def _part(item: Item, given: set[str | None], validation: float, *, make_missing: bool) -> str:
    for_testing, for_validation = drawn(item.digest)
    part = item.given or "train"
    divided = item.given is None or make_missing
    if part == "train" and divided and "test" not in given and for_testing < TEST_SHARE:
        return "test"
    if part == "test" and divided and "train" not in given and for_testing >= TEST_SHARE:
        part = "train"
    if part == "train" and "validation" not in given and for_validation < validation:
        return "validation"
    return part


def missing(items: Sequence[Item]) -> str | None:
    """Which of a training and a test part the user's own parts lack.

    >>> missing([Item("a", b"", 0, "train")])
    'test'
    """
    given = {item.given for item in items}
    if None in given:
        return None
    return next((part for part in ("train", "test") if part not in given), None)
