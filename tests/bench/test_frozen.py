"""The frozen list of claims."""

import re

from torchcaps.bench.frozen import frozen

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
    assert list(frozen()) == [*ARTEFACTS, "cross/table"]


def test_every_claim_is_one_id_and_a_sentence():
    for artefact, claims in frozen().items():
        assert claims, artefact
        for name, sentence in claims.items():
            assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
            assert sentence[0].isupper()
            assert sentence[-1] in ".)"


def test_sentences_are_read_as_they_are_written():
    assert "odd, f(−u) = −f(u), and" in frozen()["peer2021/theorems"]["rba"]


def test_a_user_may_add_claims_of_an_artefact_of_their_own(monkeypatch):
    monkeypatch.setitem(frozen(), "mine/first", {"better": "Mine is better."})
    assert frozen()["mine/first"]["better"] == "Mine is better."
