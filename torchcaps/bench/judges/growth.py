"""How the cost of routing by agreement and of self-attention grows (mitterreiter2023, table 3)."""

from collections.abc import Sequence

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.measures import complexity
from torchcaps.measures.complexity import TERMS, Growth

CONTENDERS = {"dense": "RBA, dense", "fused": "RBA, fused", "attention": "MHSA"}


def growth(
    subject: Subject,  # noqa: ARG001  # nothing is trained, and each seed is a repetition
    *,
    contender: str,
    ns: Sequence[int] = (16, 32, 64, 128),
    ds: Sequence[int] = (8, 16, 32),
    batch: int = 16,
    seconds: float = 0.2,
) -> Found:
    """Exponents of n and d in parameters, multiply-adds, time and peak memory.

    "excess" is a measured exponent of time less that of the counted multiply-adds over the same grid; "misfit" how far
    the counted multiply-adds are from a sum of the contender's two terms, at worst.

    Args:
        contender: "dense" or "fused" routing by agreement, or "attention".
    """
    result = complexity(ns, ds, batch=batch, seconds=seconds, contenders=[CONTENDERS[contender]])
    [grown] = result.contenders
    laws = {law.quantity: law for law in grown.laws}
    numbers = {f"{q}/{size}": Number(getattr(law, size).value) for q, law in laws.items() for size in "nd"}
    for size in "nd":
        excess = getattr(laws["seconds"], size).value - getattr(laws["multiply_adds"], size).value
        numbers[f"excess/{size}"] = Number(excess)
    return Found({**numbers, "misfit": Number(_misfit(grown))}, {"growth": result.to_json()})


def _misfit(grown: Growth) -> float:
    law = next(law for law in grown.laws if law.quantity == "multiply_adds")
    powers = list(TERMS[grown.name.split(",")[0]].values())
    shares = [of.value for _, of in law.terms]

    def fitted(n: int, d: int) -> float:
        return float(sum(share * n**a * d**b for share, (a, b) in zip(shares, powers, strict=True)))

    return max(abs(fitted(p.n, p.d) / p.multiply_adds - 1) for p in grown.points)
