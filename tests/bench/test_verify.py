"""What is not there, and what was changed anywhere on a page, is found."""

import base64
import json
import re
import shutil
from dataclasses import replace

import pytest

from tests.bench.made_up import keep, line_of, share
from tests.bench.toy import toy
from torchcaps.bench.artefact import Picture
from torchcaps.bench.page import embedded, shown, write_page
from torchcaps.bench.page_check import NEAR, drawn_elsewhere
from torchcaps.bench.summary import VERDICTS, computed, write
from torchcaps.bench.verify import verify


def draw(found, page):
    axes = page.add_subplot()
    axes.plot([seed + 0.5 for seed in found.seeds("rba")])
    axes.set_title(f"seeds {found.seeds('rba')}")


ARTEFACT = replace(toy(seeds=6), pictures=(Picture("Loss", "The paper has no such figure.", draw),))
NAME = ARTEFACT.id
PICTURE = re.compile(r"(?<=data:image/svg\+xml;base64,)[\w+/=]+")


@pytest.fixture
def root(tmp_path):
    rows = {"rba": 95, "rba_bias": 50}
    lines = [line_of(job, {"accuracy": share(rows[job.row] + job.seed)}) for job in ARTEFACT.judgings("cpu")]
    keep(tmp_path / "cpu", lines)
    return tmp_path


@pytest.fixture
def page(root):
    return write_page(root / "report.html", [ARTEFACT], write([ARTEFACT], root), root)


def edit(path, change):
    """Change a file's text, and be sure that it is another one."""
    before = path.read_text(encoding="utf-8")
    path.write_text(change(before), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != before


def test_all_is_well(root, page):
    assert verify([ARTEFACT], root, page) == []
    assert verify([ARTEFACT], root) == [], "a page need not be compared"


def test_an_empty_folder_is_a_failure(tmp_path):
    assert verify([ARTEFACT], tmp_path) == [f"there are no results in {tmp_path}: torchcaps bench run makes some"]


@pytest.mark.parametrize("stays", [[], [VERDICTS]])
def test_an_emptied_scale_is_a_failure(root, page, stays):
    shutil.copytree(root / "cpu", root / "smoke")  # another scale has results
    for path in (root / "cpu").iterdir():
        if path.name not in stays:
            path.unlink()
    found = verify([ARTEFACT], root)
    assert any(line.startswith(f"cpu: {root / 'cpu'} holds no results: ") for line in found)


def test_results_without_verdicts_are_a_failure(root, page):
    (root / "cpu" / VERDICTS).unlink()
    [found] = verify([ARTEFACT], root)
    assert found == f"cpu: {root / 'cpu' / VERDICTS} is missing: torchcaps bench report writes it"


def test_verdicts_that_cannot_be_read_are_named_and_written_again(root, page):
    path = root / "cpu" / VERDICTS
    before = path.read_text()
    path.write_text("{")
    [found] = verify([ARTEFACT], root)
    assert found.startswith(f"{path} cannot be read: ")
    write([ARTEFACT], root)
    assert path.read_text() == before


def test_a_missing_page_is_a_failure(root, page):
    page.unlink()
    [found] = verify([ARTEFACT], root, page)
    assert found == f"{page} is missing: torchcaps bench report --results {root} --out {page} writes it again"


def test_a_page_without_its_data_is_a_failure(root, page):
    edit(page, lambda text: re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL))
    [found] = verify([ARTEFACT], root, page)
    assert found.startswith(f"{page} has no data that can be read")


def test_every_refuted_that_became_reproduced_is_found(root, page):
    assert '<span class="chip refuted">' in page.read_text()
    edit(page, lambda text: text.replace("refuted", "reproduced"))
    assert any("word: stored 'reproduced', computed 'refuted'" in line for line in verify([ARTEFACT], root, page))


def visible(text, change):
    """A change to everything but the page's data and pictures."""
    before, mark, behind = text.partition('<script type="application/json"')
    return change(before) + mark + behind


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        ("refuted", "reproduced"),
        ("<th scope=\"row\">rba</th>", "<th scope=\"row\">abr</th>"),
        ("49.6", "49.7"),
        ("The paper has no such figure", "The paper has such a figure"),
        ("<h2>The rule</h2>", "<h2>A rule</h2>"),
        ("2 of 1 tables|1 of 1 tables", "28 of 28 tables"),
        ("</main>", "<p>All claims hold.</p></main>"),
        (' title="[^"]*"', ' title="It holds."'),
    ],
)  # fmt: skip
def test_any_visible_word_or_number_that_was_changed_is_found(root, page, pattern, instead):
    edit(page, lambda text: visible(text, lambda shown: re.sub(pattern, instead, shown)))
    found = verify([ARTEFACT], root, page)
    assert found
    assert all(line.startswith("report.html, ") for line in found)


def svg(text, change):
    """A change to the page's pictures."""
    code = lambda found: base64.b64encode(change(base64.b64decode(found.group()).decode()).encode()).decode()  # noqa: E731
    return PICTURE.sub(code, text)


def moved(by):
    """The first mark of a path, moved."""
    return lambda text: re.sub(
        r"(?<=<path d=\"M )\d+(?:\.\d+)?", lambda x: f"{float(x.group()) + by:.6f}", text, count=3
    )


def test_a_picture_that_was_changed_is_found(root, page):
    edit(page, lambda text: svg(text, moved(1)))
    assert verify([ARTEFACT], root, page) == [
        f"report.html, picture {k} of the page is not what the results draw" for k in (1, 2)
    ]


def test_a_word_in_a_picture_that_was_changed_is_found(root, page):
    edit(page, lambda text: svg(text, lambda drawn: drawn.replace("seeds [0, 1,", "seeds [0, 9,")))
    assert len(verify([ARTEFACT], root, page)) == 2


@pytest.mark.parametrize("instead", ["", "AAAA", "A"])
def test_what_is_no_picture_is_found(root, page, instead):
    edit(page, lambda text: PICTURE.sub(instead, text))
    assert len(verify([ARTEFACT], root, page)) == 2


def test_marks_may_lie_a_hundredth_of_a_point_elsewhere(root, page):
    edit(page, lambda text: svg(text, moved(NEAR / 2)))
    assert verify([ARTEFACT], root, page) == []


def test_pictures_of_another_matplotlib_are_counted_instead(root, page):
    assert drawn_elsewhere(page) == 0
    other = lambda drawn: re.sub(r"Matplotlib v[^,]+", "Matplotlib v1.0", drawn)  # noqa: E731
    edit(page, lambda text: svg(text, lambda drawn: moved(1)(other(drawn))))
    assert verify([ARTEFACT], root, page) == []
    assert drawn_elsewhere(page) == 2
    assert drawn_elsewhere(root / "none.html") == 0


def noisy(value):
    """Plain data as another processor would compute them."""
    if isinstance(value, dict):
        return {key: noisy(one) for key, one in value.items()}
    if isinstance(value, list):
        return [noisy(one) for one in value]
    return value * (1 + 1e-12) if isinstance(value, float) else value


def test_a_page_and_verdicts_of_another_processor_are_the_same(root, page):
    made = noisy(computed([ARTEFACT], root))
    write_page(page, [ARTEFACT], made, root)
    path = root / "cpu" / VERDICTS
    edit(path, lambda _: json.dumps(made["cpu"], indent=1) + "\n")
    before = path.read_bytes()
    assert embedded(page.read_text()) != shown(computed([ARTEFACT], root)), "there is noise"
    assert verify([ARTEFACT], root, page) == []
    write([ARTEFACT], root)
    assert path.read_bytes() == before, "noise is not written"


def test_verdicts_that_differ_are_written(root, page):
    path = root / "cpu" / VERDICTS
    before = path.read_text()
    edit(path, lambda text: text.replace("refuted", "reproduced"))
    write([ARTEFACT], root)
    assert path.read_text() == before


def test_what_the_page_lacks_is_found_even_if_it_is_none(root, page):
    edit(page, lambda text: text.replace('"target": null, ', ""))
    assert verify([ARTEFACT], root, page) == [f"report.html.{NAME}.target stands on one side alone"]
