"""Capsule networks as scikit-learn's classifiers: its own checks, real digits, labels of any kind, clear errors."""

import pickle
import runpy
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import torchcaps.sklearn
from torchcaps import CapsNetClassifier
from torchcaps.types import Parse

NAMES = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
# A check of scikit-learn's that fails, and why: there is none. One of them needs pandas.
EXCEPTIONS: dict[str, str] = {}


@pytest.mark.usefixtures("no_shape_checks")
@parametrize_with_checks([CapsNetClassifier(epochs=2, lr=0.01)], expected_failed_checks=lambda _: EXCEPTIONS)
def test_what_scikit_learn_asks_of_a_classifier(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else the check of array namespaces is skipped
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.25, random_state=0)


@pytest.fixture(scope="module")
def trained(digits):
    X, _, y, _ = digits
    return CapsNetClassifier(image_shape=(1, 8, 8), epochs=5, random_state=0).fit(X, NAMES[y])


def test_real_digits_from_flat_rows_with_words_as_labels(digits, trained):
    _, X, _, y = digits
    assert trained.classes_.tolist() == sorted(NAMES)
    assert trained.score(X, NAMES[y]) > 0.95
    proba = trained.predict_proba(X)
    assert np.allclose(proba.sum(1), 1)
    assert np.array_equal(trained.classes_[proba.argmax(1)], trained.predict(X))
    assert (trained.n_features_in_, trained.image_shape_) == (64, (1, 8, 8))


def test_the_same_numbers_as_rows_and_as_images(digits, trained):
    _, X, _, _ = digits
    expected = trained.predict_proba(X[:5])
    for shape in ((8, 8), (1, 8, 8), (8, 8, 1)):
        images = X[:5].reshape(-1, *shape)
        for given in (images, images.tolist(), torch.tensor(images)):
            assert np.array_equal(trained.predict_proba(given), expected)
    assert np.allclose(trained.predict_proba(X[2:3]), expected[2:3], atol=1e-5)


def test_a_copy_through_pickle_and_a_clone_that_knows_nothing(digits, trained):
    _, X, _, _ = digits
    again = pickle.loads(pickle.dumps(trained))
    assert np.array_equal(again.predict_proba(X[:5]), trained.predict_proba(X[:5]))
    assert clone(trained).get_params() == trained.get_params()
    with pytest.raises(NotFittedError):
        clone(trained).predict(X)


def test_a_grid_search_in_a_pipeline_over_images_of_bytes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.integers(0, 60, (60, 3, 6, 7)).astype(np.uint8)
    X[y == 1, 1] += 150
    steps = make_pipeline(FunctionTransformer(np.ascontiguousarray), CapsNetClassifier(batch_size=8, random_state=0))
    search = GridSearchCV(steps, {"capsnetclassifier__epochs": [1, 5]}, cv=2).fit(X, y)
    assert search.best_score_ == 1
    best = search.best_estimator_[-1]
    assert best.image_shape_ == (3, 6, 7)
    assert best._scale == (0, 255)


def test_models_by_name_with_their_options():
    X, y = np.random.default_rng(0).random((6, 17, 18)), [True, False] * 3
    chosen = {
        "auto": None,
        "chen2019/fc_gcaps": {"reconstruction": "none"},
        "sabour2017/capsnet": {"loss": "ce", "routing": "uniform"},
    }
    for name, options in chosen.items():
        clf = CapsNetClassifier(name, width=0.05, epochs=1, model_options=options).fit(X, y)
        assert clf.predict(X).dtype == bool
        assert clf.model_.recipe["name"] == ("sabour2017/capsnet" if name == "auto" else name)


def test_seeds_decide_and_the_generator_is_left_alone():
    X, y = np.random.default_rng(0).random((20, 3)), [0, 1] * 10
    before = torch.get_rng_state()
    first, second, other = (CapsNetClassifier(epochs=1, random_state=s).fit(X, y).predict_proba(X) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.fixture
def asked(monkeypatch):
    """What `fit` is asked for, by name; nothing is learned."""
    calls = []

    def learns_nothing(model, data, **settings):
        calls.append({"model": model, "data": data, **settings})
        return SimpleNamespace(model=model, history=[])

    monkeypatch.setattr(torchcaps.sklearn, "fit", learns_nothing)
    return calls


def test_what_training_is_asked_for(asked):
    X, y = np.arange(12.0).reshape(4, 3), [0, 1, 0, 1]
    CapsNetClassifier(epochs=3, batch_size=2, lr=0.5, random_state=0).fit(X, y)
    [call] = asked
    assert len(call["data"]) == 4
    assert call["validation"] == 0  # every image is learned
    assert (call["epochs"], call["batch_size"], call["lr"], call["precision"]) == (3, 2, 0.5, "64")


@pytest.mark.usefixtures("asked")
def test_images_are_scaled_as_a_whole_and_tables_by_column():
    y = [0, 1]
    images = CapsNetClassifier().fit(np.array([[[2.0, 4.0], [2.0, 3.0]], [[4.0, 6.0], [2.0, 3.0]]]), y)
    assert images._scale == (2, 4)
    table = CapsNetClassifier().fit(np.array([[2.0, 4.0, 7.0], [4.0, 14.0, 7.0]]), y)
    assert [part.tolist() for part in table._scale] == [[2, 4, 7], [2, 10, 1]]  # of a constant column nothing is left


def test_what_is_predicted_is_scaled_as_in_training(asked, monkeypatch):
    clf = CapsNetClassifier().fit(np.array([[[0.0, 10.0], [5.0, 5.0]], [[0.0, 0.0], [0.0, 0.0]]]), [0, 1])
    seen = []
    scores = Parse(torch.ones(1, 2), [], [], [])
    monkeypatch.setattr(
        torchcaps.sklearn, "infer", lambda _, images: (seen.append(images.flatten().tolist()), scores)[1]
    )
    clf.predict(np.array([[[2.0, 4.0], [5.0, 20.0]]]))
    assert seen == [pytest.approx([0.2, 0.4, 0.5, 2.0])]


def test_first_weights_depend_on_the_random_state(asked):
    for state in (1, 1, 2):
        CapsNetClassifier(random_state=state).fit(np.arange(6.0).reshape(2, 3), [0, 1])
    one, again, other = (torch.cat([p.flatten() for p in call["model"].parameters()]) for call in asked)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(
    ("sides", "name"), [((17, 18), "sabour2017"), ((6, 20), "mitterreiter"), ((20, 6), "mitterreiter")]
)
def test_the_network_for_images_of_a_size(sides, name, asked):
    CapsNetClassifier(width=0.05).fit(np.random.default_rng(0).random((2, *sides)), [0, 1])
    assert asked[0]["model"].recipe["name"].startswith(name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_shape": (1, 7, 8)}, r"image_shape=\(1, 7, 8\) is not allowed: it asks for 56 .* X has 64 features"),
        ({"image_shape": 8}, r"image_shape=8 is not allowed: give channels, height and width"),
        (
            {"model": "sabour2017/capsnet"},
            r"does not fit images of \(1, 1, 64\), as rows are taken without image_shape=: ",
        ),
        ({"model": "capsnet"}, r"there is no model 'capsnet': did you mean"),
        ({"model_options": {"rooting": "em"}}, r"has no option 'rooting': did you mean 'routing'"),
        ({"epochs": 0}, r"epochs=0 is not allowed"),
    ],
)
def test_wrong_settings_are_quoted(options, message, no_shape_checks):
    with pytest.raises(ValueError, match=message):
        CapsNetClassifier(**options).fit(np.random.default_rng(0).random((4, 64)), [0, 1, 0, 1])


def test_images_of_another_shape_are_refused(trained):
    with pytest.raises(ValueError, match=r"X has images of \(1, 4, 16\), but image_shape is \(1, 8, 8\)"):
        trained.predict(np.zeros((2, 4, 16)))


def test_without_scikit_learn_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"needs scikit-learn 1.6 or later: pip install 'torchcaps\[sklearn\]'"
    ):
        runpy.run_path(torchcaps.sklearn.__file__)
