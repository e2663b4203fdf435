"""Measures as the bench asks for them: by name, with options, giving numbers that a verdict can rest on."""

from torchcaps.bench.judges.accuracy import accuracy
from torchcaps.bench.judges.course import course
from torchcaps.bench.judges.drawn import drawn
from torchcaps.bench.judges.full_size import full_size
from torchcaps.bench.judges.growth import growth
from torchcaps.bench.judges.iterations import iterations
from torchcaps.bench.judges.layers import layers
from torchcaps.bench.judges.onset import onset
from torchcaps.bench.judges.robust import transferred, universal
from torchcaps.bench.judges.step_time import step_time
from torchcaps.bench.judges.symmetry import symmetry
from torchcaps.bench.subject import Judge

JUDGES: dict[str, Judge] = {
    "accuracy": accuracy,
    "course": course,
    "drawn": drawn,
    "full_size": full_size,
    "growth": growth,
    "iterations": iterations,
    "layers": layers,
    "onset": onset,
    "step_time": step_time,
    "symmetry": symmetry,
    "transferred": transferred,
    "universal": universal,
}
