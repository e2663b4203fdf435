"""When learning starts, from logs written by hand and by `fit`."""

import json

import pytest
from matplotlib.figure import Figure

from torchcaps.data import Sign
from torchcaps.measures import Nothing, onset
from torchcaps.train import fit


def log(*epochs):
    """Lines of a log: the accuracy of each step, epoch by epoch, as the loop tells it: the mean of the epoch so far."""
    lines, step = [{"event": "begin"}], 0
    for epoch, own in enumerate(epochs):
        for k in range(len(own)):
            step += 1
            lines.append({"event": "step", "epoch": epoch, "step": step, "accuracy": sum(own[: k + 1]) / (k + 1)})
        lines.append({"event": "epoch", "epoch": epoch, "step": step, "accuracy": sum(own) / len(own)})
    return lines


def test_the_first_step_above_twice_chance():
    lines = log([0.1, 0.1, 0.1, 0.1], [0.1, 0.3, 0.3, 0.3])
    assert onset(lines, 10, window=1).step == 6
    assert onset(lines, 10, window=2).step == 7  # 0.1 and 0.3 are exactly 0.2 in the mean, which does not pass
    assert onset(lines, 10, window=3).step == 7
    assert onset(lines, 10, window=8).step is None
    assert onset(lines, 5, window=1).step is None
    found = onset(lines, 10, window=2)
    assert [value for _, value in found.curve] == pytest.approx([0.1] * 5 + [0.2, 0.3, 0.3])
    assert (found.steps, found.threshold) == (8, 0.2)


def test_two_classes_have_a_threshold_of_their_own():
    assert onset(log([0.5, 0.54, 0.56]), 2, window=1).step == 3


def test_logs_on_disk(tmp_path):
    run = fit("peer2021/sign", Sign(count=256), out=tmp_path / "run", epochs=1, batch_size=32, quiet=True)
    found = onset(tmp_path / "run", 2, window=4)
    assert found.steps == 8
    assert found == onset(tmp_path / "run" / "log.jsonl", 2, window=4)
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    steps = [line["accuracy"] for line in lines if line["event"] == "step"]
    assert found.curve[-1][1] == pytest.approx((8 * steps[7] - 4 * steps[3]) / 4)
    assert len(run.history) == 1


def test_a_training_that_never_learned_is_drawn_without_the_step():
    learned, not_learned = (onset(log([0.1, 0.3]), classes, window=1) for classes in (10, 5))
    assert [_labels(found) for found in (learned, not_learned)] == [
        ["running accuracy", "threshold 20%", "step 2"],
        ["running accuracy", "threshold 40%"],
    ]


def _labels(found):
    axes = Figure().subplots()
    found.draw(axes)
    return [line.get_label() for line in axes.get_lines()]


def test_mistakes():
    assert onset([], 10) == Nothing("onset", "the log has no steps")
    with pytest.raises(ValueError, match="window=0 is not allowed"):
        onset(log([0.1]), 10, window=0)
