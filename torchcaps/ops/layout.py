"""How the passes want their tensors: children or parents first, instances (h w b) last, rows of a pose apart."""

from dataclasses import dataclass

from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.turn import turned


@dataclass(frozen=True)
class Layout:
    """From tensors over images and positions to those of the passes, and back.

    >>> layout = Layout((2, 3, 3), j=5, rows=4)
    >>> there = layout.split(torch.rand(2, 3, 3, 5, 16))
    >>> there.shape, layout.poses(there).shape
    (torch.Size([5, 4, 4, 18]), torch.Size([2, 3, 3, 5, 16]))

    Args:
        lead: images, and rows and columns of parents; together they are the instances.
        j: parents per position.
        rows: of a pose; one for vectors.
    """

    lead: tuple[int, int, int]
    j: int
    rows: int

    def split(self, v: Float[Tensor, "b h w j d"]) -> Float[Tensor, "j y a m"]:
        """Poses of parents, as the passes want them."""
        if self.rows == 1:
            return rearrange(v, "b h w j y -> j y 1 (h w b)")
        poses = turned(rearrange(v, "b h w j d -> (h w b) (j d)"))
        return rearrange(poses, "(j a y) m -> j y a m", j=self.j, a=self.rows)

    def poses(self, s: Float[Tensor, "j y a m"]) -> Float[Tensor, "b h w j d"]:
        """Poses of parents, as the passes gave them."""
        if self.rows == 1:
            return rearrange(s, "j y 1 (h w b) -> b h w j y", **self._sizes)
        poses = turned(rearrange(s, "j y a m -> (j a y) m"))
        return rearrange(poses, "(h w b) (j d) -> b h w j d", j=self.j, **self._sizes)

    def numbers(self, a: Float[Tensor, "b h w n"]) -> Float[Tensor, "n m"]:
        """A number for each child or parent, as the passes want them."""
        return rearrange(a, "b h w n -> n (h w b)")

    def parents(self, s: Float[Tensor, "j m"]) -> Float[Tensor, "b h w j"]:
        """A number for each parent, as the passes gave them."""
        return rearrange(s, "j (h w b) -> b h w j", **self._sizes)

    def pair(self, c: Float[Tensor, "#b #h #w #i j"]) -> Float[Tensor, "#i j #m"]:
        """A number for each child and parent, as the passes want them; one for all instances stays one."""
        if c.shape[:3] != (1, 1, 1):
            c = c.expand(*self.lead, *c.shape[3:])
        return rearrange(c, "b h w i j -> i j (h w b)")

    def unpair(self, c: Float[Tensor, "i j m"]) -> Float[Tensor, "b h w i j"]:
        """A number for each child and parent, as the passes gave them."""
        return rearrange(c, "i j (h w b) -> b h w i j", **self._sizes)

    @property
    def _sizes(self) -> dict[str, int]:
        return dict(zip("bhw", self.lead, strict=True))
