"""The lines of a training: written at once, added to those that are there, and forgotten after a checkpoint's step."""

import json
from types import SimpleNamespace

import pytest

from torchcaps.train.log import LOG, Log, forget_after

VALUES = {"epoch": 0, "loss": 0.5, "accuracy": 0.25}


def lines(folder):
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]


def test_every_line_is_in_the_file_at_once_behind_those_before(tmp_path):
    """A kill gives no time to write; going on adds to what is there."""
    for first in (1, 3):
        with Log(tmp_path, 4, quiet=True, speaks=True) as log:
            for step in (first, first + 1):
                log.step(step, 8, VALUES)
                assert lines(tmp_path)[-1] == {"event": "step", "step": step, **VALUES}
    assert [line["step"] for line in lines(tmp_path)] == [1, 2, 3, 4]


def test_whole_epochs_and_judgings_inside_them(tmp_path, capsys):
    with Log(tmp_path, 4, quiet=False, speaks=True) as log:
        log.entry({**VALUES, "step": 3, "images_per_second": 20.0, "validation_accuracy": 0.75}, whole=False)
        log.entry({**VALUES, "step": 4, "images_per_second": 20.0}, whole=True)
    assert [(line["event"], line["step"]) for line in lines(tmp_path)] == [("judging", 3), ("epoch", 4)]
    said = [line.strip() for line in capsys.readouterr().err.splitlines()]
    assert "step 3: loss 0.5000  accuracy 25.00%  validation 75.00%  20 images/s" in said
    assert "epoch 1: loss 0.5000  accuracy 25.00%  20 images/s" in said


def test_the_speed_is_that_of_all_images_since_it_began(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr("torchcaps.train.log.time", SimpleNamespace(perf_counter=lambda: now.seconds))
    with Log(None, 4, quiet=True, speaks=True) as log:
        for step, (images, seconds) in enumerate([(30, 101.0), (30, 103.0), (20, 104.0)], 1):
            now.seconds = seconds
            log.step(step, images, VALUES)
        assert log.rate() == pytest.approx(80 / 4)


def test_the_bar_says_something_new_five_times_a_second(monkeypatch):
    now, told = SimpleNamespace(seconds=100.0), []
    monkeypatch.setattr("torchcaps.train.log.time", SimpleNamespace(perf_counter=lambda: now.seconds))
    with Log(None, 4, quiet=True, speaks=True) as log:
        for now.seconds, loss in ((100.0, 0.5), (100.1, 0.4), (100.3, 0.3)):
            log.step(1, 8, {**VALUES, "loss": loss})
            told.append(log.progress.tasks[0].description)
    assert ["loss 0.5" in text for text in told] == [True, True, False]
    assert "loss 0.3" in told[2]


def test_lines_after_a_step_are_forgotten_with_a_torn_one(tmp_path):
    forget_after(tmp_path, 2)
    assert not (tmp_path / LOG).exists()
    written = [{"event": "step", "step": 1}, {"event": "step", "step": 2}, {"event": "epoch", "step": 2}]
    later = [{"event": "step", "step": 3}, {"event": "step", "step": 4}]
    (tmp_path / LOG).write_text("".join(json.dumps(line) + "\n" for line in written + later) + '{"event": "st')
    forget_after(tmp_path, 2)
    assert lines(tmp_path) == written
    assert [path.name for path in tmp_path.iterdir()] == [LOG]


def test_a_full_disk_is_told_with_what_is_safe(tmp_path, monkeypatch):
    def full():
        raise OSError(28, "No space left on device")

    with Log(tmp_path, 4, quiet=True, speaks=True) as log, monkeypatch.context() as patched:
        patched.setattr(log, "file", SimpleNamespace(name="log.jsonl", write=len, flush=full))
        said = r"log\.jsonl could not be written \(.*No space.*\); the checkpoints are whole\. .* --resume"
        with pytest.raises(OSError, match=said):
            log.step(1, 8, VALUES)


@pytest.mark.parametrize("line", ['{"event": "x"}', "[1]", "7", '{"step": "a"}', "[" * 100_000, '{"step": null}'])
def test_a_line_without_a_step_is_forgotten(line, tmp_path):
    (tmp_path / LOG).write_text(f'{{"step": 1}}\n{line}\n{{"step": 2}}\n')
    forget_after(tmp_path, 2)
    assert (tmp_path / LOG).read_text() == '{"step": 1}\n{"step": 2}\n'
