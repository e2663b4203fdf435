"""The findings: one page a paper, the sentences first, and no remark that says another word than its verdicts."""

import re
from pathlib import Path

import pytest

from pages import findings, found, readme, sentences
from torchcaps.bench.claims import Shown, below, every, gated, greater
from torchcaps.bench.evidence import At, Evidence, Number
from torchcaps.bench.frozen import where_said
from torchcaps.bench.gates import is_flat, reached
from torchcaps.bench.papers import artefacts

SAYS = {
    "reproduced": r"reproduc\w+|confirm\w*|(?<!not )\bholds?\b",
    "refuted": r"refut\w+|(?:does|do|did) not hold|contradict\w*|disprov\w+",
    "not comparable": r"not comparable",
    "undecided": r"undecided",
}
"""How a remark says a verdict."""
NAMED = re.compile(rf"`(\w+)` (?:\(|is |was )({'|'.join([*SAYS, 'not run'])})\b")
"""A claim by its id, and its verdict."""


def contradictions(remark: str, words: dict[str, str]) -> list[str]:
    """Where a remark about an artefact says what its verdicts, by claim, do not."""
    text = " ".join(remark.split())
    wrong = [
        f"{word}: no claim is" for word, said in SAYS.items() if re.search(said, text) and word not in words.values()
    ]
    wrong += [
        f"{name} is {words.get(name)}, not {said}" for name, said in NAMED.findall(text) if words.get(name) != said
    ]
    if "undecided" in words.values() and "undecided" not in text:
        wrong.append("undecided claims are not told")
    return wrong


@pytest.fixture(scope="module")
def chosen():
    return found.chosen()


def words_of(summary):
    return {claim["id"]: claim["word"] for claim in summary["claims"]}


@pytest.mark.parametrize("name", artefacts())
def test_remarks_say_what_the_verdicts_say(name, chosen):
    file = findings.THOUGHTS / f"{name.replace('/', '-')}.md"
    if chosen[name] is None or not file.is_file():
        assert not file.exists(), "a remark about nothing"
        return
    assert not contradictions(file.read_text(), words_of(chosen[name]))


@pytest.mark.parametrize(
    ("remark", "wrong"),
    [
        ("The order is refuted, undecided else.", ["refuted: no claim is"]),
        ("This does not\nhold here; the rest is undecided.", ["refuted: no claim is"]),
        ("What the paper says holds; the rest is undecided.", ["reproduced: no claim is"]),
        ("`a` is undecided, and `b` (undecided) too.", ["b is not run, not undecided"]),
        ("Nothing was seen.", ["undecided claims are not told"]),
        ("`a` is undecided; `b` was not run.", []),
    ],
)
def test_remarks_that_contradict_verdicts_are_found(remark, wrong):
    assert contradictions(remark, {"a": "undecided", "b": "not run"}) == wrong


def test_advice_from_undecided_comparisons_says_so(chosen):
    """Each piece of advice tells how far it is decided; the one that is has a proof behind it."""
    advice = (findings.THOUGHTS / "choosing.md").read_text().split("\n- **")[1:]
    assert set(words_of(chosen["cross/table"]).values()) == {"undecided"}
    for piece in advice:
        assert re.search(r"\((undecided|proved)\)|most intervals touch", piece), piece
    assert words_of(chosen["peer2021/theorems"])["rba"] == "reproduced", "advice about the sign"


def test_every_sentence_of_the_papers_is_in_the_table():
    listed = sentences.sentences()
    said = {one.says for one in listed}
    wanted = {
        (one.paper, says)
        for one in artefacts().values()
        for name, says in one.sentences.items()
        if where_said(one.id, name)
    }
    assert {says for _, says in wanted} <= said
    assert {one.paper for one in listed} == {"gu2021", "chen2019", "mitterreiter2023", "peer2021", "tsai2020"}
    judged = {paper for paper, _ in wanted}
    beside = [one for one in listed if (one.paper, one.says) not in wanted]
    assert all((one.paper in judged) == (one.word == sentences.UNDECIDABLE) for one in beside)
    assert all(one.where in ("A", "B") and one.plain for one in listed)


def test_findings_and_readme_show_the_same_sentences():
    table = sentences.table("findings")
    assert findings.render().count(table) == 1
    assert sentences.table("docs/findings") in readme.README.read_text()


def test_finer_claims_are_there():
    """Those of the small list, at a scale that they have."""
    for names in sentences.listed()["finer"].values():
        for name in names:
            artefact, claim = name.split()
            assert claim in artefacts()[artefact].claims
            assert "cpu" in artefacts()[artefact].budgets
    assert all(claim in artefacts()[one].claims for one, claim in map(str.split, sentences.listed()["finer"]))
    for entry in sentences.listed()["sentence"]:
        for artefact, claim in map(str.split, entry.get("finer", ())):
            assert claim in artefacts()[artefact].claims


def claim(word="undecided", **more):
    told = {"deterministic": False, "reason": "why", "needs": "", "estimate": None, "interval": None, "members": []}
    return {"id": "routing", "word": word, "seeds": 5, "look": 5, **told, **more}


@pytest.mark.parametrize(
    ("one", "plain", "shown"),
    [
        (claim("reproduced", estimate=0.0213, interval=[0.01, 0.03]), "found: at 5 seeds.", "0.0213 (0.01 to 0.03)"),
        (claim("refuted", look=8, members=[claim(estimate=0.1)] * 2), "otherwise: at 8 seeds.", "0.1; 0.1"),
        (claim("not comparable"), "cannot be compared: why.", ""),
        (claim("undecided", needs="8 seeds"), "5 seeds do not decide it; it needs 8 seeds.", ""),
        (claim("reproduced", deterministic=True, members=[claim(estimate=0.0)]), "counted, not trained.", "why"),
        (claim("not run", reason="no result yet"), "No result yet.", ""),
    ],
)
def test_a_verdict_in_a_sentence(one, plain, shown):
    assert sentences.plainly(one).endswith(plain)
    assert sentences.figures(one) == shown


def test_accuracy_reached_is_where_the_gates_look():
    at = {"a": 0.97, "b": 0.985, "pilot": 0.5}
    numbers = {At(row, "validation"): {0: Number(value), 1: Number(value)} for row, value in at.items()}
    numbers |= {At("a", "validation@0.9"): {0: Number(0.9)}}
    evidence = Evidence(numbers, own={"pilot": (1000,)})
    robust = greater("a", "b", "affine")
    assert sentences.accuracy(gated(robust, *reached(["a"], 0.9, on="validation@0.9")), evidence) == "90.0 %"
    assert sentences.accuracy(every(robust, gated(robust, is_flat("pilot", "pilot"))), evidence) == "97.0 – 98.5 %"
    assert sentences.accuracy(below("c", 0.5, "sign"), evidence) == ""
    assert sentences.accuracy(Shown(("a",)), evidence) == ""


def test_a_sentence_with_results_shows_them(monkeypatch):
    """At the scale that it was run at, with its accuracy; what no claim decides stays as it is."""
    told = {"scale": "trained", "claims": [claim("refuted", estimate=-0.02, interval=[-0.03, -0.01])]}
    summary = dict.fromkeys(artefacts()) | {"gu2021/sentences": told}
    monkeypatch.setattr(sentences, "chosen", lambda _: summary)
    numbers = {At(f"placed_{row}", "validation@0.97"): {0: Number(0.97)} for row in ("aff_capsnet", "capsnet")}
    behind = type("Gathered", (), {"evidence": Evidence(numbers)})
    monkeypatch.setattr(sentences, "gathered", lambda *_: {"gu2021/sentences": behind})
    first, *others = sentences.sentences(Path("nowhere"))
    assert first[2:] == (
        "A",
        "refuted",
        "trained",
        "97.0 %",
        "-0.02 (-0.03 to -0.01)",
        "It was found otherwise: at 5 seeds.",
    )
    assert {one.word for one in others} == {"not run", sentences.UNDECIDABLE}


def test_claims_are_counted_apart():
    kind = lambda artefact, name, reason="": findings.kind_of(artefacts()[artefact], name, {"reason": reason})  # noqa: E731
    assert kind("gu2021/table1", "order") == kind("gu2021/sentences", "routing") == "trained"
    assert kind("gu2021/table1", "order", "of 5 parts: 5 undecided; 4 cut at this scale") == "partly cut"
    assert kind("peer2021/theorems", "rba") == kind("chen2019/table2", "parameters") == "counted or proved"
    variants = [("mitterreiter2023/table1", "static_library"), ("peer2021/depth_sentences", "bias_helps_em_3")]
    assert {kind(*one) for one in [*variants, ("cross/table", "no_single_convnet")]} == {"our own variants"}
    assert kind("gu2021/figure4", "drawings") == "pictures"
