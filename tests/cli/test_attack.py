"""`torchcaps attack`: what is asked for reaches every attack, and results are filed by what they are of."""

import json

import pytest

from tests.train.separable import Separable, linear
from torchcaps.attacks import Robustness
from torchcaps.cli._names import ATTACKS
from torchcaps.data.mnist import DIGITS
from torchcaps.measures import AccuracyResult, Result

FOUND = Robustness("eps", "L2", AccuracyResult(("a", "b"), 1, 2, None, "gA==", (1, 1), ((1, 0), (1, 0))), {})


@pytest.fixture
def judged(spy):
    spy("torchcaps.train.Run.test_data", return_value=Separable())
    return spy("torchcaps.attacks.robustness", return_value=FOUND)


def test_options_reach_every_attack(a_run, spy, judged, invoke):
    run, images, theirs = a_run(DIGITS, (1, 28, 28)), Separable(), linear()
    learned = spy("torchcaps.train.splits.load_part", return_value=images)
    shipped = spy("torchcaps.models.create_model", return_value=theirs)
    done = invoke("attack", "run", "--method", ",".join(ATTACKS), "--eps", "0.3, 0.1", "--norm", "l2", "--no-clip",
                  "--loss", "margin", "--seed", 7, "--images", 5, "--json")  # fmt: skip
    assert done.exit_code == 0, done.exception
    model, data, attacks = judged.call_args.args
    assert model is run.model
    assert len(data) == 5
    assert [(one.name, one.eps) for one in attacks] == [(name, eps) for name in ATTACKS for eps in (0.3, 0.1)]
    assert {(one.norm, one.clip, one.seed) for one in attacks} == {("l2", False, 7)}
    by = {one.name: one for one in attacks}
    assert {by[name].loss for name in ("fgsm", "pgd", "universal")} == {"margin"}
    learned.assert_called_once_with(run.settings, "train")
    assert by["universal"].learn_on is images
    assert by["transfer"].substitute is theirs
    shipped.assert_called_with("chen2019/lenet", pretrained=True)
    assert Result.from_json(json.loads(done.stdout)) == FOUND


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ([], "fgsm+noise-linf.json"),
        (["--no-clip"], "fgsm+noise-linf-unclipped.json"),
        (["--norm", "l2"], "fgsm+noise-l2.json"),
    ],
)
def test_results_are_filed_by_attacks_and_bounds(words, name, a_run, judged, invoke):
    run = a_run()
    assert invoke("attack", "run", "--method", "fgsm,noise", *words).exit_code == 0
    [kept] = (run.directory / "attacks").iterdir()
    assert kept.name == name
    assert Result.from_json(json.loads(kept.read_text())) == FOUND


@pytest.mark.parametrize(
    ("classes", "shape"), [(("coat", *DIGITS[1:]), (1, 28, 28)), (DIGITS, (3, 28, 28)), (DIGITS, (1, 32, 32))]
)
def test_the_shipped_substitute_reads_digits_only(classes, shape, a_run, judged, invoke):
    """Clothes of the digits' size are no digits, and digits of another size cannot be read."""
    a_run(classes, shape)
    done = invoke("attack", "run", "--method", "transfer")
    assert "the shipped LeNet reads digits of 1×28×28 only" in str(done.exception)
    judged.assert_not_called()


def test_a_substitute_of_ones_own_tells_the_same_of_the_same(a_run, judged, invoke):
    a_run()
    theirs = a_run(name="theirs").model
    done = invoke("attack", "run", "--method", "transfer", "--substitute", "theirs", "--eps", "0.1")
    assert done.exit_code == 0, done.exception
    [attack] = judged.call_args.args[2]
    assert attack.substitute is theirs
    for name, other in {"classes": {"classes": ("cat", "dog", "owl")}, "size": {"image_shape": (3, 16, 12)}}.items():
        a_run(**other, name=name)
        done = invoke("attack", "run", "--method", "transfer", "--substitute", name)
        assert f"{name} is no substitute" in str(done.exception)
    judged.assert_called_once()
