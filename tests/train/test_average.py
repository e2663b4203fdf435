"""Averaged weights: by hand, judged by, left behind, and kept where a training stops."""

import pytest
import torch
from lightning_fabric import Fabric
from torch import nn

from tests.train.separable import Separable, linear
from torchcaps.infer import infer
from torchcaps.measures import correct
from torchcaps.models import create_model, list_models
from torchcaps.network import ConvNet
from torchcaps.train import checkpoint, fit, load_run
from torchcaps.train.average import averaged, share_buffers
from torchcaps.train.callbacks import Callback
from torchcaps.train.run import CHECKPOINTS, MODEL

CHOSEN = {"batch_size": 8, "epochs": 3, "lr": 0.1, "quiet": True, "validation_data": Separable(16)}


class Noisy(Separable):
    """Pixels whose batches have other means from step to step, so that running statistics never stand still."""

    def batch(self, index, epoch=0):
        found = super().batch(index, epoch)
        return found._replace(images=found.images * (1 + index.double().mean() + epoch).float())


def normed():
    torch.manual_seed(0)
    return ConvNet(nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Linear(1, 2)))


class ByHand(Callback):
    """The same average, tensor by tensor in double precision, and what it answers after each epoch."""

    def __init__(self, decay):
        self.decay, self.means, self.accuracies = decay, {}, []

    def after_step(self, training):
        for name, now in training.model.state_dict().items():
            done = training.step - 1
            keep = min(self.decay, (1 + done) / (10 + done)) if done and now.is_floating_point() else 0.0
            self.means[name] = keep * self.means.get(name, 0.0) + (1 - keep) * now.double()

    def after_epoch(self, training, entry):
        other = normed()
        other.load_state_dict(self.means)
        data = training.splits.validation
        batch = data.batch(torch.arange(len(data)))
        self.accuracies.append(correct(infer(other, batch.images).scores, batch.labels).double().mean().item())


@pytest.mark.parametrize("decay", [0.2, 0.999])
def test_it_is_the_moving_average_of_weights_and_buffers(decay, tmp_path):
    """A decay of 0.2 is reached at the third step, and one of 0.999 never."""
    by_hand, net = ByHand(decay), normed()
    run = fit(net, Noisy(), average=decay, callbacks=[by_hand], out=tmp_path / "run", **CHOSEN)
    assert run.model is net
    kept = checkpoint.newest(tmp_path / "run" / CHECKPOINTS)[0].tensors
    moved = 0
    for name, tensor in run.model.state_dict().items():
        torch.testing.assert_close(tensor.double(), by_hand.means[name].double(), rtol=1e-5, atol=1e-7)
        assert torch.equal(kept[f"average.{name}"], tensor)
        moved += not torch.equal(kept[f"model.{name}"], tensor)
    assert moved == 6, "all but the count of batches"
    assert run.model.state_dict()["body.0.num_batches_tracked"] == 12
    assert [entry["validation_accuracy"] for entry in run.history] == by_hand.accuracies


class Jump(Callback):
    """After the last step the weights are thrown to where every answer is wrong."""

    def after_step(self, training):
        if training.step == training.total:
            with torch.no_grad():
                for parameter in training.model.parameters():
                    parameter.mul_(-1e3)


@pytest.mark.parametrize(("decay", "right"), [(0.0, 0.0), (0.9999, 1.0)])
def test_validation_is_judged_with_the_average(decay, right):
    """It was made before the jump."""
    run = fit(linear(), Separable(), average=decay, callbacks=[Jump()], **{**CHOSEN, "epochs": 30})
    assert [entry["validation_accuracy"] for entry in run.history[-2:]] == [1.0, right]


def test_the_training_itself_does_not_know_of_it():
    runs = [fit(linear(), Separable(), average=decay, **CHOSEN).history for decay in (0.0, 0.9)]
    assert [entry["loss"] for entry in runs[0]] == [entry["loss"] for entry in runs[1]]


def test_every_way_to_the_network_leads_to_the_average(tmp_path):
    few = {"images": 64, "batch_size": 16, "epochs": 1, "average": 0.9, "lr": 0.1, "quiet": True}
    run = fit("peer2021/sign", "sign", out=tmp_path / "run", **few)
    loaded = load_run(tmp_path / "run").model.state_dict()
    (tmp_path / "run" / CHECKPOINTS).rename(tmp_path / "away")
    alone = load_run(tmp_path / "run").model.state_dict()
    raw = checkpoint.unpack_model(checkpoint.newest(tmp_path / "away")[0])
    assert (tmp_path / "run" / MODEL).is_dir()
    for name, tensor in run.model.state_dict().items():
        assert torch.equal(loaded[name], tensor)
        assert torch.equal(alone[name], tensor)
    assert any(not torch.equal(raw[name], tensor) for name, tensor in loaded.items())


def test_a_training_without_it_resumes_and_stays_without(tmp_path):
    """As checkpoints were written before there was one; to begin with it in the middle would be another training."""
    fit(linear(), Separable(), out=tmp_path / "run", **CHOSEN)
    kept = checkpoint.newest(tmp_path / "run" / CHECKPOINTS)[0]
    before = {name: value for name, value in kept.record["settings"].items() if name != "average"}
    record = {**kept.record, "settings": before}
    checkpoint.save(tmp_path / "run" / CHECKPOINTS, kept.record["step"], checkpoint.Checkpoint(record, kept.tensors))
    run = fit(linear(), Separable(), out=tmp_path / "run", resume=True, **{**CHOSEN, "epochs": 4})
    assert len(run.history) == 4
    with pytest.raises(ValueError, match=r"average was 0\.0, now 0\.9"):
        fit(linear(), Separable(), out=tmp_path / "run", resume=True, average=0.9, **{**CHOSEN, "epochs": 5})


def test_a_checkpoint_that_lacks_it_is_refused(tmp_path):
    fit(linear(), Separable(), out=tmp_path / "run", average=0.9, **CHOSEN)
    kept = checkpoint.newest(tmp_path / "run" / CHECKPOINTS)[0]
    bare = {name: tensor for name, tensor in kept.tensors.items() if not name.startswith("average.")}
    checkpoint.save(tmp_path / "run" / CHECKPOINTS, kept.record["step"], checkpoint.Checkpoint(kept.record, bare))
    with pytest.raises(ValueError, match="has no averaged weights"):
        fit(linear(), Separable(), out=tmp_path / "run", average=0.9, resume=True, **{**CHOSEN, "epochs": 4})


def test_all_processes_judge_with_the_buffers_of_the_first():
    nets = [normed(), normed()]
    nets[0].body[0].running_mean.fill_(3.0)

    class OfTwo(Fabric):
        world_size = 2

        def broadcast(self, obj, src=0):
            assert len(obj) == 3
            return [buffer.clone() for buffer in nets[0].buffers()]

    share_buffers(nets[1], OfTwo(accelerator="cpu", devices=1))
    assert float(nets[1].body[0].running_mean) == 3.0


@pytest.mark.parametrize("name", list_models())
def test_any_network_can_be_averaged(name):
    net = create_model(name)
    mean = averaged(net, 0.999)
    for _ in range(2):
        mean.update_parameters(net)
    for key, tensor in net.state_dict().items():
        assert torch.equal(mean.module.state_dict()[key], tensor), key
