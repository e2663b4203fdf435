"""Who competes in what: from arguments to an artefact, and to a run of stubs."""

import inspect
from types import SimpleNamespace

import pytest

from tests.bench.made_up import keep, line_of
from tests.bench.toy import place
from tests.contracts import few_images
from torchcaps.bench.compare import arrange as arranging
from torchcaps.bench.compare import entrants as choosing
from torchcaps.bench.compare import hold as holding
from torchcaps.bench.compare.arrange import arrange
from torchcaps.bench.compare.contest import Contest, Entrant, check_tests
from torchcaps.bench.compare.entrants import choose
from torchcaps.bench.losses import LOSSES
from torchcaps.models import card, create_model, list_models

A, B = Entrant("A", "sabour2017/capsnet", {"routing": "dynamic"}), Entrant("B", "gu2021/convnet_fc", {}, capsules=False)


def contest(**changes):
    plain = {"title": "Made Up!", "entrants": (A, B), "settings": {"data": "sign", "validation": 0.0}}
    return Contest(**{**plain, "seeds": 2, **changes})


def test_a_contest_is_an_artefact_with_a_row_for_each_network():
    asked = contest(first=3, count=2000, tests=check_tests(["clean", "affine", "pgd"]))
    artefact = asked.artefact(minutes=7.5)
    jobs = artefact.judgings("cpu")
    assert [(job.row, job.seed) for job in jobs] == [("a", 3), ("a", 4), ("b", 3), ("b", 4)]
    assert (artefact.id, artefact.title, artefact.budgets["cpu"].minutes) == ("compare/made_up_", "Made Up!", 7.5)
    for job in jobs:
        assert job.measures == (
            ("accuracy", {"view": "clean", "count": 2000}),
            ("accuracy", {"view": "affine", "count": 2000}),
            ("descent", {"count": 200}),
        )
    assert jobs[0].training.settings.options == {"routing": "dynamic"}
    assert jobs[2].training.settings.model == "gu2021/convnet_fc"


@pytest.mark.parametrize(("count", "attacked"), [(0, 200), (50, 50), (200, 200), (5000, 200)])
def test_at_most_two_hundred_images_are_attacked(count, attacked):
    [job] = contest(entrants=(A,), seeds=1, count=count, tests=check_tests(["pgd"])).artefact().judgings("cpu")
    assert job.measures == (("descent", {"count": attacked}),)


def test_names_that_differ_in_signs_are_rows_of_their_own():
    names = ("in verted", "inverted", "In-Verted!", "x y")
    ids = [Entrant(name, "", {}).id for name in names]
    assert ids == ["in_verted", "inverted", "in_verted_", "x_y"]


def test_as_many_images_are_shown_as_are_judged_by():
    settings = {"data": "sign", "validation": 0.0}
    assert len(contest(entrants=(Entrant("S", "peer2021/sign", {}),), settings=settings, count=30).images()) == 30


def test_there_must_be_a_test_and_all_must_be_known():
    with pytest.raises(ValueError, match="no test is given: choose from clean, affine, overlap, pgd"):
        check_tests([])
    with pytest.raises(ValueError, match="test 'upside' is not allowed"):
        check_tests(["clean", "upside"])


@pytest.fixture
def chosen(monkeypatch):
    """Stands for `choose`: what it was asked."""
    asked = []
    monkeypatch.setattr(arranging, "choose", lambda *given: asked.append(given) or (A, B))
    return asked


def test_a_folder_seen_from_where_one_stands(tmp_path, monkeypatch, chosen):
    few_images.OWN["a folder"](tmp_path)
    monkeypatch.chdir(tmp_path)
    made = arrange("photos", tests=["affine", "clean"], epochs=3, seeds=4)
    assert made.settings == {
        "batch_size": 64,
        "lr": 1e-3,
        "validation": 0.1,
        "image_size": 32,
        "epochs": 3,
        "data": str(tmp_path / "photos"),
    }
    assert (made.title, made.seeds, list(made.tests), made.entrants) == ("photos", 4, ["affine", "clean"], (A, B))
    [(models, routings, image, classes, width)] = chosen
    assert (models, routings) == (("sabour2017/capsnet", "gu2021/convnet_fc"), ("dynamic", "inverted_attention"))
    assert (image[1:], classes, width) == ((32, 32), 3, 0.25)


def test_arrays_are_as_large_as_they_are_unless_asked(tmp_path, chosen):
    file, _ = few_images.OWN["arrays"](tmp_path)
    made = arrange(file)
    assert "image_size" not in made.settings
    assert (made.settings["steps"], "epochs" in made.settings) == (400, False)
    assert arrange(file, image_size=16, steps=9).settings["image_size"] == 16
    assert [image for _, _, image, _, _ in chosen] == [(1, 12, 12), (1, 16, 16)]


def test_epochs_and_steps_exclude_each_other(tmp_path, chosen):
    file, _ = few_images.OWN["arrays"](tmp_path)
    with pytest.raises(ValueError, match="epochs=2 and steps=3 exclude each other"):
        arrange(file, epochs=2, steps=3)


def test_pairs_need_three_classes(chosen):
    with pytest.raises(ValueError, match="test 'overlap' is not allowed: it needs 3 classes, and sign has 2"):
        arrange("sign", tests=["overlap"])


@pytest.fixture
def matched(monkeypatch):
    """Stands for `match_parameters`: what it was asked."""
    asked = []
    monkeypatch.setattr(
        choosing, "match_parameters", lambda *given, **options: asked.append((given, options)) or [7, 5]
    )
    return asked


def test_every_capsule_model_with_every_routing_and_a_convnet_of_the_size_of_the_first(matched):
    models, routings = ("gu2021/convnet_fc", "sabour2017/capsnet", "sabour2017/capsnet"), ("dynamic", "em")
    first, second, plain, *_ = choose(models, routings, (1, 28, 28), 10, 0.05)
    assert (first.name, first.options, first.capsules) == ("dynamic", {"conv_width": 0.05, "routing": "dynamic"}, True)
    assert (second.name, second.options) == ("em", {"conv_width": 0.05, "routing": "em", "loss": "spread"})
    assert (plain.name, plain.options, plain.capsules) == ("ConvNet", {"conv_width": 0.05, "units": [7, 5]}, False)
    network = create_model("sabour2017/capsnet", **first.options, num_classes=10, in_chans=1, image_size=28)
    predicting = [p.numel() for name, p in network.named_parameters() if not name.startswith("decoder.")]
    assert len(predicting) < len(list(network.parameters())), "there is a decoder, which does not count"
    [((model, option, wanted), shape)] = matched
    assert (model, option, wanted) == ("gu2021/convnet_fc", "units", sum(predicting))
    assert shape == {"conv_width": 0.05, "num_classes": 10, "in_chans": 1, "image_size": 28}


def test_a_linear_head_and_a_small_cnn_are_always_among_them(matched):
    """Once, whether they are asked for or not, and beside a ConvNet that is called so."""
    for asked in ((), ("baselines/small_cnn", "baselines/linear_head")):
        *others, linear, small = choose(
            ("sabour2017/capsnet", "gu2021/convnet_fc", *asked), ("em",), (1, 28, 28), 10, 0.5
        )
        assert [one.name for one in others] == ["em", "ConvNet"]
        assert (linear.name, linear.model, linear.capsules) == ("linear head", "baselines/linear_head", False)
        assert (small.name, small.model, small.capsules) == ("small CNN", "baselines/small_cnn", False)


def test_convnets_among_themselves_are_as_their_papers_have_them(matched):
    both = choose(("gu2021/convnet_fc", "chen2019/lenet"), ("dynamic",), (1, 28, 28), 10, 0.5)
    assert [(one.name, one.options) for one in both[:2]] == [
        ("gu2021/convnet_fc", {"conv_width": 0.5}),
        ("chen2019/lenet", {"conv_width": 0.5}),
    ]
    assert matched == []


def test_a_routing_at_home_keeps_its_models_loss():
    model = next(name for name in list_models() if card(name).routing == "inverted_attention")
    own, foreign = (choosing._capsules(model, routing, 1.0, alone=False) for routing in ("inverted_attention", "em"))
    assert "loss" not in own.options
    assert foreign.options["loss"] == "spread"
    assert choosing._capsules("sabour2017/capsnet", "inverted_attention", 1.0, alone=True).options["loss"] == "ce"
    assert foreign.name == f"{model} em"


@pytest.mark.parametrize("routing", ["em", "inverted_attention"])
def test_losses_are_those_of_the_routings_own_models(routing):
    """Inverted attention and EM were trained by tsai2020, who say with which loss."""
    homes = [card(name) for name in list_models() if name.startswith("tsai2020") and card(name).routing == routing]
    own = {inspect.signature(one.build).parameters["loss"].default for one in homes}
    assert own - {"bce"} == {LOSSES[routing]}, "bce is for two digits at once"


def test_one_network_is_no_contest(matched):
    for models in (("gu2021/convnet_fc",), ("sabour2017/capsnet", "sabour2017/capsnet"), ()):
        with pytest.raises(ValueError, match="is one network: name another"):
            choose(models, ("dynamic",), (1, 28, 28), 10, 0.05)


def test_the_forecast_is_of_all_networks_and_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr(
        holding, "estimate", lambda model, data, **_: SimpleNamespace(seconds=30.0 if "caps" in model else 90.0)
    )
    asked = contest(seeds=4)
    assert holding.foresee(asked, place(tmp_path)).budgets["cpu"].minutes == pytest.approx((30 + 90) * 4 / 60)
    keep(place(tmp_path).results, [line_of(job, {"clean": 0.5}) for job in asked.artefact().judgings("cpu")])
    assert holding.foresee(asked, place(tmp_path)).budgets["cpu"].minutes == 0


@pytest.mark.usefixtures("no_shape_checks")
def test_one_failure_is_an_error(tmp_path, monkeypatch):
    asked, where = contest(), place(tmp_path)
    monkeypatch.setattr(holding, "foresee", lambda contest, place: contest.artefact())
    monkeypatch.setattr(holding, "run", lambda *given, **options: None)
    monkeypatch.setattr(holding, "outcome", lambda contest, gathered, place: gathered)
    *good, last = asked.artefact().judgings("cpu")
    keep(where.results, [*(line_of(job, {"clean": 0.5}) for job in good), line_of(last, state="failed")])
    with pytest.raises(ValueError, match=r"1 of 4 trainings failed; b, seed 1: no$"):
        holding.hold(asked, where, None, print)
    keep(where.results, [line_of(last, {"clean": 0.5})])
    assert len(holding.hold(asked, where, None, print).lines) == 4


def test_every_run_has_a_name_of_its_own(tmp_path):
    one, other = holding.place_of(tmp_path), holding.place_of(tmp_path)
    assert one.run
    assert one.run != other.run
    assert (one.results, one.work) == (tmp_path / "results", tmp_path / ".work")
