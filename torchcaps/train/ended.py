"""Whether a training has come to its end."""

from torchcaps.network import CONFIG
from torchcaps.train.final import ending_of, is_end, is_enough
from torchcaps.train.run import MODEL, Run


def unfinished(run: Run) -> str:
    """How far a training got that has not ended, in words; '' of one that has, or that was not kept.

    >>> from torchcaps.train import fit
    >>> unfinished(fit("peer2021/sign", "sign", fast_dev_run=True, quiet=True))
    ''
    """
    if run.directory is None:
        return ""
    told, last = run.settings, run.history[-1] if run.history else {}
    epoch, step = last.get("epoch", -1) + 1, last.get("step", 0)
    done = step >= told.steps if told.steps is not None else epoch >= told.epochs
    enough = is_enough(told, last)
    if (run.directory / MODEL / CONFIG).is_file() and not _of_less(run) and (enough or done):
        return ""
    aim = f"{told.steps:,} steps" if told.steps is not None else f"{told.epochs:,} epochs"
    reached = f"epoch {epoch}, step {step:,}" if last else "its first epoch"
    return f"the training has not ended: it got to {reached}, of {aim}. Go on with torchcaps train … --resume"


def _of_less(run: Run) -> bool:
    """Whether the network that is kept is of a shorter training, which now goes on."""
    try:
        ending = None if run.directory is None else ending_of(run.directory / MODEL)
    except (ValueError, OSError):  # what is damaged was said when it was read
        return False
    return ending is not None and ending.images is not None and not is_end(run.settings, ending.history, ending.images)
