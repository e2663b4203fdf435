"""When a training starts to learn."""

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.measures import Nothing
from torchcaps.measures import onset as measure


def onset(subject: Subject, *, classes: int = 10) -> Found:
    """The share of the steps after which the running training accuracy passes chance; 1 if it never does."""
    found = measure(subject.own.folder, classes)
    if isinstance(found, Nothing):
        return Found({"onset": Number(None)})
    share = 1.0 if found.step is None else found.step / found.steps
    return Found({"onset": Number(share)}, {"curve": [[step, round(value, 4)] for step, value in found.curve]})
