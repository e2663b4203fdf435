"""The page: whole, by itself, and safe whatever stands in the data."""

import math
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import ClassVar

import pytest
import torch

from torchcaps.data import Batch
from torchcaps.measures import Score
from torchcaps.models import create_model
from torchcaps.report import (
    Curve,
    Curves,
    Group,
    Guess,
    Perturbations,
    Row,
    Sample,
    Samples,
    Scores,
    Section,
    _page,
    choose,
    perturbed,
    predictions,
    write_report,
)
from torchcaps.report._chart import chart

EVIL = '<script>alert("1")</script>'
VOID = {"meta", "img", "rect", "line", "circle", "polyline", "br"}


class Reader(HTMLParser):
    """Fails on tags that do not match; gathers tags with their attributes, and the text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def scores():
    each = {"clean": Score(0.984, 2000, (0.977, 0.988)), "affine": Score(0.5, 10, (0.237, 0.763))}
    rows = [Row("CapsNet", EVIL, 1_234_567, 89_000, 61.4, each), Row("ConvNet", "small", 60, 0, 3.0, each)]
    return Scores(tests={"clean": "as they are", "affine": EVIL}, rows=rows)


def curves():
    return Curves(curves=[Curve("CapsNet", [0.5, 0.1, 0.05], [0.9, 0.95, 0.984]), Curve(EVIL, [math.nan], [0.5])])


def samples():
    image = torch.rand(1, 6, 6)
    good = Sample(image, ("4",), (Guess("CapsNet", ("4",), (("4", 0.9), (EVIL, 0.1))),))
    bad = Sample(image, (EVIL, "9"), (Guess("CapsNet", ("9", "7"), (("9", 0.6), ("7", 0.4))),))
    return Samples(groups=[Group("Clean", EVIL, [good, bad])])


def drawings():
    net = create_model("sabour2017/capsnet", width=0.05, image_size=20)
    return Perturbations(
        network="CapsNet",
        drawings=perturbed(net, torch.rand(2, 1, 20, 20), torch.tensor([3, 0]), [EVIL, *"123456789"]),
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "deep" / "report.html"
    sections = [scores(), curves(), samples(), drawings()]
    assert write_report(path, sections, title=f"Test {EVIL}", lead="Lead & more", facts={"Data": EVIL}) == path
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def test_page_is_well_formed_and_says_everything(read):
    for part in ("98.4 %", "97.7–98.8", "1,234,567", "+ 89,000 decoder", "61 s", "Lead & more", "How they learned"):
        assert part in read.text
    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {attrs["href"] for tag, attrs in read.tags if tag == "a"} == {f"#section-{k}" for k in range(1, 5)}


def test_page_needs_nothing_but_itself(page, read):
    assert not re.search(r"https?:|[\"'(]//", page, re.IGNORECASE)
    assert "@import" not in page
    assert "url(" not in page
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in read.tags}
    pictures = [attrs for tag, attrs in read.tags if tag == "img"]
    assert len(pictures) == 2 + 2 * (2 + 16)
    assert all(attrs["src"].startswith("data:image/png;base64,") for attrs in pictures)


def test_every_picture_is_told_in_words(read):
    assert all(attrs["alt"] for tag, attrs in read.tags if tag == "img")
    for tag, attrs in read.tags:
        if tag == "svg":
            assert attrs.get("aria-label") or attrs.get("aria-hidden") == "true"
    told = [attrs["aria-label"] for tag, attrs in read.tags if tag == "svg" and "aria-label" in attrs]
    assert any("0.5, 0.1, 0.05" in text for text in told)


def test_what_stands_in_the_data_is_text(page, read):
    assert "<script" not in page
    assert read.text.count(EVIL) >= 6


def test_light_and_dark_and_small(page):
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_mistakes_come_first(page):
    assert page.index("9, 7 ✗") < page.index("4 ✓")


def test_a_section_of_ones_own_is_data_and_a_template(tmp_path, monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Own(Section):
        template: ClassVar[str] = "own.html"
        numbers: list[int]

    for template in _page.TEMPLATES.iterdir():
        (tmp_path / template.name).write_text(template.read_text())
    (tmp_path / "own.html").write_text("<p>{{ s.numbers | sum }}</p>")
    monkeypatch.setattr(_page, "TEMPLATES", tmp_path)
    assert "<p>42</p>" in _page.render([Own(title="Mine", numbers=[40, 2])], title="T", lead="L")


def test_charts_leave_out_what_is_no_number():
    made = chart([[0.5, math.inf, 0.1], [math.nan, -1.0, 0.0], []], log=True)
    assert [len(line) for line in made.lines] == [2, 0, 0]
    assert all(made.top <= y <= made.bottom for line in made.lines for _, y in line)
    assert [tick.text for tick in made.x] == ["1", "2", "3"]


@pytest.mark.parametrize("values", [[], [0.7], [1.0, 1.0], [0.0, 1.0], [1e-5, 1e5], [0.871, 0.984]])
@pytest.mark.parametrize("log", [False, True])
def test_charts_enclose_their_values(values, log):
    made = chart([values], log=log, percent=not log)
    assert 2 <= len(made.y) <= 12
    assert all(made.top <= tick.at <= made.bottom for tick in made.y)
    assert all(made.top <= y <= made.bottom and made.left <= x <= made.right for x, y in made.lines[0])


def test_predictions_name_as_many_classes_as_are_shown():
    net = create_model("gu2021/convnet_avg", image_size=20, width=0.02)
    batch = Batch(torch.rand(3, 1, 20, 20), torch.tensor([[1, 2], [3, 3], [4, 5]]))
    found = predictions({"net": net}, batch, list("0123456789"))
    assert [sample.truth for sample in found] == [("1", "2"), ("3",), ("4", "5")]
    assert [len(sample.guesses[0].classes) for sample in found] == [2, 1, 2]
    assert all(0 <= p <= 1 for sample in found for _, p in sample.guesses[0].probabilities)


def test_dimensions_that_do_most_come_first():
    [first, _] = drawings().drawings
    change = (first.rows - first.plain).abs().sum((1, 2, 3, 4))
    assert sorted(first.dims) == list(range(16))
    assert torch.equal(change, change.sort(descending=True).values)
    assert (first.deltas[0], first.deltas[-1]) == (-0.25, 0.25)
    torch.testing.assert_close(first.rows[:, 5], first.plain.expand(16, -1, -1, -1))


def test_a_network_without_decoder_has_nothing_to_draw():
    net = create_model("gu2021/convnet_avg", image_size=20, width=0.02)
    with pytest.raises(ValueError, match="ConvNet has no decoder"):
        perturbed(net, torch.rand(1, 1, 20, 20), torch.tensor([0]), list("0123456789"))


def test_chosen_samples_are_not_all_mistakes():
    image = torch.zeros(1, 2, 2)
    right = [Sample(image, (str(k),), (Guess("a", (str(k),), ()), Guess("b", (str(k),), ()))) for k in range(9)]
    once = [Sample(image, ("1",), (Guess("a", ("1",), ()), Guess("b", ("7",), ()))) for _ in range(9)]
    twice = [Sample(image, ("1",), (Guess("a", ("2",), ()), Guess("b", ("7",), ()))) for _ in range(2)]
    assert [sample.mistakes for sample in choose([*right, *once, *twice], 9)] == [2, 2, 1, 1, 1, 1, 0, 0, 0]
    assert [sample.mistakes for sample in choose([*right[:1], *once], 9)] == [1] * 8 + [0]
    assert len(choose(right[:2], 9)) == 2
