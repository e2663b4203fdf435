"""One walk for all measures: what it asks for, how large its batches are, and how little it keeps."""

import subprocess
import sys

import pytest
import torch

from tests.measures.scripted import Numbered, Scripted
from torchcaps.data import Stored
from torchcaps.data.glyphs import load_glyphs
from torchcaps.measures import MEASURES, Accuracy, Activity, Measure, Nothing, walk
from torchcaps.measures._moments import Moments
from torchcaps.models import create_model


class Spy:
    """Notes what a walk shows it."""

    def __init__(self, record):
        self.record = record

    def begin(self, model, data):
        self.seen, self.labels = [], []

    def update(self, parse, batch):
        assert not torch.is_grad_enabled() or not parse.scores.requires_grad
        self.seen.append((len(batch.images), len(parse.capsules), len(parse.couplings), len(parse.history)))
        self.labels += batch.labels[:, 0].tolist()

    def result(self):
        return Nothing("spy", "it only looks")


def test_one_pass_feeds_all_with_as_much_as_the_hungriest_needs(monkeypatch):
    data = load_glyphs("test", 10)
    net = create_model("sabour2017/capsnet", width=0.05)
    calls, told = [], []
    forward = net.forward
    monkeypatch.setattr(net, "forward", lambda x, record="none": calls.append((len(x), record)) or forward(x, record))
    for records, expected in ((("none",), (1, 0, 0)), (("none", "last"), (2, 1, 0)), (("all", "last"), (2, 1, 1))):
        spies = [Spy(record) for record in records]
        assert all(isinstance(spy, Measure) for spy in spies)
        told.clear()
        walk(net, data, spies, batch_size=4, progress=lambda *p: told.append(p))
        for spy in spies:
            assert spy.seen == [(size, *expected) for size in (4, 4, 2)]
            assert spy.labels == data.labels.tolist()
        assert told == [(4, 10), (8, 10), (10, 10)]
    assert [size for size, record in calls if record == "none"] == [4, 4, 2]
    assert [size for size, record in calls if record == "last"] == [1, 4, 4, 2]  # one image tells how large a record is


def test_batches_shrink_where_the_record_is_large(monkeypatch):
    """A coupling of 1 kB an image: 8 kB hold seven images besides what the capsules take."""
    coupling = torch.rand(30, 1, 1, 16, 16)
    net = Scripted([torch.rand(30, 1, 1, 16), torch.rand(30, 1, 1, 16)], [coupling])
    monkeypatch.setattr(sys.modules[walk.__module__], "RECORD_BYTES", 8 << 10)
    classes = [str(k) for k in range(16)]
    large, small = Spy("last"), Spy("none")
    walk(net, Numbered(range(30), classes=classes), [large])
    walk(net, Numbered(range(30), classes=classes), [small])
    assert [seen[0] for seen in small.seen] == [30]
    assert {seen[0] for seen in large.seen} == {5}
    monkeypatch.setattr(sys.modules[walk.__module__], "RECORD_BYTES", 10)
    walk(net, Numbered(range(3), classes=classes), [large])
    assert [seen[0] for seen in large.seen] == [1, 1, 1]


def test_a_record_of_a_megabyte_an_image_is_taken_a_few_images_at_a_time():
    """However many images are asked for at once: as a rule a batch's record stays below 64 MB."""
    acts = [torch.rand(1, 1, 1, 512).expand(80, 1, 1, 512)] * 2
    net, spy = Scripted(acts, [torch.zeros(1).expand(80, 1, 1, 512, 512)]), Spy("last")
    walk(net, Numbered(range(80), classes=[str(k) for k in range(512)]), [spy], batch_size=80)
    assert 8 <= max(seen[0] for seen in spy.seen) <= 64


def test_a_measure_can_walk_twice():
    data = load_glyphs("test", 12)
    net = create_model("mitterreiter2023/capsnet", image_size=28, width=0.1)
    measures = [make() for make in MEASURES.values()]
    assert walk(net, data, measures) == walk(net, data, measures)
    with pytest.raises(ValueError, match="there are no images to judge by"):
        walk(net, data.select(torch.arange(0)), measures)
    with pytest.raises(ValueError, match="the model tells 10 classes, but the data has 2"):
        walk(net, Stored(data.images, data.labels % 2, ("a", "b")), [Activity(), Accuracy()])


def test_moments_do_not_cancel():
    """A deviation of 1e-4 around a million, in batches of one, which sums of squares in double would lose."""
    values = 1e6 + 1e-4 * torch.randn(500, 3, dtype=torch.double)
    moments = Moments()
    for part in values.split([1] * 100 + [400]):
        moments.update(part)
    torch.testing.assert_close(moments.std, values.std(0, correction=0), rtol=1e-5, atol=0)
    torch.testing.assert_close(moments.mean, values.mean(0))


PEAK = """
import resource, sys, torch
from torch import nn
from torchcaps.data import Stored
from torchcaps.layers import ActivationHead, CapsuleLayer, PrimaryCapsules
from torchcaps.measures import MEASURES, walk
from torchcaps.network import CapsNet

torch.set_num_threads(1)
primary = PrimaryCapsules((1, 12, 12), n=2, d=4)
layer = CapsuleLayer(primary.shape_out, n=5, d=4)
net = CapsNet(nn.Identity(), primary, [layer], ActivationHead(layer.shape_out))  # its record is 10 kB an image
images = torch.randint(0, 256, (10_000, 1, 12, 12), dtype=torch.uint8)
data = Stored(images, torch.arange(10_000) % 5, "abcde")
for count in map(int, sys.argv[1:]):
    walk(net, data.select(torch.arange(count)), [make() for make in MEASURES.values()])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_memory_does_not_grow_with_the_data():
    """The peak of a process after 1,000 images and after 10,000 more: less than 50 MB apart."""
    done = subprocess.run([sys.executable, "-c", PEAK, "1000", "10000"], capture_output=True, text=True, check=True)
    few, many = map(int, done.stdout.split())
    assert many - few < 50, f"{few} MB and {many} MB"
