"""Every claim of the bench, written down here from its frozen sentence and the specification, number by number.

A claim is read as plain data: which numbers it adds up or orders, on which side of which value they must lie, within
what margin, under which controls. What is expected stands below, artefact by artefact, in words of this file only.
"""

import hashlib
import json
from itertools import pairwise

import pytest

from torchcaps.bench.claims import Counted, Shown, Slope, Spread, Sum, Together
from torchcaps.bench.evidence import At
from torchcaps.bench.frozen import frozen
from torchcaps.bench.papers import artefacts
from torchcaps.routing import ROUTINGS

FROZEN = "989ee060c827317e3f8337d2ad1162a6a10e8b22d41c2234f582daaed7fb43f5"
"""Of the sentences as one list, `bench/claims.toml`, had them before the results: since then a file for each paper."""
FACTORS = ("rotation", "shear_x", "shear_y", "scale", "shift_x", "shift_y")
DATA = ("mnist", "fashion")


def read(claim):
    """A claim as plain data, members in any order; parts of the same kind are one whole."""
    match claim:
        case Together():
            return _whole("all" if claim.all else "any", map(read, claim.members))
        case Shown():
            return ("shown", *sorted(claim.rows))
        case Counted():
            value = f"{claim.value.row} {claim.value.on}" if isinstance(claim.value, At) else claim.value
            room = claim.tolerance * (1 if isinstance(claim.value, At) else abs(claim.value) or 1)
            return ("counted", claim.a.row, claim.a.on, claim.relation, value, round(room, 9))
    controls = frozenset(map(read, claim.controls))
    return (_number(claim.what), claim.side, round(claim.value, 9), round(claim.margin, 9), controls)


def _whole(kind, members):
    flat = frozenset(inner for m in members for inner in (m[1] if m[0] == kind else [m]))
    return (kind, flat) if len(flat) > 1 else next(iter(flat))


def _number(what):
    match what:
        case Sum():
            return frozenset((f"{at.row} {at.on}", round(weight, 9)) for at, weight in what.terms)
        case Slope():
            return tuple(f"{at.row} {at.on}" for at in what.rows)
        case Spread():
            return tuple(frozenset(f"{at.row} {at.on}" for at in side) for side in (what.a, what.b))


def both(*claims):
    return _whole("all", claims)


def any_of(*claims):
    return _whole("any", claims)


def more(a, b, on, *, by=0):
    """Row a has more than row b, or at least b less a margin."""
    return (frozenset({(f"{a} {on}", 1), (f"{b} {on}", -1)}), "above", -by, 0, frozenset())


def falling(rows, on):
    """Each row has more than the next."""
    return both(*(more(a, b, on) for a, b in pairwise(rows)))


def alike(a, b, on, within):
    return (frozenset({(f"{a} {on}", 1), (f"{b} {on}", -1)}), "inside", 0, within, frozenset())


def over(row, value, on):
    return (frozenset({(f"{row} {on}", 1)}), "above", value, 0, frozenset())


def under(row, value, on, controls=()):
    return (frozenset({(f"{row} {on}", 1)}), "below", value, 0, frozenset(controls))


def zero(row, on, within):
    return (frozenset({(f"{row} {on}", 1)}), "inside", 0, within, frozenset())


def slope(places, how, within=0):
    side, value, margin = {"rises": ("above", 0, 0), "falls": ("below", 0, 0), "flat": ("inside", 0, within),
                           "does not rise": ("below", within, 0)}[how]  # fmt: skip
    return (tuple(places), side, value, margin, frozenset())


def means(more, less):
    """The mean over some places is more than that over as many others."""
    n = len(more)
    terms = {(p, round(1 / n, 9)) for p in more} | {(p, round(-1 / n, 9)) for p in less}
    return (frozenset(terms), "above", 0, 0, frozenset())


def count(row, on, relation, value, room=0.0):
    return ("counted", row, on, relation, value, room)


def chance(row, answers, started):
    """At chance: below 2/classes (0.55 of two), while others started to learn within half the steps."""
    limit = {2: 0.55, 10: 0.2}[answers]
    return under(row, limit, "accuracy", [count(other, "onset", "<=", 0.5) for other in started])


def on(rows, name):
    return [f"{row} {name}" for row in rows]


def gu2021():
    found = {}
    found["table1"] = {
        "order": falling(
            ["convnet_avg", "aff_capsnet", "aff_capsnet_dr", "capsnet_nor", "capsnet", "convnet_fc"], "affine"
        )
    }
    found["table2"] = {
        "routing": more("base", "routing", "affine"),
        "transformation": more("base", "transformation", "affine"),
        "squash": more("base", "squash", "affine"),
        "loss": more("loss", "base", "affine"),
        "plain": more("plain", "base", "affine"),
        "reconstruction": alike("base", "none", "affine", 0.02),
        "groups": alike("groups", "base", "affine", 0.02),
    }
    every = [("capsnet", k) for k in (3, 5, 7, 9, 11)] + [("convnet_fc", k) for k in (3, 5, 7)]
    found["table3"] = {
        "capsnet": slope([f"capsnet_{k} affine" for k in (3, 5, 7, 9, 11)], "rises"),
        "convnet_fc": slope([f"convnet_fc_{k} affine" for k in (3, 5, 7)], "rises"),
        "convnet_avg": both(
            slope([f"convnet_avg_{k} affine" for k in (3, 5, 7, 9)], "rises"),
            more("convnet_avg_9", "convnet_avg_11", "affine"),
        ),
        "avg_wins": both(*(more(f"convnet_avg_{k}", f"{m}_{k}", "affine") for m, k in every)),
        "lead": both(*(more(f"convnet_fc_{k}", f"capsnet_{k}", "affine", by=0.02) for k in (3, 5, 7))),
    }
    ablations = ("routing", "squash", "reconstruction", "loss")
    found["table4"] = {
        **{name: more("base", name, "test") for name in (*ablations, "transformation")},
        "plain": alike("base", "plain", "test", 0.01),
        "most": both(*(more(name, "transformation", "test") for name in ablations)),
        "convnet_avg": more("base", "convnet_avg", "test"),
        "convnet_reconstruction": more("convnet_cr", "convnet_c", "test"),
        "convnet_loss": more("convnet_margin", "convnet_cr", "test"),
    }
    found["figure3"] = {
        "sizes": both(*(more(f"convnet_n{n}", f"capsnet_n{n}", "accuracy") for n in (1, 10, 100, 1000))),
        "kernels": both(*(more(f"convnet_k{k}", f"capsnet_k{k}", "accuracy") for k in (3, 5, 7, 11))),
    }
    found["table5"] = {
        f"{name}_{data}": both(*(more(f"{a}_{data}", f"{b}_{data}", factor) for factor in FACTORS))
        for name, a, b in (("conditional", "cr", "r"), ("squash", "cr_sf", "cr"), ("routing", "cr_sf", "capsnet"))
        for data in DATA
    }
    found["figure4"] = {
        "drawings": ("shown", "capsnet_mnist", "cr_mnist", "cr_sf_mnist", "r_mnist"),
        "response": falling(["cr_sf_mnist", "cr_mnist", "r_mnist"], "response"),
    }
    return found


def chen2019():
    found = {}
    capsules = {"mnist": ("fc", "fc_plain", "conv", "conv_plain"), "cifar10": ("fc", "conv", "multi")}
    apart = {"mnist": round(11_520 / 8_215_568, 9), "cifar10": round(20_480 / 2_653_696, 9)}  # c, of CapsNet's count
    found["table2"] = {
        **{
            data: both(
                *(more(f"{name}_{data}", f"cnn_{data}", "accuracy") for name in names),
                more(f"cnn_{data}", f"capsnet_{data}", "accuracy"),
            )
            for data, names in capsules.items()
        },
        "parameters": both(
            *(
                count(f"{name}_{data}", "parameters/10", "<=", f"capsnet_{data} parameters/10", apart[data])
                for data, names in capsules.items()
                for name in names
            )
        ),
        "overhead": both(under("time_fc", 1.1, "ratio"), under("time_conv", 1.1, "ratio")),
    }
    found["table3"] = {
        "epoch1": more("fc", "baseline", "error/1"),
        "epoch2": both(more("baseline", "fc", "error/2"), more("baseline", "conv", "error/2")),
        "epoch3": more("baseline", "fc", "error/3"),
        "later": both(*(alike(net, "baseline", f"error/{e}", 0.01) for net in ("fc", "conv") for e in (4, 5))),
    }
    nets, pairs = ("baseline", "fc", "conv"), (("baseline", "fc"), ("baseline", "conv"), ("fc", "conv"))
    readings = {"bytes": "clipped/0.03137", "bytes_unclipped": "unclipped/0.03137", "units": "unclipped/8"}
    found["blackbox"] = {
        **{f"below_{name}": both(*(under(net, 0.2, place) for net in nets)) for name, place in readings.items()},
        **{f"alike_{name}": both(*(alike(a, b, place, 0.1) for a, b in pairs)) for name, place in readings.items()},
    }
    found["whitebox"] = {
        "universal": both(*(under(net, 0.2, "universal/0.3", [over(net, 0.5, "noise/0.3")]) for net in nets))
    }
    layers = {
        "convolution 1": 9_408, "convolution 2": 401_408, "transform 1": 131_072, "routing 1": 56_448,
        "transform 2": 4_608, "routing 2": 10_368, "transform 3": 92_160, "routing 3": 11_520, "total": 716_992,
    }  # fmt: skip
    found["table_s1"] = {"layers": both(*(count("multi_gcaps", name, "==", n) for name, n in layers.items()))}
    return found


def mitterreiter2023():
    found = {}
    starts = {"": ("placed", "cifar", "uniform"), "_library": ("placed_library", "cifar_library", "uniform_library")}
    table1, table2, starvation = (
        {},
        {},
        {"formulas": both(*(count("formulas", f"theorem {k}", "<=", 1e-6) for k in (1, 2)))},
    )
    for ending, (row, cifar, uniform) in starts.items():
        table1[f"static{ending}"] = both(
            under(row, 2, "dys/2"),
            under(row, 2, "dys/3"),
            *(_greater(f"{row} dys/{far}", f"{row} dys/{near}") for far in (1, 4) for near in (2, 3)),
        )
        table1[f"cifar10{ending}"] = means(*([f"{r} dyr/{k}" for k in (1, 2, 3, 4)] for r in (row, cifar)))
        table2 |= {
            f"deaths{ending}": slope([f"{row} cdr/{k}" for k in (2, 3, 4)], "rises"),
            f"output{ending}": under(row, 0.5, "cds/5"),
            f"norms{ending}": slope([f"{row} cns/{k}" for k in (1, 2, 3, 4, 5)], "falls"),
            f"active{ending}": slope([f"{row} cas/{k}" for k in (1, 2, 3, 4, 5)], "falls"),
            f"primary{ending}": over(row, 0.99, "car/1"),
        }
        starvation |= {
            f"stay_dead{ending}": under(row, 0.05, "revived"),
            f"uniform{ending}": more(row, uniform, "dead at the end"),
        }
    table2["depth"] = slope(on(["depth_3", "placed", "depth_7"], "dead"), "rises")
    found["table1"] = table1
    found["table2"] = table2
    found["starvation"] = starvation
    found["figure2"] = {"trees": ("shown", "placed"), "warp": _greater("placed warp", "placed noise")}
    found["figure3"] = {"statistics": ("shown", "placed", "placed_library")}
    found["figure4"] = {
        "invariance": both(
            *(slope([f"placed {f}/{k}/{s}" for s in range(1, 6)], "falls") for f in FACTORS for k in (1, 2, 3, 4))
        )
    }
    grid = ("5 layers", "3 layers", "7 layers", "32 capsules", "8 capsules", "dimension 16")
    found["uniform"] = {
        name: means(*([f"{data}, {size}, {how} {number}" for size in grid] for how in ("uniform", "RBA")))
        for name, data, number in (("affine", "affine MNIST", "affine"), ("cifar10", "CIFAR-10", "clean"))
    }
    squares = [count(row, f"parameters/{size}", "==", 2, 0.05) for row in ("dense", "fused") for size in "nd"]
    times = {row: [zero(row, f"excess/{size}", 0.3) for size in "nd"] for row in ("dense", "fused", "attention")}
    found["table3"] = {
        "parameters": both(
            *squares,
            count("attention", "parameters/n", "==", 0, 0.05),
            count("attention", "parameters/d", "==", 2, 0.05),
        ),
        "multiply_adds": both(
            *(count(row, "multiply_adds/n", "==", 2, 0.05) for row in ("dense", "fused")),
            *(count(row, "misfit", "<=", 0.01) for row in times),
        ),
        "times_dense": both(*times["dense"], *times["attention"]),
        "times_fused": both(*times["fused"], *times["attention"]),
    }
    return found


def _greater(a, b):
    return (frozenset({(a, 1), (b, -1)}), "above", 0, 0, frozenset())


def peer2021():
    found = {}
    found["theorems"] = {
        "rba": both(*(count("dynamic", name, "<=", 1e-9) for name in ("poses", "scores"))),
        "em": both(*(count("em", name, "<=", 1e-9) for name in ("poses", "activations", "scores"))),
        "bias": both(*(count(f"{routing}_bias", "scores", ">=", 1e-6) for routing in ROUTINGS)),
        "others": ("shown", *sorted(ROUTINGS)),
    }
    found["table1"] = {
        "no_bias": both(chance("rba", 2, ["rba_bias"]), chance("em", 2, ["em_bias"])),
        "bias": both(over("rba_bias", 0.99, "accuracy"), over("em_bias", 0.99, "accuracy")),
    }
    for name, shallow, deep, depths in (
        ("table2", (2, 3), (4, 5), range(2, 6)),
        ("table3", (5, 6), (8, 9), range(5, 10)),
    ):
        claims = {}
        for end in ("", "_released"):
            claims |= {
                f"shallow{end}": both(*(over(f"{d}_{n}{end}", 0.5, "accuracy") for d in DATA for n in shallow)),
                f"deep{end}": both(
                    *(
                        chance(f"{d}_{n}{end}", 10, [f"{d}_{n}_bias{end}", *(f"{d}_{k}{end}" for k in shallow)])
                        for d in DATA
                        for n in deep
                    )
                ),
                f"bias{end}": both(*(over(f"{d}_{n}_bias{end}", 0.5, "accuracy") for d in DATA for n in depths)),
            }
        if name == "table3":
            claims |= {
                "seven": both(*(more(f"{d}_6", f"{d}_7", "accuracy") for d in DATA)),
                "later": both(
                    slope([f"mnist_{n} onset" for n in depths], "rises"),
                    slope([f"mnist_{n}_bias onset" for n in depths], "flat", 0.02),
                ),
                "earlier": both(*(more(f"mnist_{n}", f"mnist_{n}_bias", "onset") for n in depths)),
            }
        found[name] = claims
    return found


def tsai2020():
    found = {}
    routings, table1 = ("inverted", "dynamic", "em"), {}
    for data, end in (("cifar10", ""), ("cifar100", "_100")):
        simple, resnet = ([f"{r}_{backbone}{end}" for r in routings] for backbone in ("simple", "resnet"))
        table1 |= {
            f"routings_{data}": both(falling(simple, "accuracy"), falling(resnet, "accuracy")),
            f"backbones_{data}": both(*(more(b, a, "accuracy") for a, b in zip(simple, resnet, strict=True))),
            f"cnn_{data}": both(*(more(f"cnn_simple{end}", row, "accuracy") for row in simple)),
            f"resnet18_{data}": alike(f"inverted_resnet{end}", f"resnet18{end}", "accuracy", 0.01),
        }
    fewer = (count("inverted_resnet", f"parameters/{n}", "<=", f"resnet18 a quarter of them/{n}") for n in (10, 100))
    found["table1"] = {**table1, "parameters": both(*fewer)}
    times = range(1, 6)

    def rows(kind):
        return [f"{kind}_{t}" for t in times]

    def steadier(kind):
        sides = tuple(frozenset(on(rows(k), "accuracy")) for k in ("inverted", kind))
        return (sides, "above", 0, 0, frozenset())

    found["figure4"] = {
        "inverted": slope(on(rows("inverted"), "accuracy"), "rises"),
        "dynamic": slope(on(rows("dynamic"), "accuracy"), "falls"),
        "em": both(*(more("em_2", f"em_{t}", "accuracy") for t in (1, 3, 4, 5))),
        "spread": both(steadier("dynamic"), steadier("em")),
        "layer_norm": both(*(more(f"inverted_{t}", f"a_{t}", "accuracy") for t in times)),
        "layer_norm_chance": chance("a_5", 10, []),
        "sequential": slope(on(rows("b"), "accuracy"), "does not rise", 0.005),
        "activations": both(*(more(f"inverted_{t}", f"c_{t}", "accuracy") for t in times)),
        "random_start": more("inverted_2", "random", "mean validation"),
        "learned_start": alike("learned", "inverted_2", "accuracy", 0.02),
        "losses": both(*(more("inverted_2", loss, "accuracy", by=0.01) for loss in ("margin", "spread"))),
        "jitter": slope(on(["side_2", "side_3", "inverted_2"], "jitter"), "falls"),
    }
    found["figure5"] = {"order": falling(["matrix_42m", "vector", "fc_cnn", "dynamic", "matrix", "cnn"], "accuracy")}
    return found


def cross():
    found = {}
    tests = dict.fromkeys(("convnet_fc", "convnet_avg"), ("affine", "overlap"))
    tests["convnet_cr"] = ("affine", "overlap", "compactness")  # the only one of the three with capsules to look at
    beaten = (any_of(*(more("dynamic_digits", f"{net}_digits", t) for t in of)) for net, of in tests.items())
    found["table"] = {"no_single_convnet": both(*beaten)}
    return found


PAPERS = {paper.__name__: paper for paper in (gu2021, chen2019, mitterreiter2023, peer2021, tsai2020, cross)}
EXPECTED = {f"{key}/{name}": claims for key, paper in PAPERS.items() for name, claims in paper().items()}
CLAIMS = [(artefact, name) for artefact, claims in EXPECTED.items() for name in claims]


def test_the_frozen_list_is_the_one_that_was_committed_before_the_results():
    before = {name: claims for name, claims in frozen().items() if not name.endswith("sentences")}
    assert hashlib.sha256(json.dumps(before).encode()).hexdigest() == FROZEN
    assert {name: set(artefact.claims) for name, artefact in artefacts().items() if name in before} == {
        n: set(c) for n, c in EXPECTED.items()
    }


@pytest.mark.parametrize(("artefact", "name"), CLAIMS)
def test_a_claim_says_what_its_sentence_says(artefact, name):
    assert read(artefacts()[artefact].claims[name]) == EXPECTED[artefact][name]
