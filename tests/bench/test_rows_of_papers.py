"""What every row trains on and with, and what is measured of it, written down from the papers and the specification.

At `paper` scale the settings that decide what is learned; at `cpu` scale what the specification lets a scale cut.
"""

import pytest

from torchcaps.bench.papers import artefacts
from torchcaps.routing import ROUTINGS
from torchcaps.train import Settings

ADAM = {"batch_size": 128, "lr": 1e-3}
FIELDS = ("model", "data", "options", "data_options", "batch_size", "optimiser", "lr", "weight_decay", "lr_schedule",
          "augment", "loss", "reconstruction_weight", "until_accuracy", "standardise", "image_size",
          "callbacks")  # fmt: skip
DATA = {"mnist": "mnist", "fashion": "fashion_mnist"}
TIMED = {"step_time", "growth", "cost", "iterations"}


def both(*names):
    return [("accuracy", {"view": name, "count": 10_000}) for name in names]


def gu2021():
    placed, pairs = {"data": "placed_mnist", **ADAM}, {"data": "multi_mnist", **ADAM}
    names = ("convnet_fc", "capsnet", "capsnet_nor", "aff_capsnet_dr", "aff_capsnet", "convnet_avg")
    table1 = {name: {**placed, "model": f"gu2021/{name}", "until_accuracy": 0.9922} for name in names}
    ablations = {
        "base": {},
        "routing": {"routing": "dynamic"},
        "transformation": {"share": "none"},
        "groups": {"share": "position"},
        "squash": {"squash": False},
        "plain": {"reconstruction": "plain"},
        "none": {"reconstruction": "none"},
        "loss": {"loss": "ce"},
    }
    table2 = {name: {**placed, "model": "gu2021/aff_capsnet", "options": of} for name, of in ablations.items()}
    kernels = {"capsnet": (3, 5, 7, 9, 11), "convnet_fc": (3, 5, 7), "convnet_avg": (3, 5, 7, 9, 11)}
    table3 = {
        f"{m}_{k}": {**placed, "model": f"gu2021/{m}", "options": {"kernel": k}} for m in kernels for k in kernels[m]
    }
    of_capsnet = {
        "base": {}, "routing": {"routing": "uniform"}, "transformation": {"share": "all"}, "squash": {"squash": False},
        "plain": {"reconstruction": "plain"}, "reconstruction": {"reconstruction": "none"}, "loss": {"loss": "bce"},
    }  # fmt: skip
    six_million = {**pairs, "data_options": {"pairs": 100}}
    convnet = {**six_million, "model": "gu2021/convnet_cr"}
    table4 = {
        **{name: {**six_million, "model": "gu2021/capsnet", "options": of} for name, of in of_capsnet.items()},
        "convnet_avg": {**six_million, "model": "gu2021/convnet_avg", "options": {"loss": "bce"}},
        "convnet_cr": convnet,
        "convnet_c": {**convnet, "reconstruction_weight": 0.0},
        "convnet_margin": {**convnet, "loss": {"name": "margin", "logits": True}},
    }
    units = {3: [105, 62], 5: [124, 73], 7: [150, 88], 11: [126, 74]}  # as many parameters as CapsNet
    figure3 = {}
    for name, model in (("capsnet", "gu2021/capsnet"), ("convnet", "gu2021/convnet_fc_lk")):
        for n in (1, 10, 100, 1000):
            figure3[f"{name}_n{n}"] = {**pairs, "model": model, "data_options": {"pairs": n}}
        for k in (3, 5, 7, 11):
            options = {"kernel": k} if name == "capsnet" else {"kernel": k, "units": units[k]}
            figure3[f"{name}_k{k}"] = {**pairs, "model": model, "data_options": {"pairs": 1000}, "options": options}
    nets = {"r": "convnet_r", "cr": "convnet_cr", "cr_sf": "convnet_cr_sf", "capsnet": "capsnet"}
    table5 = {f"{n}_{d}": {**ADAM, "model": f"gu2021/{m}", "data": DATA[d]} for n, m in nets.items() for d in DATA}
    near, far = [-0.2, -0.15, -0.1, -0.05, 0, 0.05, 0.1, 0.15, 0.2], [-8, -6, -4, -2, 0, 2, 4, 6, 8]
    moved = {f"{n}_mnist": [("response", {"count": 500, "deltas": near if n == "capsnet" else far})] for n in nets}
    new = {"count": 10_000, "data": {"pairs": 1}}  # test pairs are as many, however many were learned from
    train = ("accuracy", {"on": "train", "split": "train", "count": 10_000})
    return {
        "table1": (table1, [*both("clean", "affine"), ("parameters", {"share": 1e-6})]),
        "table2": (table2, [train, *both("clean", "affine")]),
        "table3": (table3, both("clean", "affine")),
        "table4": (
            table4,
            [("accuracy", {"on": "train", "split": "train", **new}), ("accuracy", {"on": "test", **new})],
        ),
        "figure3": (figure3, [("accuracy", {"on": "accuracy", **new})]),
        "table5": (table5, [("compactness", {"count": 10_000})]),
        "figure4": ({name: table5[name] for name in moved}, moved),
    }


def chen2019():
    plain = {"reconstruction": "none"}
    mnist = {"cnn": ("cnn", {}), "capsnet": ("capsnet", {}), "fc": ("fc_gcaps", {}), "fc_plain": ("fc_gcaps", plain),
             "conv": ("conv_gcaps", {}), "conv_plain": ("conv_gcaps", plain)}  # fmt: skip
    cifar = {"cnn": "cnn_cifar", "capsnet": "capsnet_cifar", "fc": "fc_gcaps_cifar", "conv": "conv_gcaps_cifar",
             "multi": "multi_gcaps"}  # fmt: skip
    table2, times = {}, {}
    for name, (model, options) in mnist.items():
        paper = "sabour2017" if name == "capsnet" else "chen2019"
        table2[f"{name}_mnist"] = {**ADAM, "model": f"{paper}/{model}", "data": "mnist", "options": options}
    for name, model in cifar.items():
        table2[f"{name}_cifar10"] = {**ADAM, "model": f"chen2019/{model}", "data": "cifar10"}
    measures = {row: [("accuracy", {"on": "accuracy"}), ("parameters", {})] for row in table2}
    for name in ("fc", "conv"):
        times[f"time_{name}"] = None
        measures[f"time_{name}"] = [("step_time", {"against": "uniform", "model": f"chen2019/{name}_gcaps"})]
    nets = {
        "baseline": {**ADAM, "data": "mnist", "model": "chen2019/cnn"},
        "fc": {**ADAM, "data": "mnist", "model": "chen2019/fc_gcaps", "options": plain},
        "conv": {**ADAM, "data": "mnist", "model": "chen2019/conv_gcaps", "options": plain},
    }
    sweep = (8 / 255, 0.1, 0.2, 0.3, 0.5, 1.0)
    return {
        "table2": ({**table2, **times}, measures),
        "table3": (nets, [("drawn", {})]),
        "blackbox": (nets, [("transferred", {"eps": sweep, "unclipped": (*sweep, 2.0, 8.0)})]),
        "whitebox": (nets, [("universal", {"eps": (0.1, 0.2, 0.3, 0.5), "iterations": 200})]),
        "table_s1": ({"multi_gcaps": None}, [("layer_sizes", {"model": "chen2019/multi_gcaps"})]),
    }


def mitterreiter2023():
    watched = {"callbacks": {"starvation": {"every": 200}}}
    any_data = {**ADAM, **watched, "model": "mitterreiter2023/capsnet", "data": "placed_mnist"}
    target, start = {"until_accuracy": 0.992}, {"init_std": 0.2}
    placed = {**any_data, **target, "options": start}
    library = {**any_data, **target}
    uniform = {"routing": "uniform"}
    shared = {"placed": placed, "placed_library": library}
    table1 = {
        **shared,
        "affine": {**any_data, "data": "affine_mnist", "options": start},
        "cifar": {**any_data, "data": "cifar10", "options": start},
        "cifar_library": {**any_data, "data": "cifar10"},
    }
    deep = {f"depth_{n}": {**placed, "options": {**start, "layers": n}} for n in (3, 7)}
    starved = {
        "formulas": None,
        **shared,
        "uniform": {**placed, "options": {**start, **uniform}},
        "uniform_library": {**library, "options": uniform},
    }
    sizes = {"5 layers": {}, "3 layers": {"layers": 3}, "7 layers": {"layers": 7}, "32 capsules": {"capsules": 32},
             "8 capsules": {"capsules": 8}, "dimension 16": {"dim": 16}}  # fmt: skip
    grid, judged = {}, {}
    for data, of, view in (("affine MNIST", {}, "affine"), ("CIFAR-10", {"data": "cifar10"}, "clean")):
        for size, options in sizes.items():
            for name, how in (("RBA", {}), ("uniform", uniform)):
                row = f"{data}, {size}, {name}"
                grid[row] = {**any_data, **of, "options": {**start, **options, **how}}
                judged[row] = both(view)
    contenders = ("attention", "dense", "fused")
    ns = {"ns": [16, 32, 64, 128, 256], "ds": [16, 32, 64]}
    return {
        "table1": (table1, [("layers", {"count": 10_000}), *both("clean")]),
        "table2": ({**shared, **deep}, [("layers", {"count": 10_000})]),
        "figure2": (shared, [("trees", {"count": 1000})]),
        "figure3": (shared, [("mean_tree", {"count": 10_000})]),
        "figure4": (shared, [("invariance", {"count": 10_000})]),
        "starvation": (
            starved,
            {row: [("formulas", {})] if row == "formulas" else [("starvation", {})] for row in starved},
        ),
        "uniform": (grid, judged),
        "table3": (dict.fromkeys(contenders), {name: [("growth", {"contender": name, **ns})] for name in contenders}),
    }


def peer2021():
    adam = {"batch_size": 256, "lr": 1e-4}
    released = {"start": "glorot", "reconstruction": "plain", "squash_eps": 1e-8}
    besides = {"rba": {}, "em": {"routing_options": {"beta_std": 0.1, "unit_eps": 1e-8}}}
    found = {}
    for table, model, depths in (("table2", "rba", range(2, 6)), ("table3", "em", range(5, 10))):
        rows = {}
        for data, name in DATA.items():
            for n in depths:
                for ending, bias in (("", False), ("_bias", True)):
                    paper = {**adam, "model": f"peer2021/{model}", "data": name}
                    own = {"depth": n, "bias": bias}
                    rows[f"{data}_{n}{ending}"] = {**paper, "options": own}
                    theirs = {**released, **besides[model], **own}
                    rows[f"{data}_{n}{ending}_released"] = {**paper, "standardise": True, "options": theirs}
        found[table] = (rows, [("accuracy", {"on": "accuracy"}), ("onset", {})])
    sign = {"model": "peer2021/sign", "data": "sign", "batch_size": 256, "lr": 5e-3,
            "loss": {"name": "margin", "down_weight": 1.0}}  # fmt: skip
    routings = {"rba": ("dynamic", False), "rba_bias": ("dynamic", True), "em": ("em", False), "em_bias": ("em", True)}
    table1 = {row: {**sign, "options": {"routing": r, "bias": b}} for row, (r, b) in routings.items()}
    found["table1"] = (table1, [("accuracy", {"split": "train", "on": "accuracy"}), ("onset", {"classes": 2})])
    every = {
        f"{r}_bias" if b else r: [("symmetry", {"routing": r, "bias": b})] for r in ROUTINGS for b in (False, True)
    }
    found["theorems"] = (dict.fromkeys(every), every)
    return found


def tsai2020():
    steps = {"batch_size": 128, "lr_schedule": "steps"}
    cifar = {**steps, "augment": "crop_flip"}
    sgd = {"optimiser": "sgd", "lr": 0.1, "weight_decay": 5e-4}
    rates = {"inverted": sgd, "dynamic": {"lr": 1e-3}, "em": {"lr": 1e-2}}
    table1, measured = {}, {}
    quarter = {"classes": [10, 100], "share": 0.25, "on": "a quarter of them"}
    for ending, data in (("", "cifar10"), ("_100", "cifar100")):
        rows = {f"{r}_{b}": {**rates[r], "model": f"tsai2020/{r}_{b}"} for r in rates for b in ("simple", "resnet")}
        rows |= {f"{name}": {**sgd, "model": f"tsai2020/{name}"} for name in ("cnn_simple", "resnet18")}
        for b in ("simple", "resnet"):
            rows[f"inverted_{b}_released"] = {**rows[f"inverted_{b}"], "options": {"compat": "apple"}}
        table1 |= {name + ending: {**cifar, "data": data, **of} for name, of in rows.items()}
        counts = [] if ending else [("parameters", {"classes": [10, 100]}), ("parameters", quarter)]
        measured |= {name + ending: [("accuracy", {"on": "accuracy"}), *counts] for name in rows}
    figure4 = {}
    kinds = {"inverted": {}, "a": {"norm": False}, "b": {"concurrently": False}, "c": {"activations": True}}
    base = {**cifar, "data": "cifar10"}
    for t in range(1, 6):
        for r in ("dynamic", "em"):
            figure4[f"{r}_{t}"] = {**base, **rates[r], "model": f"tsai2020/{r}_simple", "options": {"iters": t}}
        for kind, options in kinds.items():
            own = {"model": "tsai2020/inverted_simple", "options": {**options, "iters": t}}
            figure4[f"{kind}_{t}"] = {**base, **sgd, **own}
    two = figure4["inverted_2"]
    others = {
        "random": {"options": {"iters": 2, "routing_options": {"start": "random"}}},
        "learned": {"options": {"iters": 2, "routing_options": {"start": "learned"}}},
        "margin": {"loss": {"name": "margin"}},
        "spread": {"loss": {"name": "spread"}},
        "side_2": {"options": {"iters": 2, "side": 2}},
        "side_3": {"options": {"iters": 2, "side": 3}},
        "cost": {},
    }
    figure4 |= {name: {**two, **of} for name, of in others.items()}
    course = [("accuracy", {"on": "accuracy"}), ("course", {})]
    diverse = {**steps, "data": "diverse_multi_mnist", "optimiser": "sgd", "lr": 0.1 / 10}  # the loss: a sum over ten
    models = {"cnn": ("cnn", {}), "fc_cnn": ("cnn", {"pool": False}), "dynamic": ("dynamic", {}),
              "matrix": ("matrix", {}), "vector": ("vector", {}), "matrix_42m": ("matrix_42m", {})}  # fmt: skip
    figure5 = {n: {**diverse, "model": f"tsai2020/diverse_{m}", "options": o} for n, (m, o) in models.items()}
    return {
        "table1": (table1, measured),
        "figure4": (figure4, {row: [("iterations", {})] if row == "cost" else course for row in figure4}),
        "figure5": (figure5, course),
    }


def cross():
    digits = {**ADAM, "data": "mnist"}
    losses = {"em": {"loss": "spread"}, "inverted_attention": {"loss": "ce"}}  # of their papers
    tests = [*both("clean", "affine", "overlap"), ("descent", {"count": 1000})]
    compact = ("compactness", {"count": 1000})
    rows, measures = {}, {}
    for name in ROUTINGS:
        options = {"routing": name, **losses.get(name, {})}
        rows[f"{name}_digits"] = {**digits, "model": "sabour2017/capsnet", "options": options}
        rows[f"{name}_deep"] = {**digits, "model": "mitterreiter2023/capsnet", "options": options}
        alone = {"routing_options": {"norm": False}} if name == "inverted_attention" else {}
        sign = {"model": "peer2021/sign", "data": "sign", "batch_size": 256, "lr": 5e-3}
        rows[f"{name}_sign"] = {**sign, "options": {"routing": name, **alone}}
        rows[f"{name}_cost"] = None
        measures[f"{name}_digits"] = [*tests, compact]
        measures[f"{name}_deep"] = [("layers", {"view": "clean", "count": 10_000}), *both("clean")]
        measures[f"{name}_sign"] = [("accuracy", {"on": "sign", "count": 10_000})]
        measures[f"{name}_cost"] = [("cost", {"model": "sabour2017/capsnet", "options": options})]
    for name in ("convnet_fc", "convnet_avg", "convnet_cr"):
        rows |= {f"{name}_digits": {**digits, "model": f"gu2021/{name}"}, f"{name}_cost": None}
        measures[f"{name}_digits"] = [*tests, compact] if name == "convnet_cr" else tests
        measures[f"{name}_cost"] = [("cost", {"model": f"gu2021/{name}", "options": {"image_size": 28}})]
    return {"table": (rows, measures)}


PAPERS = {of.__name__: of() for of in (gu2021, chen2019, mitterreiter2023, peer2021, tsai2020, cross)}
EXPECTED = {f"{paper}/{name}": found for paper, of in PAPERS.items() for name, found in of.items()}
every_artefact = pytest.mark.parametrize("name", EXPECTED)


def test_every_artefact_is_here():
    """But for the sentences, which train networks of our own sizes: see test_sentences.py."""
    assert set(EXPECTED) == {name for name in artefacts() if not name.endswith("sentences")}


def jobs(name, scale):
    """The judging of each row by the first seed."""
    return {job.row: job for job in artefacts()[name].judgings(scale, seeds=1)}


@every_artefact
def test_rows_train_as_the_papers_say(name):
    rows, _ = EXPECTED[name]
    found = jobs(name, "paper")
    assert set(found) == set(rows)
    for row, own in rows.items():
        if own is None:
            assert found[row].training is None, row
            continue
        wanted, made = Settings(**own), found[row].training.settings
        assert {f: getattr(made, f) for f in FIELDS} == {f: getattr(wanted, f) for f in FIELDS}, row


@every_artefact
def test_rows_are_measured_as_the_specification_says(name):
    rows, measures = EXPECTED[name]
    for row, job in jobs(name, "paper").items():
        assert [tuple(m) for m in job.measures] == (measures[row] if isinstance(measures, dict) else measures), row
        assert artefacts()[name].row(row).alone == bool(TIMED & {m.name for m in job.measures}), row
        others = [other.settings for other in job.others]
        assert [other.model for other in others] == ["chen2019/lenet"] * (name == "chen2019/blackbox"), row
        assert all((other.data, other.seed) == (rows[row]["data"], job.seed) for other in others)


@pytest.mark.parametrize(("name", "epochs"), [("peer2021/table1", 50), ("peer2021/table2", 50), ("peer2021/table3", 50),
                                              ("tsai2020/table1", 350), ("tsai2020/figure4", 350),
                                              ("tsai2020/figure5", 350)])  # fmt: skip
def test_trainings_are_as_long_as_the_papers_say(name, epochs):
    assert {job.training.settings.epochs for job in jobs(name, "paper").values()} == {epochs}


# At cpu: thousands of images that a training sees, width of convolutions, test images of each measure, rows cut.
CPU = {
    "gu2021/table1": (240, 1 / 8, {"accuracy": 5000}, ()),
    "gu2021/table2": (150, 1 / 8, {"accuracy": 5000}, ()),
    "gu2021/table3": (100, 1 / 8, {"accuracy": 5000}, ("capsnet_5", "convnet_fc_5", "convnet_avg_5", "convnet_avg_7")),
    "gu2021/table4": (120, 1 / 8, {"accuracy": 5000}, ()),
    "gu2021/figure3": (
        100,
        1 / 8,
        {"accuracy": 5000},
        [f"{m}_{x}" for m in ("capsnet", "convnet") for x in ("n1000", "k3", "k5", "k7", "k11")],
    ),
    "gu2021/table5": (60, 1 / 8, {"compactness": 300}, ()),
    "gu2021/figure4": (60, 1 / 8, {"response": 500}, ()),
    "chen2019/table2": (90, {"": 1 / 8, "cifar10": 1 / 4}, {"accuracy": 5000}, ()),
    "chen2019/table3": (90, 1 / 8, {}, ()),
    "chen2019/blackbox": (90, 1 / 8, {"transferred": 2000}, ()),
    "chen2019/whitebox": (90, 1 / 8, {"universal": 1000}, ()),
    "mitterreiter2023/table1": ({"": 400, "affine": 300, "cifar": 150}, 1 / 4, {"layers": 2000, "accuracy": 5000}, ()),
    "mitterreiter2023/table2": (400, 1 / 4, {"layers": 2000}, ()),
    "mitterreiter2023/figure2": (400, 1 / 4, {"trees": 200}, ()),
    "mitterreiter2023/figure3": (400, 1 / 4, {"mean_tree": 2000}, ()),
    "mitterreiter2023/figure4": (400, 1 / 4, {"invariance": 300}, ()),
    "mitterreiter2023/starvation": (400, 1 / 4, {"formulas": 128}, ()),
    "mitterreiter2023/uniform": (
        {"affine": 200, "CIFAR": 100},
        1 / 4,
        {"accuracy": 5000},
        [
            f"{d}, {size}, {r}"
            for d in ("affine MNIST", "CIFAR-10")
            for r in ("RBA", "uniform")
            for size in ("7 layers", "32 capsules", "8 capsules", "dimension 16")
        ],
    ),
    "peer2021/table2": (
        128,
        1 / 8,
        {"accuracy": 5000},
        [f"{row}{b}_released" for row in ("mnist_2", *(f"fashion_{n}" for n in (2, 3, 4, 5))) for b in ("", "_bias")],
    ),
    "peer2021/table3": (
        256,
        1 / 16,
        {"accuracy": 5000},
        [f"{row}{b}" for row in ("mnist_9", "fashion_6", "fashion_7", "fashion_9") for b in ("", "_bias")]
        + [f"{data}_{n}{b}_released" for data in ("mnist", "fashion") for n in (5, 6, 7, 8, 9) for b in ("", "_bias")],
    ),
    "tsai2020/table1": (32.4, 1 / 8, {"accuracy": 2000}, ()),
    "tsai2020/figure4": (
        12.6,
        1 / 8,
        {"accuracy": 2000},
        [f"{k}_{t}" for k in ("dynamic", "inverted", "a", "b", "c") for t in (3, 4)] + ["c_5", "em_4", "em_5"],
    ),
    "tsai2020/figure5": (45, 1 / 16, {"accuracy": 2000}, ("matrix_42m",)),
}
STOPPED = ("table1", "table2", "figure2", "figure3", "figure4", "starvation")
TARGETS = {f"mitterreiter2023/{name}": ("placed", "depth", "uniform") for name in STOPPED} | {"gu2021/table1": ("",)}


def own(given, row):
    """What holds for a row: one for all, or that of the longest key that stands in its name."""
    return given[max((key for key in given if key in row), key=len)] if isinstance(given, dict) else given


@pytest.mark.parametrize("name", CPU)
def test_a_smaller_scale_cuts_what_the_specification_lets_it_cut(name):
    thousands, width, counts, cut = CPU[name]
    found = jobs(name, "cpu")
    assert set(found) == set(EXPECTED[name][0]) - set(cut)
    for row, job in found.items():
        asked = {m.name: m.options["count"] for m in job.measures if "count" in m.options}
        assert asked == {m.name: counts[m.name] for m in job.measures if m.name in counts}, row
        if job.training is None:
            continue
        made = job.training.settings
        held = 0 if made.validation is None else made.validation
        seen = made.steps * made.batch_size if made.steps else made.epochs * made.images * (1 - held)
        assert seen == pytest.approx(1000 * own(thousands, row), rel=0.01), row
        assert made.options["conv_width"] == own(width, row), row
        stopped = any(row.startswith(start) for start in TARGETS.get(name, ()))
        assert made.until_accuracy == (0.96 if stopped else None), row


def test_the_cross_table_at_the_smaller_scale():
    for row, job in jobs("cross/table", "cpu").items():
        if job.training is not None:
            made = job.training.settings
            kind = row.rpartition("_")[2]
            seen = {"digits": 700 * 128, "deep": 700 * 128, "sign": 800 * 256}[kind]
            assert made.steps * made.batch_size == seen, row
            if kind != "sign":  # which has no convolutions
                assert made.options["conv_width"] == {"digits": 1 / 8, "deep": 1 / 4}[kind], row


def test_universal_attacks_run_as_long_as_the_claim_asks():
    for scale in ("cpu", "paper"):
        for job in jobs("chen2019/whitebox", scale).values():
            assert job.measures[0].options["iterations"] >= 100
            assert 0.3 in job.measures[0].options["eps"]
