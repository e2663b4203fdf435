"""Any settings become JSON and the same settings again, on their own and in a run's folder; what differs is told."""

import json
from dataclasses import fields, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from torchcaps.data.augment import AUGMENTATIONS
from torchcaps.data.resize import FITS
from torchcaps.train.learning_rate import SCHEDULES
from torchcaps.train.run import RUN, Facts, read_run, write_run
from torchcaps.train.settings import OPTIMISERS, PRECISIONS, Settings

FREE = {"epochs", "steps", "until_accuracy", "judge_every", "save_every", "keep"}
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3),
    max_leaves=4,
)
options = st.dictionaries(st.text(max_size=5), plain, max_size=3)
count = st.integers(1, 10**9)
share = st.floats(0, 1, exclude_max=True)
rate = st.floats(0, 1e9, exclude_min=True)
FIELDS = {
    "model": st.text(),
    "data": st.text().filter(lambda name: name != "custom"),
    "options": options.filter(lambda given: "loss" not in given),
    "data_options": options,
    "images": st.integers(0, 10**9),
    "image_size": st.none() | st.integers(1, 1000),
    "fit": st.sampled_from(sorted(FITS)),
    "balance": st.booleans(),
    "augment": st.sampled_from(sorted(AUGMENTATIONS)),
    "standardise": st.booleans(),
    "validation": share,
    "validation_data": st.text().filter(lambda name: name != "custom"),
    "validation_options": options,
    "overfit": st.integers(0, 10**9),
    "epochs": count,
    "steps": st.none() | count,
    "until_accuracy": st.none() | st.floats(0, 1, exclude_min=True),
    "judge_every": st.none() | count,
    "average": share,
    "batch_size": count,
    "optimiser": st.sampled_from(OPTIMISERS),
    "lr": rate,
    "lr_schedule": st.sampled_from(sorted(SCHEDULES)),
    "momentum": share,
    "weight_decay": st.floats(0, 1e9),
    "clip": st.none() | rate,
    "tune": st.sampled_from([None, "head", "all"]) | st.integers(1, 9999).map("last:{}".format),
    "backbone_lr": rate,
    "loss": st.sampled_from([{}, {"name": "margin", "lower": 0.3}, {"name": "spread"}, {"name": "ce"}]),
    "reconstruction_weight": st.floats(0, 1e9),
    "callbacks": st.sampled_from([{}, {"gradient_norm": {}}]),
    "seed": st.integers(0, 2**31 - 1),
    "precision": st.sampled_from(PRECISIONS),
    "deterministic": st.booleans(),
    "compile": st.booleans(),
    "save_every": count,
    "keep": count,
}
values = st.fixed_dictionaries(FIELDS)


def test_every_setting_is_drawn():
    assert FIELDS.keys() == {f.name for f in fields(Settings)}


@settings(max_examples=30, deadline=None)
@given(values)
def test_through_json_and_back(drawn):
    made = Settings(**drawn)
    again = Settings.from_json(json.loads(json.dumps(made.to_json())))
    assert again == made
    assert again.differences(made) == []


@settings(max_examples=10, deadline=None)
@given(values, st.lists(st.text(), max_size=4).map(tuple), st.tuples(*[st.integers(1, 1000)] * 3))
def test_through_the_folder_of_a_run(tmp_path_factory, drawn, classes, shape):
    folder = tmp_path_factory.mktemp("run")
    facts = Facts(Settings(**drawn), classes, shape, {"name": "x", "options": {}}, {"torch": "2"})
    write_run(folder, facts)
    assert read_run(folder) == facts
    assert [path.name for path in folder.iterdir()] == [RUN]


@settings(max_examples=30, deadline=None)
@given(values, values, st.sets(st.sampled_from(sorted(FIELDS))))
def test_what_differs_is_told_and_nothing_else(one, other, chosen):
    """Of the values taken over from other settings, those that are another now and not free to change."""
    before = Settings(**one)
    now = replace(before, **{name: other[name] for name in chosen})
    told = {line.split(" was ")[0] for line in now.differences(before)}
    assert told == {name for name in chosen - FREE if one[name] != other[name]}
