"""Checkpoints: refused when anything is wrong with them, and never lost."""

import errno
import json
import os
import pickle
import re
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from benchmarks.kill import differences
from torchcaps.train import checkpoint, fit
from torchcaps.train.checkpoint import Checkpoint
from torchcaps.train.run import CHECKPOINTS

TENSORS = {"model.w": torch.arange(6.0).reshape(2, 3), "optimiser.0.step": torch.tensor(3.0)}
RECORD = {"step": 3, "history": [{"epoch": 0, "loss": 0.25}]}


@pytest.fixture
def saved(tmp_path):
    return checkpoint.save(tmp_path / "two words", 3, Checkpoint(RECORD, TENSORS))


def refused(path, *words):
    with pytest.raises(ValueError, match=re.escape(str(path))) as refusal:
        checkpoint.load(path)
    for word in words:
        assert word in str(refusal.value)


def test_what_is_saved_comes_back(saved):
    record, tensors = checkpoint.load(saved)
    assert {**record, **RECORD} == record
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert torch.equal(tensors[name], tensor)
        assert tensors[name].shape == tensor.shape


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """Written whole, flushed, renamed, and the new name flushed: in this order a crash leaves a whole one or none."""
    told = []
    sync, rename = os.fsync, os.replace

    def fsync(handle):
        path = Path(f"/proc/self/fd/{handle}").readlink()
        told.append(("flush", path.name, path.stat().st_size if path.is_file() else 0))
        sync(handle)

    def replace(old, new):
        told.append(("rename", Path(old).name, Path(new).name))
        rename(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    path = checkpoint.save(tmp_path / "kept", 7, Checkpoint(RECORD, TENSORS))
    part = "step-000000007.part"
    flushed, folder = ("flush", part, path.stat().st_size), ("flush", "kept", 0)
    assert told == [flushed, ("rename", part, "step-000000007.safetensors"), folder]


def test_one_byte_anywhere_is_noticed(saved):
    """Whichever byte has a bit flipped: the file is refused, by name, or says the same."""
    whole = saved.read_bytes()
    before = checkpoint.load(saved)
    for at in range(len(whole)):
        broken = bytearray(whole)
        broken[at] ^= 1 << at % 8
        saved.write_bytes(broken)
        found, problems = checkpoint.newest(saved.parent)
        if found is None:
            assert str(saved) in problems[0]
        else:
            assert found.record == before.record
            assert found.tensors.keys() == before.tensors.keys()
            assert all(torch.equal(t, before.tensors[name]) for name, t in found.tensors.items())
    broken = bytearray(whole)
    broken[-1] ^= 1
    saved.write_bytes(broken)
    refused(saved, "damaged", "checksum")
    saved.write_bytes(whole.replace(rb"\"step\": 3", rb"\"step\": 4"))
    refused(saved, "damaged", "checksum")


def test_truncated_files(saved):
    whole = saved.read_bytes()
    for length in range(len(whole)):
        saved.write_bytes(whole[:length])
        refused(saved, "not a whole one")
    saved.write_bytes(whole + b"\0")
    refused(saved)


def test_foreign_files(tmp_path):
    path = tmp_path / "step-000000001.safetensors"
    save_file(TENSORS, path)
    refused(path, "not a torchcaps checkpoint")
    save_file(TENSORS, path, metadata={"format": "pt"})
    refused(path, "not a torchcaps checkpoint")
    save_file(TENSORS, path, metadata={"torchcaps": "{"})
    refused(path, "not JSON")
    save_file(TENSORS, path, metadata={"torchcaps": "[]"})
    refused(path, "no JSON object")
    path.write_text("step 1")
    refused(path, "not a safetensors file")
    path.unlink()
    path.mkdir()
    refused(path)


def test_one_without_a_checksum_is_not_believed(saved):
    with safe_open(saved, framework="pt") as file:
        header = file.metadata()
    assert header.pop("sha256")
    save_file(TENSORS, saved, metadata=header)
    refused(saved, "damaged", "checksum")


def test_other_formats(tmp_path):
    path = tmp_path / "step-000000001.safetensors"
    save_file(TENSORS, path, metadata={"torchcaps": json.dumps({"format": 99, "torchcaps": "9.9"})})
    refused(path, "its format is 99", "torchcaps 9.9", f"reads 1 to {checkpoint.FORMAT}")


class Malice:
    """Makes a file as soon as it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.mark.parametrize("how", ["pickle", "torch"])
def test_a_pickle_is_never_opened(tmp_path, how):
    harm, path = tmp_path / "harm", tmp_path / "step-000000001.safetensors"
    if how == "pickle":
        path.write_bytes(pickle.dumps(Malice(harm)))
    else:
        torch.save({"model.w": Malice(harm)}, path)
    refused(path, "not a safetensors file")
    found, problems = checkpoint.newest(tmp_path)
    assert found is None
    assert str(path) in problems[0]
    assert not harm.exists()
    pickle.loads(pickle.dumps(Malice(harm)))
    assert harm.exists(), "it would have been harmful"


def save_steps(folder, *steps):
    return [checkpoint.save(folder, step, Checkpoint({"step": step}, TENSORS)) for step in steps]


def test_a_damaged_last_one_is_passed_over(tmp_path):
    first, second = save_steps(tmp_path, 9, 10)
    second.write_bytes(second.read_bytes()[:-1])
    found, problems = checkpoint.newest(tmp_path)
    assert found.record["step"] == 9
    assert len(problems) == 1
    assert str(second) in problems[0]
    first.write_bytes(b"")
    found, problems = checkpoint.newest(tmp_path)
    assert found is None
    assert len(problems) == 2
    assert checkpoint.newest(tmp_path / "nowhere") == (None, [])


def test_two_are_kept(tmp_path):
    paths = save_steps(tmp_path, 1, 2, 30, 4_000)
    assert checkpoint.listed(tmp_path) == paths[-2:]
    assert sorted(tmp_path.iterdir()) == paths[-2:]


def test_a_damaged_later_one_drives_out_none(tmp_path):
    (last,) = save_steps(tmp_path, 50)
    last.write_bytes(b"")
    paths = save_steps(tmp_path, 10, 20, 30)
    assert checkpoint.listed(tmp_path) == [*paths[1:], last]


def test_one_would_not_be_enough_while_it_trains(tmp_path):
    """The last may be damaged, whatever `keep` says of the end."""
    paths = [checkpoint.save(tmp_path, step, Checkpoint({"step": step}, TENSORS), keep=1) for step in range(1, 4)]
    assert checkpoint.listed(tmp_path) == paths[-2:]


def test_more_are_kept_if_asked_and_one_at_the_end(tmp_path):
    paths = [checkpoint.save(tmp_path, step, Checkpoint({"step": step}, TENSORS), keep=3) for step in range(1, 6)]
    assert checkpoint.listed(tmp_path) == paths[-3:]
    checkpoint.prune(tmp_path, 1)
    assert checkpoint.listed(tmp_path) == paths[-1:]


def test_a_dangling_last_one_hides_no_good_one(tmp_path):
    (path,) = save_steps(tmp_path, 9)
    (tmp_path / "step-000000010.safetensors").symlink_to(tmp_path / "nowhere")
    found, problems = checkpoint.newest(tmp_path)
    assert found.record["step"] == 9
    assert "step-000000010.safetensors" in problems[0]
    path.unlink()
    assert checkpoint.newest(tmp_path)[0] is None


SMALL = {"width": 0.1, "reconstruction": "none"}
OPTIONS = {"options": SMALL, "batch_size": 16, "save_every": 1, "epochs": 1, "deterministic": True}


def full_disk(tensors, path, metadata=None):
    Path(path).write_bytes(b"half a checkpoint")
    raise SafetensorError(f"I/O error: {os.strerror(errno.ENOSPC)} (os error {errno.ENOSPC})")


def test_a_full_disk_costs_no_checkpoint(tmp_path, monkeypatch, glyphs):
    """Whatever fails first, the folder keeps a whole checkpoint, the message names it, and --resume goes on."""
    fit("mitterreiter2023/capsnet", glyphs, out=tmp_path / "roomy", quiet=True, **OPTIONS)
    saved = []

    def fill_up(tensors, path, metadata=None):
        saved.append(path)
        (save_file if len(saved) < 3 else full_disk)(tensors, path, metadata=metadata)

    monkeypatch.setattr("torchcaps.train.checkpoint.save_file", fill_up)
    out = tmp_path / "full"
    with pytest.raises(OSError, match="No space left on device") as full:
        fit("mitterreiter2023/capsnet", glyphs, out=out, quiet=True, **OPTIONS)
    last = out / CHECKPOINTS / "step-000000002.safetensors"
    assert f"the checkpoint before it is whole: {last}" in str(full.value)
    assert "step-000000003.safetensors could not be saved" in str(full.value)
    assert "--resume" in str(full.value)
    assert sorted(path.name for path in (out / CHECKPOINTS).iterdir()) == ["step-000000001.safetensors", last.name]
    assert checkpoint.load(last).record["step"] == 2
    monkeypatch.undo()
    fit("mitterreiter2023/capsnet", glyphs, out=out, quiet=True, resume=True, **OPTIONS)
    assert differences(tmp_path / "roomy", out) == []


def test_a_full_disk_at_the_first_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("torchcaps.train.checkpoint.save_file", full_disk)
    with pytest.raises(OSError, match="there is no earlier checkpoint"):
        save_steps(tmp_path, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path):
    """A real file system with room for two checkpoints and a half."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=180k", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_really_full_disk(small_disk, glyphs):
    out = small_disk / "run"
    with pytest.raises(OSError, match=r"the checkpoint before it is whole|the checkpoints are whole") as full:
        fit("mitterreiter2023/capsnet", glyphs, out=out, quiet=True, **OPTIONS)
    assert "No space left" in str(full.value)
    kept = checkpoint.listed(out / CHECKPOINTS)
    assert len(kept) == 2
    for path in kept:
        checkpoint.load(path)
    assert not list(out.rglob("*.part"))
