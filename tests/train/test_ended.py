"""Whether a training has ended: by epochs, by steps, or because it was good enough; without weights it has not."""

import pytest

from tests.train.separable import linear
from torchcaps.train import Settings, unfinished
from torchcaps.train.run import MODEL, Run

FOUR = {"epoch": 3, "step": 16, "validation_accuracy": 0.9}  # after the fourth epoch
CASES = {
    "all epochs": ({"epochs": 4}, FOUR, ""),
    "one is left": ({"epochs": 5}, FOUR, "epoch 4, step 16, of 5 epochs"),
    "all steps": ({"epochs": 50, "steps": 16}, FOUR, ""),
    "more epochs than told, fewer steps": ({"epochs": 1, "steps": 1700}, FOUR, "epoch 4, step 16, of 1,700 steps"),
    "good enough": ({"epochs": 50, "until_accuracy": 0.9}, FOUR, ""),
    "not good enough": ({"epochs": 50, "until_accuracy": 0.91}, FOUR, "epoch 4, step 16, of 50 epochs"),
    "nothing yet": ({"epochs": 2}, None, "its first epoch, of 2 epochs"),
}


@pytest.mark.parametrize("case", CASES)
def test_how_far_it_got(case, tmp_path):
    told, last, expected = CASES[case]
    (tmp_path / MODEL).mkdir()
    (tmp_path / MODEL / "config.json").write_text("{}")
    settings, history = Settings("custom", "custom", **told), [] if last is None else [{"epoch": 0, "step": 4}, last]
    run = Run(linear(), settings, ("a", "b"), (1, 1, 1), history, tmp_path)
    assert unfinished(run).startswith(f"the training has not ended: it got to {expected}. Go on" if expected else "")
    assert bool(unfinished(run)) == bool(expected)
    (tmp_path / MODEL / "config.json").unlink()
    assert unfinished(run).startswith("the training has not ended: it got to ")
    run.directory = None
    assert unfinished(run) == ""
