"""Jobs are named by what decides them."""

import hashlib

from tests.bench.toy import toy
from torchcaps.bench.data_hash import data_hash
from torchcaps.bench.jobs import Judging, MeasureSpec, Training, digest, told
from torchcaps.train import Settings


def names(artefact, **options):
    jobs = artefact.judgings("cpu", **options)
    return {job.name for job in jobs}, {training.name for job in jobs for training in job.trainings}


def test_every_job_has_a_name_of_its_own_that_does_not_change():
    judgings, trainings = names(toy())
    assert (len(judgings), len(trainings)) == (4, 4)
    assert names(toy()) == (judgings, trainings)
    more, _ = names(toy(), seeds=3)
    assert judgings < more


def test_a_new_version_renames_judgings_and_keeps_trainings():
    judgings, trainings = names(toy())
    again, same = names(toy(version=2))
    assert not judgings & again
    assert trainings == same


def test_artefacts_share_trainings_with_equal_settings():
    _, one = names(toy())
    judgings, other = names(toy(name="peer2021/table2"))
    assert one == other
    assert not judgings & names(toy())[0]
    _, longer = names(toy(settings={"images": 300, "epochs": 2}))
    assert not one & longer


def test_data_has_a_hash_that_follows_its_files(tmp_path):
    placed = data_hash(Settings("gu2021/capsnet", "placed_mnist"))
    assert placed == data_hash(Settings("gu2021/capsnet", "mnist"))
    assert placed != data_hash(Settings("gu2021/capsnet", "placed_mnist", data_options={"source": "fashion_mnist"}))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.png").write_bytes(b"one")
    before = data_hash(Settings("gu2021/capsnet", str(tmp_path)))
    (tmp_path / "a" / "1.png").write_bytes(b"two")
    assert data_hash(Settings("gu2021/capsnet", str(tmp_path))) != before


SIGN = Settings("peer2021/sign", "sign")


def judging(**changes):
    return Judging(**{"artefact": "a/b", "version": 1, "row": "r", "seed": 0, "measures": (), **changes})


def test_names_do_not_follow_the_order_of_keys():
    text = '{"a": 1, "b": {"c": 2, "d": 3}}'
    wanted = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert digest({"a": 1, "b": {"c": 2, "d": 3}}) == digest({"b": {"d": 3, "c": 2}, "a": 1}) == wanted


def test_only_settings_that_differ_from_the_defaults_are_told():
    said = Settings("peer2021/sign", "sign", lr=1e-3, options={}, epochs=10, seed=2)
    assert told(said) == {"model": "peer2021/sign", "data": "sign", "seed": 2}
    assert told(Settings("peer2021/sign", "sign", options={"bias": True}))["options"] == {"bias": True}


def test_other_images_rename_a_training_and_who_judges_it():
    one, other = Training(SIGN, "these"), Training(SIGN, "those")
    assert one.name != other.name != Training(SIGN, "those", code_version=2).name
    assert judging(training=one).name != judging(training=other).name


def test_a_judging_needs_its_training_and_all_others_and_is_named_by_them():
    own, helper, another = (Training(Settings("peer2021/sign", "sign", seed=seed), "") for seed in (0, 1, 2))
    job = judging(training=own, others=(helper,))
    assert job.trainings == (own, helper)
    assert judging(others=(helper,)).trainings == (helper,)
    assert len({job.name, judging(training=own, others=(another,)).name, judging(training=own).name}) == 3


def test_a_judging_is_named_by_all_it_is_about():
    changes = [{}, {"artefact": "a/c"}, {"version": 2}, {"row": "s"}, {"seed": 1}, {"code_version": 2}]
    changes += [{"measures": (MeasureSpec("onset", options),)} for options in ({}, {"classes": 2})]
    assert len({judging(**change).name for change in changes}) == len(changes)


def test_validation_images_of_their_own_are_part_of_the_hash():
    one, other = (data_hash(Settings("gu2021/capsnet", name)) for name in ("mnist", "fashion_mnist"))
    both = Settings("gu2021/capsnet", "mnist", validation_data="fashion_mnist")
    assert data_hash(both) == f"{one}+{other}"
    assert data_hash(Settings("gu2021/capsnet", "mnist", validation_data="affine_mnist")) == one
    drawn = Settings("gu2021/capsnet", "mnist", validation_data="affine_mnist",
                     validation_options={"source": "fashion_mnist"})  # fmt: skip
    assert data_hash(drawn) == f"{one}+{other}"
