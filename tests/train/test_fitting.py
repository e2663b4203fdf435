"""`fit` and `prepare`: what a quick try leaves out, and whose options count."""

import pytest
import torch

from tests.train.separable import Separable, linear
from torchcaps import fit
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
