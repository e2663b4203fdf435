"""Judges that read a measure's result: scripted results, and every name and value by hand."""

import base64
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.bench.judged import TEST, Quadrants, module_of, show, subject, values
from torchcaps.bench.judges import JUDGES
from torchcaps.data import Affine
from torchcaps.measures import ActivityResult, CompactnessResult, DynamicsResult, InvarianceResult, Nothing
from torchcaps.measures._fit import Estimate
from torchcaps.measures.activity import LayerActivity
from torchcaps.measures.compactness import FactorCompactness
from torchcaps.measures.complexity import CONTENDERS, ComplexityResult, Growth, Law, Point
from torchcaps.measures.invariance import FactorInvariance, LayerInvariance
from torchcaps.measures.routing_dynamics import Dynamics, LayerDynamics
from torchcaps.measures.starvation import LayerLook, Look, StarvationResult
from torchcaps.measures.sweep import Swept
from torchcaps.measures.symmetry import Asymmetry, SymmetryResult


@pytest.fixture
def script(monkeypatch):
    """Sets what the walk of a judge comes to, and gives the list of what it walked over."""
    show(monkeypatch)

    def set_to(judge, *results):
        walked = []

        def walk(model, data, measures):
            walked.append(SimpleNamespace(model=model, data=data, measures=measures))
            return list(results)

        monkeypatch.setattr(module_of(judge), "walk", walk)
        return walked

    return set_to


def compact(factor, mean, still=0):
    return FactorCompactness(factor, (-1.0, 0.0, 1.0), mean, 0.1, 5, still)


def test_compactness_by_factor_and_in_the_mean(script):
    walked = script("compactness", CompactnessResult(8, (compact("rotation", 0.25), compact("scale", 0.75, still=2))))
    found = JUDGES["compactness"](subject(), count=5)
    assert values(found) == {"rotation": 0.25, "scale": 0.75, "compactness": 0.5}
    assert found.details == {"still": {"rotation": 0, "scale": 2}}
    assert isinstance(walked[0].data, Swept)
    assert len(walked[0].data.source) == 5


def test_compactness_has_no_mean_where_a_factor_has_none(script):
    script("compactness", CompactnessResult(8, (compact("rotation", 0.25), compact("scale", None, still=12))))
    assert values(JUDGES["compactness"](subject())) == {"rotation": 0.25, "scale": None, "compactness": None}
    script("compactness", Nothing("compactness", "the network has no class capsules"))
    with pytest.raises(ValueError, match="no class capsules"):
        JUDGES["compactness"](subject())


def test_invariance_is_named_by_factor_layer_and_strength(script):
    def layers(by):
        below = LayerInvariance("primary", 4, (by + 0.3, by + 0.2), (0, 0))
        return below, LayerInvariance("classes", 4, (by, None), (0, 4))

    factors = tuple(FactorInvariance(name, (1.0, 2.0), layers(by)) for name, by in (("rotation", 0.5), ("scale", 0.0)))
    walked = script("invariance", InvarianceResult(12, factors, ()))
    found = JUDGES["invariance"](subject(), values=5)
    assert values(found) == {
        "rotation/1/1": 0.8, "rotation/1/2": 0.7, "rotation/2/1": 0.5, "rotation/2/2": None,
        "scale/1/1": 0.3, "scale/1/2": 0.2, "scale/2/1": 0.0, "scale/2/2": None,
    }  # fmt: skip
    assert walked[0].data.source is TEST
    assert len(walked[0].data.sweeps[0].values) == 5


def activity(name, capsules, dead, **numbers):
    some = {"cnm": 0.5, "cns": 0.5 * capsules, "car": 1.0, "cas": float(capsules), **numbers}
    return LayerActivity(name, capsules, cds=dead, cdr=dead / capsules, **some)


def test_layers_tell_every_number_of_both_tables(script):
    deep = (
        activity("primary", 10, 5, cnm=0.9, cns=9.0, car=0.8, cas=8.0),
        activity("hidden 1", 4, 1),
        activity("hidden 2", 4, 2),
        activity("classes", 10, 0),
    )
    dynamics = (
        LayerDynamics("primary", 10, 5, Dynamics(0.5, 1.5, ()), Dynamics(0.25, 2.5, ())),
        LayerDynamics("hidden 1", 4, None, None, Dynamics(0.125, 3.5, ())),
    )
    walked = script("layers", DynamicsResult(12, dynamics), ActivityResult(0.1, 0.01, 0.01, (), 12, deep))
    found = values(JUDGES["layers"](subject(), count=6))
    assert isinstance(walked[0].data, Affine)
    assert len(walked[0].data) == 6
    assert [found[f"{name}/1"] for name in ("dyr", "dys", "dyr_all", "dys_all")] == [0.5, 1.5, 0.25, 2.5]
    assert [found[f"{name}/2"] for name in ("dyr", "dys", "dyr_all", "dys_all")] == [None, None, 0.125, 3.5]
    assert [found[f"{name}/1"] for name in ("cnm", "cns", "car", "cas", "cdr", "cds")] == [0.9, 9.0, 0.8, 8.0, 0.5, 5]
    assert [found[f"alive/{k}"] for k in (1, 2, 3, 4)] == [5, 3, 2, 10]
    assert found["dead"] == 3 / 8
    assert found["living"] == 5 / 8
    JUDGES["layers"](subject(), view="clean")
    assert walked[1].data is TEST


def test_layers_say_nothing_where_activations_mean_nothing(script):
    silent = tuple(LayerActivity(name, 4, "layer norm") for name in ("primary", "hidden 1", "classes"))
    script("layers", Nothing("routing dynamics", "no couplings"), ActivityResult(0.1, 0.01, 0.01, (), 12, silent))
    found = values(JUDGES["layers"](subject()))
    assert set(found.values()) == {None}
    assert {"dead", "living", "alive/1", "cnm/3"} <= set(found)


def looks(*steps):
    """A result of looks, each a list of strings of 0 and 1, one for each layer."""
    packed = [
        [base64.b64encode(np.packbits([int(bit) for bit in layer]).tobytes()).decode() for layer in step]
        for step in steps
    ]
    every = tuple(
        Look(10 * k, tuple(LayerLook(0.1, None, None, bits) for bits in step)) for k, step in enumerate(packed)
    )
    names = ("primary", *(f"hidden {k}" for k in range(1, len(steps[0]) - 1)), "classes")
    return StarvationResult(names, tuple(map(len, steps[0])), every)


def test_starvation_counts_hidden_capsules_after_the_first_look():
    seen = looks(["11", "1000", "00", "0"], ["11", "0110", "01", "1"], ["11", "0010", "01", "1"])
    # of six hidden capsules: the first was dead only before the first step, three died, one of them came back
    found = values(JUDGES["starvation"](subject(seen={"starvation": seen.to_json()})))
    assert found == {
        "dead at the end": 2 / 6,
        "once dead": 3 / 6,
        "revived": 1 / 3,
        "returned": 1 / 3,
        "gradient fall": None,
    }


def test_where_nobody_died_nobody_came_back():
    seen = looks(["1", "10", "0"], ["1", "00", "0"], ["1", "00", "0"])
    found = values(JUDGES["starvation"](subject(seen={"starvation": seen.to_json()})))
    assert found == {"dead at the end": 0.0, "once dead": 0.0, "revived": None, "returned": None, "gradient fall": None}


def test_symmetry_tells_the_worst_layer(monkeypatch, script):
    parts = (
        Asymmetry("hidden 1: poses", 2.0, 0.1),
        Asymmetry("hidden 1: activations", 0.2, 2.0),
        Asymmetry("classes: poses", 1.9, 0.3),
        Asymmetry("classes: activations", 0.05, 1.8),
        Asymmetry("hidden 2: activations", None, None),
        Asymmetry("scores", 0.07, 1.7),
        Asymmetry("scores of negated images", 1.6, 1.5),
    )
    monkeypatch.setattr(module_of("symmetry"), "load", lambda *_, **__: TEST)
    walked = script("symmetry", SymmetryResult(12, parts))
    found = values(JUDGES["symmetry"](subject(), routing="dynamic", bias=False))
    assert found == {"poses": 0.3, "activations": 0.2, "scores": 0.07}
    assert {p.dtype for p in walked[0].model.parameters()} == {torch.float64}
    script("symmetry", SymmetryResult(12, (Asymmetry("scores", None, None),)))
    assert set(values(JUDGES["symmetry"](subject(), routing="dynamic", bias=False)).values()) == {None}


def test_symmetry_is_exact_without_a_bias_and_broken_with_one(monkeypatch):
    monkeypatch.setattr(module_of("symmetry"), "load", lambda *_, **__: TEST)
    without, with_bias = (values(JUDGES["symmetry"](subject(), routing="dynamic", bias=bias)) for bias in (False, True))
    assert max(without.values()) < 1e-12
    assert min(with_bias.values()) > 1e-6


def exact(n, d):
    return 3 * n**2 * d**2 + 5 * n**2 * d


def grown(name="RBA, dense", off=1.0):
    """Multiply-adds 3n²d² + 5n²d, of which the last point is counted `off` times too small."""
    grid = [(2, 3), (4, 3), (2, 5), (4, 5)]
    counts = [exact(n, d) for n, d in grid[:-1]] + [round(exact(*grid[-1]) / off)]
    points = tuple(Point(n, d, 1, count, 0.1, 1) for (n, d), count in zip(grid, counts, strict=True))

    def law(quantity, n, d, terms=(0.0, 0.0)):
        shares = tuple(zip(("n²d²", "n²d"), (Estimate(t, t, t) for t in terms), strict=True))
        return Law(quantity, Estimate(n, n, n), Estimate(d, d, d), shares)

    laws = (
        law("parameters", 2.0, 1.5),
        law("multiply_adds", 2.0, 1.75, (3.0, 5.0)),
        law("seconds", 2.25, 1.5),
        law("peak_bytes", 3.0, 4.0),
    )
    return Growth(name, points, laws)


def test_growth_tells_exponents_excess_and_misfit(monkeypatch):
    monkeypatch.setattr(module_of("growth"), "complexity", lambda *_, **__: ComplexityResult(16, False, (grown(),)))
    found = values(JUDGES["growth"](subject(), contender="dense"))
    assert found == {
        "parameters/n": 2.0, "parameters/d": 1.5, "multiply_adds/n": 2.0, "multiply_adds/d": 1.75,
        "seconds/n": 2.25, "seconds/d": 1.5, "peak_bytes/n": 3.0, "peak_bytes/d": 4.0,
        "excess/n": 0.25, "excess/d": -0.25, "misfit": 0.0,
    }  # fmt: skip
    off = ComplexityResult(16, False, (grown(off=1.25),))
    monkeypatch.setattr(module_of("growth"), "complexity", lambda *_, **__: off)
    assert values(JUDGES["growth"](subject(), contender="dense"))["misfit"] == pytest.approx(0.25)


def test_growth_asks_for_the_contender_it_was_told(monkeypatch):
    asked = []

    def complexity(ns, ds, *, contenders, **_):
        asked.append((CONTENDERS[contenders[0]].__name__, tuple(ns), tuple(ds)))
        return ComplexityResult(16, False, (grown(contenders[0].replace("MHSA", "RBA")),))

    monkeypatch.setattr(module_of("growth"), "complexity", complexity)
    for name in ("dense", "fused", "attention"):
        JUDGES["growth"](subject(), contender=name, ns=(4, 8), ds=(2, 3))
    assert asked == [(layer, (4, 8), (2, 3)) for layer in ("Dense", "Fused", "Attention")]


class Tree:
    """A tree that knows nothing but its image."""

    def __init__(self, image):
        self.image = image

    def to_json(self):
        return self.image[0].round(decimals=3).tolist()


def test_trees_of_an_image_its_warp_and_noisy_copies(monkeypatch):
    show(monkeypatch)
    compared = []

    def difference(a, b):
        compared.append((a.image, b.image))
        return SimpleNamespace(value=float((a.image - b.image).abs().sum()))

    module = module_of("trees")
    monkeypatch.setattr(module, "parse_trees", lambda _, images: [Tree(image) for image in images])
    monkeypatch.setattr(module, "difference", difference)
    found = JUDGES["trees"](subject(), count=4, noise=0.1)
    warps, copies = compared[:4], compared[4:]
    plain = [image for image, _ in warps]
    for name, pairs in (("warp", warps), ("noise", copies)):
        assert values(found)[name] == pytest.approx(np.mean([float((a - b).abs().sum()) for a, b in pairs]))
    for image, (one, two) in zip(plain, copies, strict=True):
        assert set(image.unique().tolist()) == {0.0, 1.0}
        assert not torch.equal(one, two)
        for copy in (one, two):
            assert 0.02 < float((copy - image).abs().mean()) < 0.08  # half the noise is clipped: 0.1 · √(2/π) / 2
            assert 0 <= float(copy.min()) <= float(copy.max()) <= 1
    assert found.details["trees"] == found.details["images"]
    assert found.details["images"][0] == plain[0][0].tolist()
    assert found.details["images"][1] == warps[0][1][0].round(decimals=3).tolist()


def test_the_mean_tree_is_over_affine_images_and_counts_the_dead(script):
    tree = SimpleNamespace(layers=[SimpleNamespace(dead=n) for n in (1, None, 3)], to_json=dict)
    walked = script("mean_tree", tree)
    assert values(JUDGES["mean_tree"](subject(), count=6)) == {"dead capsules": 4.0}
    assert isinstance(walked[0].data, Affine)
    assert len(walked[0].data) == 6
    JUDGES["mean_tree"](subject(Quadrants()), view="clean")
    assert walked[1].data is TEST
