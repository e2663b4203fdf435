"""The frozen list of claims."""

import re

import pytest

from torchcaps.bench import frozen as lists
from torchcaps.bench.frozen import FOLDER, LIST, PAPERS, frozen, where_said
from torchcaps.bench.page import PAPERS as TITLES

NAMES = """
gu2021/table1 gu2021/table2 gu2021/table3 gu2021/table4 gu2021/figure3 gu2021/table5 gu2021/figure4
chen2019/table2 chen2019/table3 chen2019/blackbox chen2019/whitebox chen2019/table_s1
mitterreiter2023/table1 mitterreiter2023/table2 mitterreiter2023/figure2 mitterreiter2023/figure3
mitterreiter2023/figure4 mitterreiter2023/starvation mitterreiter2023/uniform mitterreiter2023/table3
peer2021/theorems peer2021/table1 peer2021/table2 peer2021/table3
tsai2020/table1 tsai2020/figure4 tsai2020/figure5
"""
ARTEFACTS = NAMES.split()


def test_every_artefact_of_the_specification_is_there():
    assert len(ARTEFACTS) == 27
    assert [name for name in frozen() if not name.endswith("sentences")] == [*ARTEFACTS, "cross/table"]


def test_every_claim_is_one_id_and_a_sentence():
    for artefact, claims in frozen().items():
        assert claims, artefact
        for name, sentence in claims.items():
            assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
            assert sentence[0].isupper()
            assert sentence[-1] in ".)"


def test_sentences_are_read_as_they_are_written():
    assert "odd, f(−u) = −f(u), and" in frozen()["peer2021/theorems"]["rba"]


def test_every_paper_has_its_own_list_in_the_order_of_the_report():
    assert sorted(path.parent.name for path in FOLDER.glob(f"*/{LIST}")) == sorted(PAPERS)
    assert list(TITLES) == list(PAPERS)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Lists of a paper instead of the committed ones."""
    monkeypatch.setattr(lists, "FOLDER", tmp_path)
    monkeypatch.setattr(lists, "PAPERS", ("one2020",))
    (tmp_path / "one2020").mkdir()
    for cached in (frozen, lists._entries):
        cached.cache_clear()
    yield lambda text: (tmp_path / "one2020" / LIST).write_text(text)
    for cached in (frozen, lists._entries):
        cached.cache_clear()


def test_a_sentence_of_the_paper_says_where_it_stands(written):
    written("""
        [table1]
        order = "A before B."
        [sentences]
        routing = {says = "Routing harms.", where = "A"}
        squash = {says = "Squash helps.", where = "B"}
    """)
    assert frozen() == {
        "one2020/table1": {"order": "A before B."},
        "one2020/sentences": {"routing": "Routing harms.", "squash": "Squash helps."},
    }
    places = [("table1", "order"), ("sentences", "routing"), ("sentences", "squash"), ("mine", "any")]
    assert [where_said(f"one2020/{artefact}", claim) for artefact, claim in places] == [None, "A", "B", None]


@pytest.mark.parametrize("entry", ["3", '{says = "It."}', '{says = "It.", where = "C"}', '{says = 3, where = "A"}',
                                   '{says = "It.", where = "A", page = 4}'])  # fmt: skip
def test_an_entry_that_is_no_sentence_is_named(entry, written):
    written(f"[table1]\norder = {entry}")
    with pytest.raises(ValueError, match=re.escape("one2020/claims.toml, table1.order is ")):
        frozen()


def test_a_user_may_add_claims_of_an_artefact_of_their_own(monkeypatch):
    monkeypatch.setitem(frozen(), "mine/first", {"better": "Mine is better."})
    assert frozen()["mine/first"]["better"] == "Mine is better."
