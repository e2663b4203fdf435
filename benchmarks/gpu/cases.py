"""Which calls of the passes are compiled: every specialisation that occurs in the library, and some that others need.

A kernel is compiled for the size of its tile, the kind of numbers and the tensors that are there. Sizes that lie in the
same tile differ by what is masked alone, so one of them stands for all.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from torchcaps.ops.sizes import Sizes

SHAPES = {
    "FC 1152×8→10×16, batch 128": Sizes(1152, 8, 1, 128, 10, 16),
    "FC 1152×8→10×16, batch 1": Sizes(1152, 8, 1, 1, 10, 16),
    "FC 2048×8→100×16, batch 32": Sizes(2048, 8, 1, 32, 100, 16),
    "FC 512×16→10×16, batch 32": Sizes(512, 16, 1, 32, 10, 16),
    "conv 288×4×4→32×4×4, batch 8": Sizes(288, 4, 4, 392, 32, 4),
    "conv 72×8→8×8, batch 32": Sizes(72, 8, 1, 1152, 8, 8),
}
OWN = {  # the papers' models have these tiles besides
    "FC 2048×8→10×8, batch 8": Sizes(2048, 8, 1, 8, 10, 8),
    "FC 1×1→20×1, batch 8": Sizes(1, 1, 1, 8, 20, 1),
    "FC 20×1→2×1, batch 8": Sizes(20, 1, 1, 8, 2, 1),
    "FC 576×8×8→10×8×8, batch 8": Sizes(576, 8, 8, 8, 10, 8),
    "FC 800×4×4→10×4×4, batch 8": Sizes(800, 4, 4, 8, 10, 4),
}
ODD = {
    "FC 512×64→10×64, batch 32": Sizes(512, 64, 1, 32, 10, 64),
    "FC 30×100→3×100, batch 7": Sizes(30, 100, 1, 7, 3, 100),
    "conv 27×3×5→7×5×3, batch 5": Sizes(27, 3, 5, 45, 7, 3),
    "FC 1×8→10×16, batch 1": Sizes(1, 8, 1, 1, 10, 16),
}
ALL = SHAPES | OWN | ODD
KINDS = {"float32": torch.float32, "TF32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Options(NamedTuple):
    """Which tensors a pass is given, and how it runs; "prior" says what it differs by: i, m, both or neither."""

    bias: bool = False
    query: bool = True
    precision: bool = False
    prior: str | None = None
    weight: bool = False
    detach: bool = False
    deterministic: bool = False


USUAL = {
    "attend": Options(),
    "moments": Options(query=False, precision=True, prior="m", weight=True),
}
OCCURRING = {  # in layers of the library: padded windows have weights, and votes may have a bias
    "attend": [
        Options(weight=True),
        Options(bias=True),
        Options(bias=True, weight=True),
        Options(prior="i"),
        Options(query=False, prior="im", weight=True),
        Options(query=False, prior="im", weight=True, bias=True),
        Options(bias=True, detach=True),
    ],
    "moments": [
        Options(query=False, weight=True),
        Options(query=False, weight=True, bias=True),
        Options(query=False, precision=True, prior="m", weight=True, bias=True),
    ],
}
FURTHER = {
    "attend": [
        Options(deterministic=True),
        Options(prior="m", deterministic=True),
        Options(prior="", bias=True, weight=True, deterministic=True),
    ],
    "moments": [
        Options(query=False, precision=True, prior="m", weight=True, deterministic=True),
        Options(bias=True, precision=True, prior="im", deterministic=True),
        Options(query=True, prior="i"),
        Options(query=False, precision=True, prior="", bias=True),
    ],
}


class Case(NamedTuple):
    """A pass to compile, forward and backward."""

    operator: str
    shape: str
    kind: str
    options: Options


ONE_BLOCK, SEVERAL, CONV = "FC 1152×8→10×16, batch 128", "FC 2048×8→100×16, batch 32", "conv 288×4×4→32×4×4, batch 8"


def cases() -> Iterator[Case]:
    """Usual calls in single precision; what else occurs in the library; other kinds of numbers, calls and shapes."""
    for operator, shape in itertools.product(USUAL, SHAPES):
        yield Case(operator, shape, "float32", USUAL[operator])
    yield from _of_models()
    for operator, several in OCCURRING.items():
        for options, shape in itertools.product(several, (ONE_BLOCK, SEVERAL)):
            yield Case(operator, shape, "float32", options)
    for operator in USUAL:
        yield from _others(operator)


def _others(operator: str) -> Iterator[Case]:
    for kind, shape in itertools.product(("TF32", "bfloat16", "float16"), (ONE_BLOCK, SEVERAL, CONV)):
        yield Case(operator, shape, kind, USUAL[operator])
    for options, shape in zip(FURTHER[operator], itertools.cycle((ONE_BLOCK, SEVERAL))):
        yield Case(operator, shape, "float32", options)
    for shape in ODD:
        yield Case(operator, shape, "float32", USUAL[operator])


def _of_models() -> Iterator[Case]:
    """Calls of the papers' models with tiles that are their own."""
    for shape in OWN:
        yield Case("attend", shape, "float32", USUAL["attend"])
    small, matrices = "FC 2048×8→10×8, batch 8", "FC 800×4×4→10×4×4, batch 8"
    yield Case("attend", small, "float32", Options(prior="i"))
    yield Case("moments", matrices, "float32", USUAL["moments"])
    for shape in (matrices, CONV):
        yield Case("moments", shape, "float32", OCCURRING["moments"][0])


FEW = {
    Case("moments", "FC 1152×8→10×16, batch 128", "float32", USUAL["moments"]): ("sm_75", "sm_90", "gfx942"),
    Case("attend", "FC 2048×8→100×16, batch 32", "bfloat16", USUAL["attend"]): ("sm_80", "gfx1100"),
}


def keys(archs: Sequence[str], *, few: bool = False) -> Iterator[tuple[tuple[str, ...], Case]]:
    """Every case for every card, under the name of its line."""
    for case in FEW if few else cases():
        for arch in FEW[case] if few else archs:
            yield (arch, case.operator, case.shape, case.kind, _told(case.options)), case


def _told(options: Options) -> str:
    return ", ".join(f"{name}={value}" for name, value in options._asdict().items() if value not in (False, None))
