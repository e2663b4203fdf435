"""Both verdicts of every claim, after the rule changed."""

import json
from collections import Counter

from pages.found import RESULTS
from torchcaps.bench.rejudged import BEFORE, Change, rejudged


def test_each_claim_with_the_word_of_both_rules(tmp_path):
    folder = tmp_path / "cpu"
    folder.mkdir()
    claim = lambda name, word: {"id": name, "word": word, "reason": f"why {name}"}  # noqa: E731
    now = {"p/one": {"claims": [claim("a", "undecided"), claim("new", "refuted")]}}
    (folder / "verdicts.json").write_text(json.dumps(now))
    assert rejudged(tmp_path) == []
    before = {"p/one": {"a": {"word": "reproduced"}}, "p/gone": {"b": {"word": "refuted"}}}
    (folder / BEFORE).write_text(json.dumps({"note": "", "verdicts": before}))
    assert rejudged(tmp_path) == [
        Change("p/one", "a", "reproduced", "undecided", "why a"),
        Change("p/one", "new", "not run", "refuted", "why new"),
        Change("p/gone", "b", "refuted", "not run", "no result yet"),
    ]


def test_the_stored_verdicts_of_the_rule_before_are_those_that_were_published():
    words = Counter(change.before for change in rejudged(RESULTS))
    assert words == {"reproduced": 43, "refuted": 19, "undecided": 47, "shown": 4, "not run": 10}
