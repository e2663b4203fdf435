"""Results on disk."""

import hashlib
import json
import os
import subprocess
import sys
import threading

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from torchcaps.bench import store

WRITER = """
import sys
from pathlib import Path
from torchcaps.bench import store
for k in range(40):
    line = {"name": f"{sys.argv[2]}-{k}", "job": "judging", "state": "done", "pad": "x" * 5000}
    store.append(Path(sys.argv[1]), line)
"""


def line(name, **more):
    return {"name": name, "job": "judging", "state": "done", "seconds": 1.5, "finished": "2026", **more}


def test_lines_come_back_as_they_were(tmp_path):
    store.append(tmp_path / "a.jsonl", line("one", numbers={"x": 0.1, "y": None}))
    lines, problems = store.read(tmp_path / "a.jsonl")
    assert lines[0]["numbers"] == {"x": 0.1, "y": None}
    assert not problems


def test_what_json_does_not_have_is_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        store.append(tmp_path / "a.jsonl", line("one", numbers={"x": float("nan")}))


@pytest.mark.parametrize("damage", ["torn", "changed", "noise"])
def test_a_damaged_line_is_named_and_the_others_stay(tmp_path, damage):
    path = tmp_path / "a.jsonl"
    for name in ("one", "two", "three"):
        store.append(path, line(name, numbers={"x": 0.125}))
    texts = path.read_text().splitlines()
    texts[1] = {"torn": texts[1][:40], "changed": texts[1].replace("0.125", "0.525"), "noise": "\x00\x01"}[damage]
    path.write_text("\n".join(texts) + "\n")
    found, problems = store.results(tmp_path)
    assert set(found) == {"one", "three"}
    assert [(p.path, p.number) for p in problems] == [(path, 2)]
    store.set_aside(problems)
    assert store.read(path)[1] == []
    assert set(store.results(tmp_path)[0]) == {"one", "three"}
    assert path.with_suffix(".damaged").read_text().splitlines() == [texts[1]]


def test_a_line_torn_by_a_killed_writer_does_not_spoil_the_next(tmp_path):
    path = tmp_path / "a.jsonl"
    store.append(path, line("one"))
    with path.open("a") as file:
        file.write('{"check": "12')
    store.append(path, line("two"))
    found, problems = store.results(tmp_path)
    assert set(found) == {"one", "two"}
    assert len(problems) == 1


names = st.text(st.characters(codec="utf-8"), max_size=8)
values = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names
any_line = st.builds(line, names, numbers=st.dictionaries(names, values, max_size=3))


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(any_line, min_size=1, max_size=4), place=st.floats(0, 1), after=any_line)
def test_a_file_cut_at_any_byte_keeps_every_whole_line_and_goes_on(tmp_path_factory, lines, place, after):
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    for one in lines:
        store.append(path, one)
    whole = path.read_bytes()
    cut = round(place * len(whole))
    path.write_bytes(whole[:cut])
    ends = [k for k, byte in enumerate(whole) if byte == ord("\n")]
    left = sum(end <= cut for end in ends)  # without the end of its line a result is whole as well
    torn = cut not in {0, *ends, *(end + 1 for end in ends)}
    found, problems = store.read(path)
    assert [{**one, **given} for one, given in zip(found, lines, strict=False)] == found
    assert (len(found), len(problems)) == (left, torn)
    store.append(path, after)
    found, problems = store.read(path)
    assert (len(found), len(problems)) == (left + 1, torn)
    assert {**found[-1], **after} == found[-1]


def test_files_can_be_put_together_in_any_order(tmp_path):
    lines = [line("one", finished="1"), line("one", state="failed", finished="2", error="no"), line("two", seed=1),
             line("one", finished="3", seed=7)]  # fmt: skip
    for k, one in enumerate(lines):
        store.append(tmp_path / f"{k}.jsonl", one)
    parts = [(tmp_path / f"{k}.jsonl").read_text() for k in range(4)]
    for name, order in (("forth", parts), ("back", parts[::-1])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "all.jsonl").write_text("".join(order))
    forth, back = (store.results(tmp_path / name)[0] for name in ("forth", "back"))
    assert json.dumps(forth) == json.dumps(back) == json.dumps(store.results(tmp_path)[0])
    assert forth["one"]["seed"] == 7


def test_duckdb_reads_them(tmp_path):
    store.append(tmp_path / "a.jsonl", line("one", artefact="gu2021/table1", numbers={"x": 0.25}))
    store.append(tmp_path / "b.jsonl", line("two", artefact="gu2021/table1", numbers={"x": 0.75}))
    sql = "select artefact, sum(seconds), avg((numbers->>'x')::double) from results group by 1"
    assert store.query(tmp_path, sql).fetchall() == [("gu2021/table1", 3.0, 0.5)]


def test_a_result_is_on_disk_when_it_is_called_stored(tmp_path, monkeypatch):
    path, synced = tmp_path / "a.jsonl", []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(path.read_bytes()))
    store.append(path, line("one"))
    store.append(path, line("two"))
    assert [text.count(b"\n") for text in synced] == [1, 2]


def test_data_that_could_not_be_had_outranks_a_failure(tmp_path):
    for order, states in enumerate([("unavailable", "failed", "failed"), ("failed", "unavailable", "failed")]):
        for state in states:
            store.append(tmp_path / f"{order}.jsonl", line(f"job {order}", state=state, finished="2026"))
    assert [one["state"] for one in store.results(tmp_path)[0].values()] == ["unavailable", "unavailable"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"format": 1, "name": "x", "state": "done"}, "its checksum differs"),
        ({"format": 2, "name": "x", "state": "done", "check": None}, "not a result of format 1"),
        ({"name": "x", "state": "done", "check": None}, "not a result of format 1"),
        (["x"], "not a result of format 1"),
    ],
)
def test_a_line_of_another_kind_is_not_believed(tmp_path, fields, why):
    if isinstance(fields, dict) and "check" in fields:
        body = {name: value for name, value in fields.items() if name != "check"}
        fields["check"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]
    (tmp_path / "a.jsonl").write_text(json.dumps(fields) + "\n")
    lines, problems = store.read(tmp_path / "a.jsonl")
    assert lines == []
    assert [why in str(problem) for problem in problems] == [True]


def test_a_writer_waits_for_the_one_before(tmp_path):
    path = tmp_path / "a.jsonl"
    writer = threading.Thread(target=store.append, args=(path, line("one")))
    with FileLock(path.with_suffix(".lock")):
        writer.start()
        writer.join(0.2)
        assert not path.exists()
    writer.join(20)
    assert [one["name"] for one in store.read(path)[0]] == ["one"]


def test_what_was_set_aside_before_stays(tmp_path):
    path = tmp_path / "a.jsonl"
    for noise in ("first", "second"):
        path.write_text(noise + "\n")
        store.append(path, line("one"))
        store.set_aside(store.read(path)[1])
        assert [one["name"] for one in store.read(path)[0]] == ["one"]
    assert path.with_suffix(".damaged").read_text().splitlines() == ["first", "second"]


def test_two_processes_may_write_at_once(tmp_path):
    path = tmp_path / "a.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(k)]) for k in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    lines, problems = store.read(path)
    assert len(lines) == 80
    assert not problems


def test_a_job_that_is_done_is_found_in_any_file(tmp_path):
    """Its name in another's line does not count, nor a line that is damaged or says that it failed."""
    store.append(tmp_path / "a.jsonl", line("one", trainings=["two", "three"]))
    store.append(tmp_path / "b.jsonl", line("two", state="failed", error="no"))
    store.append(tmp_path / "c.jsonl", line("three"))
    assert [store.holds(tmp_path, name) for name in ("one", "two", "three", "four")] == [True, False, True, False]
    path = tmp_path / "c.jsonl"
    path.write_text(path.read_text().replace("1.5", "2.5"))
    assert not store.holds(tmp_path, "three")
    assert not store.holds(tmp_path / "none", "one")
