"""Ordinary torch in place of every pass, for a while: what the passes are compared with."""

from collections.abc import Iterator
from contextlib import contextmanager

_plain = False


@contextmanager
def plainly() -> Iterator[None]:
    """Inside, the passes are ordinary torch, on every device.

    >>> layer = CapsuleLayer(CapsShape((2, 2), 3, 4), n=5)
    >>> below = Capsules(torch.rand(1, 2, 2, 3, 4), torch.rand(1, 2, 2, 3))
    >>> with plainly():
    ...     pose = layer(below).pose
    >>> torch.allclose(pose, layer(below).pose, atol=1e-5)
    True
    """
    global _plain
    before, _plain = _plain, True
    try:
        yield
    finally:
        _plain = before


def is_plain() -> bool:
    """Whether we are inside."""
    return _plain
