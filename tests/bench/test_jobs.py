"""Jobs are named by what decides them."""

from tests.bench.toy import toy
from torchcaps.bench.data_hash import data_hash
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
