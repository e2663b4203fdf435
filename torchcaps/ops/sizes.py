"""The sizes of a pass, found from its tensors; tensors that disagree are refused."""

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor


class Sizes(NamedTuple):
    """Children, columns, rows and instances of u; parents, and columns of a vote."""

    i: int
    x: int
    a: int
    m: int
    j: int
    y: int

    @property
    def poses(self) -> tuple[int, int, int, int]:
        """The shape of what parents hold for every instance."""
        return self.j, self.y, self.a, self.m


def sizes_of(given: Mapping[str, Tensor | None], j: int) -> Sizes:
    """What the tensors of a pass, by the names of its schema, agree on. There may be no child and no instance.

    >>> u, w = torch.zeros(5, 8, 1, 3), torch.zeros(5, 8, 20)
    >>> sizes_of({"u": u, "w": w, "bias": None}, j=2)
    Sizes(i=5, x=8, a=1, m=3, j=2, y=10)
    >>> sizes_of({"u": u, "w": w, "g_mass": torch.zeros(2, 4)}, j=2)
    Traceback (most recent call last):
        ...
    ValueError: g_mass is [2, 4] of torch.float32 but must be [2, 3] of torch.float32
    """
    u, w = given["u"], given["w"]
    assert u is not None
    assert w is not None
    shapes = tuple(u.shape), tuple(w.shape)
    if u.ndim != 4 or len(shapes[1]) != 3 or j < 1 or shapes[1][2] % j or 0 in (*shapes[0][1:3], *shapes[1][1:]):
        raise ValueError(
            f"children are {shapes[0]}, maps {shapes[1]}, parents {j} but must be (i x a m), (i x j*y) and j, and "
            f"x, a, j, y at least 1"
        )
    i, x, a, m = shapes[0]
    s = Sizes(i, x, a, m, j, shapes[1][2] // j)
    for name, tensor in given.items():
        if tensor is not None:
            wanted = _shape(name, tensor, s)
            if tuple(tensor.shape) != wanted or tensor.dtype != u.dtype:
                raise ValueError(
                    f"{name} is {list(tensor.shape)} of {tensor.dtype} but must be {list(wanted)} of {u.dtype}"
                )
    return s


def _shape(name: str, tensor: Tensor, s: Sizes) -> tuple[int, ...]:
    own = {
        "u": (s.i, s.x, s.a, s.m),
        "w": (s.i, s.x, s.j * s.y),
        "bias": (s.j, s.y, s.a, 1),
        "weight": (s.i, s.m),
        "g_mass": (s.j, s.m),
    }
    if name == "prior":  # may be the same for all children, and for all instances
        shared = tensor.shape if tensor.ndim == 3 else (0, 0, 0)
        return (1 if shared[0] == 1 else s.i, s.j, 1 if shared[2] == 1 else s.m)
    return own.get(name, s.poses)
