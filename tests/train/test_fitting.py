"""`fit` and `prepare`: what a quick try leaves out, and whose options count."""

import pytest
import torch
from torch import nn

from tests.train.separable import Separable, linear
from torchcaps import fit
from torchcaps.train import fitting
from torchcaps.train.fitting import prepare
from torchcaps.train.settings import Settings


@pytest.mark.parametrize("told", [{"epochs": 9}, {"steps": 9}, {"steps": 9, "judge_every": 1}])
def test_a_quick_try_is_two_batches_whatever_is_set(told):
    chosen = {"validation_data": Separable(4), "batch_size": 4, "quiet": True}
    run = fit(linear(), Separable(), fast_dev_run=True, **chosen, **told)
    assert [entry["step"] for entry in run.history] == [2]


def test_options_that_are_given_come_before_those_of_the_data(glyphs):
    settings = Settings("chen2019/lenet", "custom", options={"width": 0.2, "num_classes": 7})
    network, settings, _ = prepare(settings, "chen2019/lenet", glyphs)
    assert settings.options == {"width": 0.2, "num_classes": 7, "in_chans": 1, "image_size": 28}
    assert network(torch.rand(2, 1, 28, 28)).scores.shape == (2, 7)


def test_weights_that_find_no_room_are_told_with_what_is_safe(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fitting, "keep_final", full)
    with pytest.raises(OSError, match=r"the folder model could not be saved .*No space.* is whole: .*--resume"):
        fit(linear(), Separable(), out=tmp_path / "run", epochs=1, quiet=True, validation=0.0)


def test_a_network_that_cannot_be_built_is_told_with_its_options(glyphs, monkeypatch):
    """Where the model itself has no better word for what is wrong."""

    def refuse(name, **options):
        raise TypeError("'<' not supported")

    monkeypatch.setattr("torchcaps.train.fitting.create_model", refuse)
    said = r"sabour2017/capsnet cannot be built with .*routing_options=\{'iters': 2\}: '<' not supported"
    with pytest.raises(ValueError, match=said):
        fit("sabour2017/capsnet", glyphs, options={"routing_options": {"iters": 2}}, quiet=True)


def test_a_loss_need_not_know_of_annealing():
    """Any module will do that makes a number of scores and targets."""

    class Squares(nn.Module):
        def forward(self, scores, targets):
            return (scores - targets).square().mean()

    network = linear()
    network.loss = Squares()
    run = fit(network, Separable(), epochs=2, batch_size=8, lr=0.1, quiet=True, validation=0.0)
    assert run.history[-1]["loss"] < run.history[0]["loss"]
