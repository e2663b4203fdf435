"""The fused passes over the votes; `torchcaps.votes` is their only caller."""

from torchcaps.ops.attend import attend
from torchcaps.ops.linear import combine, score
from torchcaps.ops.moments import moments, moments_of

__all__ = ["attend", "combine", "moments", "moments_of", "score"]
