"""Measures as the bench asks for them: by name, with options, giving numbers that a verdict can rest on."""

from torchcaps.bench.judges.accuracy import accuracy
from torchcaps.bench.subject import Judge

JUDGES: dict[str, Judge] = {
    "accuracy": accuracy,
}
