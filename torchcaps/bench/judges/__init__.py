"""Measures as the bench asks for them: by name, with options, giving numbers that a verdict can rest on."""

from torchcaps.bench.judges.accuracy import accuracy
from torchcaps.bench.judges.course import course
from torchcaps.bench.judges.growth import growth
from torchcaps.bench.judges.iterations import iterations
from torchcaps.bench.judges.onset import onset
from torchcaps.bench.judges.parameters import parameters
from torchcaps.bench.judges.symmetry import symmetry
from torchcaps.bench.subject import Judge

JUDGES: dict[str, Judge] = {
    "accuracy": accuracy,
    "course": course,
    "growth": growth,
    "iterations": iterations,
    "onset": onset,
    "parameters": parameters,
    "symmetry": symmetry,
}
