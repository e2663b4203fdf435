"""The small models learn 32 images by heart; `python -m benchmarks.overfit` does it for all."""

import pytest

from benchmarks.overfit import overfit

WIDTHS = {
    "peer2021/sign": 1.0,
    "chen2019/lenet": 1.0,
    "chen2019/multi_gcaps": 0.25,
    "mitterreiter2023/capsnet": 0.1,
    "tsai2020/inverted_simple": 0.1,
    "tsai2020/em_simple": 0.1,
    "sabour2017/capsnet": 0.1,
}


@pytest.mark.parametrize(("name", "width"), WIDTHS.items())
def test_thirty_two_images_by_heart(name, width):
    accuracy, _ = overfit(name, width, steps=300)
    assert accuracy == 1.0
