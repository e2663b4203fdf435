"""Lines are added; one that is edited, taken away or replaced is found, and so is a seed that was left out."""

import json

import pytest

from tests.bench.made_up import keep, line_of, share, training_line
from tests.bench.toy import TINY, toy
from torchcaps.bench import store
from torchcaps.bench.ledger import LINES, accepted
from torchcaps.bench.summary import write
from torchcaps.bench.verify import verify

TOY = toy(seeds=4)
JOBS = TOY.judgings("cpu")


def lines(percent=90):
    return [line_of(job, {"accuracy": share(percent + job.seed)}) for job in JOBS]


def judged(root, given):
    keep(root / "cpu", given)
    write([TOY], root)
    return root


@pytest.fixture
def root(tmp_path):
    return judged(tmp_path, lines())


def edit(root, k, change):
    """Another line in its place, with a checksum that is right."""
    path = root / "cpu" / "judgings.jsonl"
    kept = path.read_text().splitlines()
    line = {**json.loads(kept[k]), **change} if change else None
    kept[k : k + 1] = [] if line is None else [store.as_text(line)]
    path.write_text("\n".join(kept) + "\n")


def test_all_is_well(root):
    assert verify([TOY], root) == []


@pytest.mark.parametrize("change", [{"numbers": {"accuracy": share(10)}}, None])
def test_a_report_after_an_edit_is_refused_until_a_reason_is_given(root, change):
    before = (root / "cpu" / "verdicts.json").read_bytes()
    edit(root, 7, change)
    said = "1 lines that the verdicts were made from have changed or vanished: "
    assert any(said in line for line in verify([TOY], root))
    with pytest.raises(ValueError, match=f'{said}.*--accept "…"'):
        write([TOY], root)
    assert (root / "cpu" / "verdicts.json").read_bytes() == before
    assert any(said in line for line in verify([TOY], root))
    write([TOY], root, accept="a disk that errs")
    assert verify([TOY], root) == []
    [entry] = accepted(root / "cpu")
    assert (entry["reason"], entry["jobs"]) == ("a disk that errs", [JOBS[7].name])
    assert entry["before"] != entry["after"]
    write([TOY], root)
    assert len(accepted(root / "cpu")) == 1, "it stays said"


def test_new_lines_are_welcome(root):
    more = toy(seeds=5)
    keep(root / "cpu", [line_of(job, {"accuracy": share(90)}) for job in more.judgings("cpu") if job.seed == 4])
    assert any("has 2 lines that its verdicts were not made from" in line for line in verify([more], root))
    write([more], root)
    assert verify([more], root) == []
    assert accepted(root / "cpu") == []


def test_lines_may_lie_in_any_order_and_file(root):
    path = root / "cpu" / "judgings.jsonl"
    (root / "cpu" / "other.jsonl").write_text("\n".join(reversed(path.read_text().splitlines())) + "\n")
    path.unlink()
    assert verify([TOY], root) == []


def test_a_ledger_that_was_edited_or_lost_is_found(root):
    path = root / "cpu" / LINES
    found = json.loads(path.read_text())
    del found["lines"][next(iter(found["lines"]))]
    path.write_text(json.dumps(found))
    assert any("its digest is not that of its lines" in line for line in verify([TOY], root))
    path.write_text("{")
    assert any(f"{path} cannot be read" in line for line in verify([TOY], root))
    path.unlink()
    assert verify([TOY], root) == [f"{path} is missing: torchcaps bench report writes it"]


def test_a_later_result_of_the_same_job_is_found(tmp_path):
    again = {**lines(50)[0], "finished": "2027"}
    root = judged(tmp_path, [*lines(), again, {**lines()[1], "finished": "2027", "seconds": 5.0}])
    [found] = verify([TOY], root)
    assert found.startswith("cpu: peer2021/table1 rba, seed 0 was done twice with different numbers (2026 and 2027)")


def test_a_training_may_be_done_again(tmp_path):
    """Its weights were gone; what counts is what was judged."""
    training = JOBS[0].training
    twice = [training_line(training, history=[{"step": 1, "loss": loss}]) for loss in (0.5, 0.6)]
    assert verify([TOY], judged(tmp_path, [*lines(), *twice])) == []


@pytest.mark.parametrize(("state", "count"), [(None, 1), ("failed", 0), ("unavailable", 0)])
def test_a_seed_that_was_left_out_is_found(state, count, tmp_path):
    given = [line for line in lines() if (line["row"], line["seed"]) != ("rba", 2)]
    if state:
        given.append(line_of(next(job for job in JOBS if (job.row, job.seed) == ("rba", 2)), state=state))
    found = verify([TOY], judged(tmp_path, given))
    assert found == ["cpu: peer2021/table1 rba, seed 2, is missing, and later ones are there: run it"] * count


@pytest.mark.parametrize("fewer", [0, 2])
def test_fewer_seeds_than_other_rows_are_not_missing(fewer, tmp_path):
    given = [line for line in lines() if line["row"] == "rba" or line["seed"] < fewer]
    assert verify([TOY], judged(tmp_path, given)) == []


def test_a_line_of_other_settings_is_found(tmp_path):
    other = toy(settings={**TINY, "images": 400}).judgings("cpu")[0]
    given = [{**line, "settings": line_of(other)["settings"]} if k == 0 else line for k, line in enumerate(lines())]
    assert verify([TOY], judged(tmp_path, given)) == [
        "cpu: peer2021/table1 rba, seed 0, says other settings than those of its row"
    ]
