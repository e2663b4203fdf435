"""The result of attacks: figures, intervals, outcomes, table, picture, JSON; and what one table cannot show."""

import base64

import numpy as np
import pytest
import torch

from torchcaps.attacks import FGSM, PGD, Chosen, Noise, Point, Robustness, Universal, attacked, decline, robustness
from torchcaps.attacks.robustness import controls
from torchcaps.data import Placed, load
from torchcaps.infer import infer
from torchcaps.measures import Accuracy, AccuracyResult, Activity, Result, figure, walk, wilson
from torchcaps.models import create_model


@pytest.fixture(scope="module")
def digits():
    return load("mnist", "test").select(torch.arange(150))


@pytest.fixture(scope="module")
def lenet():
    return create_model("chen2019/lenet", pretrained=True)


@pytest.fixture(scope="module")
def found(lenet, digits):
    told = []
    result = robustness(lenet, digits, [FGSM(0.2), FGSM(0.1)], progress=lambda *now: told.append(now))
    assert told[:2] == [("clean", 0, 150), ("clean", 128, 150)]
    assert [now[0] for now in told if now[1] == now[2]] == ["clean", "noise 0.2", "noise 0.1", "fgsm 0.2", "fgsm 0.1"]
    return result


def test_outcomes_of_every_image(found, lenet, digits):
    batch = digits.batch(torch.arange(150))
    point = next(point for point in found.curves["fgsm"] if point.at == 0.2)
    seen = infer(lenet, FGSM(0.2)(lenet, batch.images, batch.labels[:, 0])).scores.argmax(-1)
    assert torch.equal(point.found.right, seen == batch.labels[:, 0])
    assert found.histogram("fgsm", 0.2) == {str(k): int((seen == k).sum()) for k in range(10)}
    assert point.found.score.interval == wilson(int((seen == batch.labels[:, 0]).sum()), 150)


def test_table(found):
    table = found.table()
    assert table.columns == ("eps", "noise", "fgsm")
    assert [row[0] for row in table.rows] == ["clean", "0.1", "0.2"]
    low, high = found.curves["fgsm"][0].found.score.interval
    assert f"({100 * low:.1f}–{100 * high:.1f})" in table.rows[2][2]
    assert table.note == "Accuracy in % (95 % interval) on 150 images; L∞ ≤ eps, images from 0 to 1, clipped."


def test_picture_and_json(found):
    page = figure(found)
    [axes] = page.axes
    assert [list(line.get_xdata()) for line in axes.lines] == [[0.0, 0.1, 0.2]] * 2  # in order, from the clean ones
    for line, name in zip(axes.lines, ("noise", "fgsm"), strict=True):
        by_eps = {point.at: point.found.score.value for point in found.curves[name]}
        assert list(line.get_ydata()) == [found.clean.score.value, by_eps[0.1], by_eps[0.2]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["noise", "fgsm"]
    assert axes.get_xlabel() == "eps (L∞ ≤ eps, images from 0 to 1, clipped)"
    assert Result.from_json(found.to_json()) == found
    assert isinstance(Result.from_json(found.to_json()), Robustness)


def judged(*right):
    """Images of two classes, right or wrong."""
    confusion = ((sum(right), len(right) - sum(right)), (0, 0))
    bits = base64.b64encode(np.packbits(np.array(right, dtype=bool)).tobytes()).decode()
    return AccuracyResult(("a", "b"), sum(right), len(right), None, bits, (len(right), 0), confusion)


def test_a_table_and_a_picture_by_hand():
    points = Point(0.2, judged(1, 0, 0, 0)), Point(0.1, judged(1, 1, 0, 0))
    result = Robustness("eps", "L∞ ≤ eps", judged(1, 1, 1, 0), {"fgsm": points, "pgd": points[:1]})
    table = result.table()
    assert table.columns == ("eps", "fgsm", "pgd")
    assert [(row[0], *(cell.split(" ")[0] for cell in row[1:])) for row in table.rows] == [
        ("clean", "75.0", "75.0"),
        ("0.1", "50.0", "–"),
        ("0.2", "25.0", "25.0"),
    ]
    drawn = {line.get_label(): line.get_xydata().tolist() for line in figure(result).axes[0].lines}
    assert drawn == {"fgsm": [[0, 0.75], [0.1, 0.5], [0.2, 0.25]], "pgd": [[0, 0.75], [0.2, 0.25]]}
    assert result.histogram("fgsm", 0.2) == {"a": 1, "b": 3}


def test_controls_are_as_large_and_follow_the_same_loss():
    noise, fgsm = controls([PGD(0.1, "l2", False, 7, loss="own")], "own")
    assert noise == Noise(0.1, "l2", False, 7)
    assert fgsm == FGSM(0.1, "l2", False, 7, loss="own")
    assert controls([Noise(0.1), FGSM(0.1)], "ce") == []


def test_what_one_table_cannot_show(lenet, digits):
    for attacks, said in (
        ([], "no attack"),
        ([PGD(0.1), PGD(0.1, steps=3)], "given twice"),
        ([FGSM(0.1), FGSM(0.1, "l2"), PGD(0.2)], "given twice"),
        ([FGSM(0.1), PGD(0.1, "l2")], "different norms"),
        ([FGSM(0.1), PGD(0.1, clip=False)], "clipped and not"),
    ):
        with pytest.raises(ValueError, match=said):
            robustness(lenet, digits, attacks)
    pairs = load("multi_mnist", "test", source="glyphs")
    with pytest.raises(ValueError, match="an attack needs images of one class, and these have 2 labels each"):
        attacked("fgsm", 0.1)(create_model("gu2021/convnet_fc_lk", width=0.02), pairs)
    for method, eps, options in (("fgsm", None, {}), (FGSM(0.1), 0.2, {}), (FGSM(0.1), None, {"seed": 1})):
        with pytest.raises(ValueError, match="eps"):
            attacked(method, eps, **options)


def test_the_view_is_the_same_in_every_batch_and_order(lenet, digits):
    """PGD starts at random, so blocks must not follow batches."""
    data = attacked("pgd", 0.2, steps=2)(lenet, digits)
    assert (data.classes, data.image_shape, len(data)) == (digits.classes, digits.image_shape, 150)
    whole = data.batch(torch.arange(150))
    parts = torch.cat([batch.images for batch in data.batches(37)])
    assert torch.equal(whole.images, parts)
    order = torch.randperm(150)
    mixed = attacked("pgd", 0.2, steps=2)(lenet, digits).batch(order)
    assert torch.equal(mixed.images, whole.images[order])
    assert torch.equal(mixed.labels, whole.labels[order])
    clean = digits.batch(torch.arange(150))
    assert torch.equal(whole.labels, clean.labels)
    assert (whole.images - clean.images).abs().max() <= 0.2001


def test_every_measure_can_be_taken_on_attacked_images(digits):
    net = create_model("mitterreiter2023/capsnet", pretrained=True)
    few = digits.select(torch.arange(60))
    clean, activity = walk(net, few, [Accuracy(), Activity()])
    hit, moved = walk(net, attacked("fgsm", 0.2)(net, few), [Accuracy(), Activity()])
    assert hit.score.value < clean.score.value - 0.3
    assert moved.layers[-1].cnm != activity.layers[-1].cnm


def test_blocks_and_epochs_differ(digits):
    placed = Placed(digits, canvas=40)
    data = attacked(Noise(0.1, clip=False))(create_model("chen2019/lenet", image_size=40), placed)
    index = torch.arange(150)
    first, second = (data.batch(index, epoch).images - placed.batch(index, epoch).images for epoch in (0, 1))
    for moved in (first, second):
        torch.testing.assert_close(moved.abs(), torch.full_like(moved, 0.1))
    assert not torch.allclose(first, second)
    assert not torch.allclose(first[:22], first[128:])


def test_universal_declines_while_its_control_does_not(lenet, digits):
    """One perturbation for all, learned elsewhere; the control has the same pixels in other places."""
    train = load("mnist", "train")
    attack = Universal(0.4, learn_on=train, iterations=100, batch_size=32)
    found = decline(lenet, digits, attack, every=50)
    assert found.axis == "iteration"
    assert found.bound == "L∞ ≤ 0.4, images from 0 to 1, clipped"
    curve, control = ([p.found.score.value for p in found.curves[name]] for name in ("universal", "noise"))
    assert [point.at for point in found.curves["universal"]] == [0, 50, 100]
    assert curve[-1] < 0.75 < 0.88 < control[-1]
    assert curve[0] > 0.9
    assert figure(found).axes[0].get_xlabel() == "iteration (L∞ ≤ 0.4, images from 0 to 1, clipped)"
    last = attack.learned(lenet, digits)
    shuffled = last.shuffled().perturbation
    assert last.perturbation.shape == (1, 1, 28, 28)
    assert torch.equal(shuffled.abs().flatten().sort().values, last.perturbation.abs().flatten().sort().values)
    away = Universal(0.4, learn_on=train, iterations=40, batch_size=32, aim="away").learned(lenet, digits)
    [hit] = walk(lenet, attacked(away)(lenet, digits), [Accuracy()])
    assert hit.score.value < curve[-1]
    with pytest.raises(ValueError, match="every=0"):
        decline(lenet, digits, attack, every=0)


def test_chosen_images_speak_for_all(digits):
    order = digits.labels.argsort(stable=True)
    few = Chosen(digits.select(order), 60)
    labels = few.batch(torch.arange(60)).labels
    assert len(few) == 60
    assert len(labels.unique()) == 10
