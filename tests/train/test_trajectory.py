"""Weights on the way: at the right steps, judged once, and there again after a stop, or an error says why not."""

import pytest
import torch

from benchmarks.kill import differences, untimed
from tests.train.separable import Separable, linear
from torchcaps.infer import infer
from torchcaps.measures import correct
from torchcaps.train import checkpoint, fit
from torchcaps.train.callbacks import Callback
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS
from torchcaps.train.settings import Settings
from torchcaps.train.trajectory import FOLDER, Point, Trajectory, weights_at

# 28 images in batches of 8, the last of four: an epoch is four steps.
CHOSEN = {"batch_size": 8, "epochs": 3, "lr": 0.05, "quiet": True, "seed": 4, "validation_data": Separable(10)}
AT = {"trajectory": {"images": [8, 20, 21, 50, 84]}}
STEPS, IMAGES = [1, 3, 7, 12], [8, 24, 52, 84]


def wrong():
    """A network whose first answers are all wrong."""
    net = linear()
    with torch.no_grad():
        net.body[1].weight.copy_(torch.tensor([[0.1], [-0.1]]))
        net.body[1].bias.copy_(torch.tensor([-0.05, 0.05]))
    return net


def trained(out, **options):
    return fit(wrong(), Separable(28), out=out, **{**CHOSEN, "callbacks": AT, **options})


def points(out):
    kept = checkpoint.newest(out / CHECKPOINTS)[0].record
    return [Point(*point) for point in dict(kept["callbacks"])["trajectory"]]


@pytest.fixture
def judged(monkeypatch):
    """The steps after which the validation images were looked at."""
    found, real = [], Training.judge
    monkeypatch.setattr(Training, "judge", lambda self, data: (found.append(self.step), real(self, data))[1])
    return found


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_weights_are_kept_at_the_first_step_at_or_past_each_number(average, tmp_path, judged):
    class Witness(Callback):
        def __init__(self):
            self.weights = {}

        def after_step(self, training):
            self.weights[training.step] = {name: t.clone() for name, t in training.judged.state_dict().items()}

    witness, watch = Witness(), Trajectory(**AT["trajectory"])
    run = trained(tmp_path / "run", average=average, callbacks=[witness, watch])
    assert [point.step for point in watch.points] == judged == STEPS
    assert [point.images for point in watch.points] == IMAGES
    batch = Separable(10).batch(torch.arange(10))
    for point in watch.points:
        kept = weights_at(tmp_path / "run" / FOLDER, point)
        net = linear()
        net.load_state_dict(kept)
        assert all(torch.equal(kept[name], t) for name, t in witness.weights[point.step].items())
        assert (point.right, point.total) == (int(correct(infer(net, batch.images).scores, batch.labels).sum()), 10)
    assert len({point.right for point in watch.points}) > 1
    assert [entry.get("validation_accuracy") for entry in run.history] == [None, None, watch.points[-1].accuracy]


def test_validation_is_judged_elsewhere_where_the_settings_ask_for_it(tmp_path, judged):
    trained(tmp_path / "a", until_accuracy=1.0, lr=1e-6)
    assert judged == [1, 3, 4, 7, 8, 12, 12]
    judged.clear()
    run = trained(tmp_path / "b", judge_every=6)
    assert judged == [1, 3, 6, 7, 12, 12]
    assert ["validation_accuracy" in entry for entry in run.history] == [False, True, False, True]


def test_nothing_is_kept_of_a_training_that_keeps_nothing(judged):
    watch = Trajectory(images=[8, 20])
    fit(linear(), Separable(28), callbacks=[watch], **CHOSEN)
    assert [point.step for point in watch.points] == judged == [1, 3]


class StopError(Exception):
    """Somebody pulled the plug."""


@pytest.mark.parametrize("stop", [0, 1, 3, 4, 7, 8, 9])
def test_a_stop_leaves_no_trace_and_nothing_is_judged_again(stop, tmp_path, monkeypatch, judged):
    """A checkpoint every other step: after steps 1, 3, 7 and 9 there are weights that are newer, or none."""
    alone = trained(tmp_path / "peace", save_every=2, average=0.9)
    judged.clear()
    real = Training.train_on

    def pulled(self, batch):
        if self.step == stop:
            raise StopError
        real(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "train_on", pulled)
        with pytest.raises(StopError):
            trained(tmp_path / "fire", save_every=2, average=0.9)
    end = trained(tmp_path / "fire", save_every=2, average=0.9, resume=True)
    assert judged == STEPS
    assert untimed(end.history) == untimed(alone.history)
    assert points(tmp_path / "fire") == points(tmp_path / "peace")
    assert differences(tmp_path / "peace", tmp_path / "fire") == []
    for point in points(tmp_path / "peace"):
        one, other = (weights_at(tmp_path / name / FOLDER, point) for name in ("peace", "fire"))
        assert all(torch.equal(one[name], other[name]) for name in one)


def _damage(path):
    path.write_bytes(path.read_bytes()[:-1] + b"\x55")


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), _damage])
def test_weights_that_are_missing_or_damaged_are_an_error(spoil, tmp_path):
    trained(tmp_path / "run")
    spoil(sorted((tmp_path / "run" / FOLDER).iterdir())[1])
    with pytest.raises(ValueError, match=r"the training kept after step 3 are missing or damaged .*put the file back"):
        trained(tmp_path / "run", epochs=4, resume=True)


def test_so_are_damaged_weights_that_are_newer_than_the_checkpoint(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Training, "save", lambda _: (_ for _ in ()).throw(StopError))
        with pytest.raises(StopError):
            trained(tmp_path / "run")
    [first, second] = sorted((tmp_path / "run" / FOLDER).iterdir())
    _damage(second)
    with pytest.raises(ValueError, match="the training kept after step 3 are missing or damaged"):
        trained(tmp_path / "run", resume=True)
    assert first.exists()


def test_weights_of_another_training_are_no_weights_of_this_one(tmp_path):
    trained(tmp_path / "run")
    [_, point, *_] = points(tmp_path / "run")
    with pytest.raises(ValueError, match="is of another training"):
        weights_at(tmp_path / "run" / FOLDER, point._replace(right=point.right + 1))


def test_a_training_that_keeps_no_images_to_judge_by_is_refused(tmp_path):
    with pytest.raises(ValueError, match="trajectory: validation=0 leaves no images to judge by"):
        fit(linear(), Separable(), validation=0.0, callbacks=AT, out=tmp_path / "run", quiet=True)


def test_broken_weights_are_never_kept(tmp_path):
    class Break(Callback):
        def after_step(self, training):
            with torch.no_grad():
                next(training.model.parameters()).fill_(torch.nan)

    with pytest.raises(FloatingPointError, match="step 1: The parameter"):
        trained(tmp_path / "run", callbacks=[Break(), Trajectory(images=[8])])
    assert not (tmp_path / "run" / FOLDER).exists()


@pytest.mark.parametrize("images", [[], [0, 8], [8, 8], [9, 8], [1.5], ["8"], [True]])
def test_numbers_that_cannot_be_are_quoted(images, no_shape_checks):
    with pytest.raises(ValueError, match="is not allowed: it must be positive whole numbers, each above the last"):
        Settings("chen2019/lenet", "glyphs", callbacks={"trajectory": {"images": images}})


def test_what_an_unfinished_write_left_is_cleared_away(tmp_path):
    trained(tmp_path / "run")
    left = tmp_path / "run" / FOLDER / "step-000000007.part"
    left.write_bytes(b"")
    trained(tmp_path / "run", resume=True)
    assert not left.exists()
