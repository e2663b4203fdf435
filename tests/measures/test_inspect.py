"""Everything in as few walks as there are views, in memory that does not grow with the images."""

import json
import subprocess
import sys

import pytest
import torch

from tests.measures.scripted import Eyes, specks
from torchcaps.data import Overlapping, Sign, load
from torchcaps.measures import INSPECTIONS, Nothing, Result, accuracy, inspect
from torchcaps.measures.views import VIEWS
from torchcaps.models import create_model


@pytest.fixture(scope="module")
def digits():
    return load("glyphs", "test", count=12)


@pytest.fixture(scope="module")
def capsnet():
    return create_model("mitterreiter2023/capsnet", image_size=28, width=0.2)


def test_all_that_can_be_measured_and_one_walk_a_view(digits, capsnet):
    calls = []
    found = inspect(capsnet, digits, batch_size=66, progress=lambda *told: calls.append(told))
    assert tuple(found) == INSPECTIONS
    assert not any(isinstance(result, Nothing) for result in found.values())
    for result in found.values():
        text = json.dumps(result.to_json(), allow_nan=False)
        assert Result.from_json(json.loads(text)).to_json() == result.to_json()
    walks = {title: total for title, _, total in calls}
    assert walks == {
        "images as they are": 12,
        "affine images": 12,
        "overlap images": 12,
        "single transformations": 12 * 66,
    }
    for title, total in walks.items():
        done = [done for told, done, _ in calls if told == title]
        assert done == sorted(set(done))  # nothing is walked over twice
        assert done[-1] == total


def test_accuracies_are_those_of_the_views(digits, capsnet):
    found = inspect(capsnet, digits, ["accuracy", "overlap"])
    assert found["accuracy"].score == accuracy(capsnet, digits)
    assert found["overlap"].score == accuracy(capsnet, VIEWS["overlap"](capsnet, digits))


def test_what_is_asked_for_in_its_order_and_in_such_batches():
    net, data, told = Eyes(3), specks(23), []
    names = ["overlap", "predictions", "affine", "accuracy"]
    found = inspect(net, data, names, batch_size=10, progress=lambda *now: told.append(now))
    assert list(found) == names
    walks = {"images as they are": "clean", "affine images": "affine", "overlap images": "overlap"}
    assert told == [(walk, done, 23) for walk in walks for done in (10, 20, 23)]
    for k, view in enumerate(walks.values()):
        images = VIEWS[view](net, data).batch(torch.arange(23)).images
        torch.testing.assert_close(torch.cat(net.seen[3 * k : 3 * k + 3]), images)


def test_sets_of_objects_are_judged_and_counted_by_one_threshold():
    """Data of one object or two: both measures name the classes above the threshold, none of them as many as shown."""

    class Shy(Eyes):
        def forward(self, x, record="none"):
            return super().forward(x, record)._replace(scores=torch.tensor([-1.0, -2.0, -3.0]).expand(len(x), 3))

    diverse = Overlapping(specks(), single=0.5)
    found = inspect(Shy(3), diverse, ["accuracy", "predictions"])
    assert (found["accuracy"].threshold, found["accuracy"].hits) == (0.0, 0)
    assert found["predictions"].named == (0, 0, 0)
    assert inspect(Shy(3), Overlapping(specks()), ["predictions"])["predictions"].named == (9, 9, 0)


def test_where_there_is_nothing_to_measure_it_says_why(digits):
    found = inspect(create_model("chen2019/lenet"), digits)
    silent = {name for name, result in found.items() if isinstance(result, Nothing)}
    assert silent == {"activity", "dynamics", "parse_tree", "compactness", "invariance"}
    sign = inspect(create_model("peer2021/sign"), Sign(count=20), ["affine", "invariance", "activity"])
    assert "needs stored images, and Sign has none" in sign["affine"].why
    assert "needs stored images" in sign["invariance"].why


def test_names_that_are_none_are_quoted(digits, capsnet):
    with pytest.raises(ValueError, match="no measure 'activty': choose from 'accuracy', 'predictions', 'activity'"):
        inspect(capsnet, digits, ["activty"])


MEMORY = """
import resource, sys, torch
from torchcaps.data import Stored
from torchcaps.measures import inspect
from torchcaps.models import create_model
torch.set_num_threads(1)
count = int(sys.argv[1])
digits = Stored(torch.randint(0, 256, (count, 1, 28, 28), dtype=torch.uint8), torch.arange(count) % 10, "0123456789")
net = create_model("sabour2017/capsnet", width=0.06, reconstruction="none")
inspect(net, digits, ["accuracy", "predictions", "activity", "dynamics", "parse_tree", "overlap"])
inspect(net, digits.select(torch.arange(count // 100)), ["affine_curves", "compactness", "invariance"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_ten_times_the_images_do_not_take_fifty_megabytes_more():
    few, many = (
        int(subprocess.run([sys.executable, "-c", MEMORY, str(n)], capture_output=True, text=True, check=True).stdout)
        for n in (1_000, 10_000)
    )
    assert many - few < 50
