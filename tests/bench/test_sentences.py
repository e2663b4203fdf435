"""The claims about the papers' sentences, against what is written down here of each: sides, effects and gates."""

import pytest

from torchcaps.bench.claims import Counted, Statement, Together
from torchcaps.bench.frozen import where_said
from torchcaps.bench.papers import artefacts
from torchcaps.measures.sweep import FACTORS

SENTENCES = {name: one for name, one in artefacts().items() if name.endswith("sentences")}
POINT, NATS = 0.01, 0.03


def parts(claim):
    return [part for member in claim.members for part in parts(member)] if isinstance(claim, Together) else [claim]


def rows(statement):
    """The rows that are added and those that are taken off."""
    terms = statement.what.terms
    return tuple({at.row for at, weight in terms if (weight > 0) == more} for more in (True, False))


def claim(artefact, name):
    return artefacts()[artefact].claims[name]


@pytest.mark.parametrize(
    ("name", "more", "less"),
    [
        ("transformation", "aff_capsnet", "capsnet_nor"),
        ("convnet_affine", "convnet_avg", "capsnet"),
    ],
)
def test_affine_digits_are_compared_at_97_percent_of_placed_ones(name, more, less):
    [found] = parts(claim("gu2021/sentences", name))
    assert rows(found) == ({f"placed_{more}"}, {f"placed_{less}"})
    assert {at.on for at, _ in found.what.terms} == {"affine@0.97"}
    assert (found.side, found.value, found.smallest) == ("above", 0, POINT)
    assert {gate.terms[0][0] for gate in found.gates} == {(f"placed_{r}", "validation@0.97") for r in (more, less)}
    assert all(gate.relation == ">=" and gate.value == pytest.approx(0.969) for gate in found.gates)


def test_routing_harms_both_networks_and_their_mean():
    both, mean = (claim("gu2021/sentences", name) for name in ("routing", "routing_mean"))
    assert both.all
    pairs = [("aff_capsnet", "aff_capsnet_dr"), ("capsnet_nor", "capsnet")]
    assert [rows(part) for part in parts(both)] == [({f"placed_{a}"}, {f"placed_{b}"}) for a, b in pairs]
    assert rows(mean) == ({"placed_aff_capsnet", "placed_capsnet_nor"}, {"placed_aff_capsnet_dr", "placed_capsnet"})
    assert len(mean.gates) == 4


@pytest.mark.parametrize(
    ("name", "more", "less"),
    [
        ("squash_compact", "convnet_cr_sf", "convnet_cr"),
        ("conditional_compact", "convnet_cr", "convnet_r"),
        ("convnet_compact", "convnet_cr_sf", "capsnet"),
    ],
)
def test_compactness_is_a_mean_over_six_factors_at_equal_accuracy(name, more, less):
    [found] = parts(claim("gu2021/sentences", name))
    assert rows(found) == ({f"compact_{more}"}, {f"compact_{less}"})
    assert sorted(at.on for at, weight in found.what.terms if weight > 0) == sorted(FACTORS)
    assert all(abs(weight) == pytest.approx(1 / 6) for _, weight in found.what.terms)
    assert found.smallest == NATS
    assert all(gate.value == pytest.approx(0.984) for gate in found.gates)


def test_pairs_are_compared_where_curves_are_flat():
    [found] = parts(claim("gu2021/overlapping_sentences", "convnet_pairs"))
    assert rows(found) == ({"pairs_convnet_fc_lk"}, {"pairs_capsnet"})
    for row, gate in zip(("pairs_convnet_fc_lk", "pairs_capsnet"), found.gates, strict=True):
        assert gate.terms == (((f"{row}_doubled", "validation"), 1.0), ((f"{row}_pilot", "validation"), -1.0))
        assert (gate.relation, gate.value) == ("<=", 0.003)


def test_a_bias_is_judged_only_where_networks_with_one_have_learned():
    for routing in ("rba", "em"):
        for depth in (3, 6, 9):
            [found] = parts(claim("peer2021/depth_sentences", f"bias_helps_{routing}_{depth}"))
            assert rows(found) == ({f"{routing}_{depth}_bias"}, {f"{routing}_{depth}"})
            trained, flat = found.gates
            assert (trained.terms, trained.relation, trained.value) == (
                (((f"{routing}_{depth}_bias", "validation"), 1.0),),
                ">=",
                0.9,
            )
            assert (flat.relation, flat.value) == ("<=", 0.003)


@pytest.mark.parametrize("name", SENTENCES)
def test_pilots_share_no_seed_with_results(name):
    if "trained" in SENTENCES[name].budgets:
        jobs = SENTENCES[name].judgings("trained")
        assert {job.seed for job in jobs if "_pilot" in job.row or "_doubled" in job.row} <= {1000, 1001}
        assert all(job.seed < 1000 for job in jobs if "_pilot" not in job.row and "_doubled" not in job.row)


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_of_a_paper_have_gates_unless_they_are_counted(name):
    """But for the sign of a number: its control is the network with a bias, or is the claim itself."""
    for key, one in SENTENCES[name].claims.items():
        if where_said(name, key) and key not in ("sign", "bias_mends"):
            assert all(isinstance(part, Counted) or (isinstance(part, Statement) and part.gates) for part in parts(one))
