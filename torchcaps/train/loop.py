"""The training loop."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from torchcaps.data import Batch, Dataset
from torchcaps.infer import infer, ready
from torchcaps.measures import correct
from torchcaps.network import Model
from torchcaps.train import checkpoint
from torchcaps.train.average import averaged, pack_average, share_buffers, unpack_average
from torchcaps.train.callbacks import Callback, Watchers
from torchcaps.train.checkpoint import Checkpoint
from torchcaps.train.final import Final
from torchcaps.train.learning_rate import SCHEDULES
from torchcaps.train.log import Log
from torchcaps.train.near import near, sent
from torchcaps.train.not_finite import ADVICE, NotFiniteError, broken_part, located
from torchcaps.train.objective import Objective, Outcome, part_of
from torchcaps.train.pending import Pending
from torchcaps.train.settings import Settings
from torchcaps.train.splits import Splits
from torchcaps.train.tuning import groups_of


class Training:
    """A network, its optimiser, and where in the data they stand.

    The state after a step depends on the settings and the number of the step alone: batches are drawn by (seed, epoch),
    and each step seeds torch anew, so that a training that was stopped goes on exactly as if it had not been.

    A step does not wait for a device that computes it: what it came to is heard of a few steps later; see `Pending`.

    Args:
        folder: for checkpoints; None for none.
        limit: at most so many steps an epoch.
        callbacks: given as objects, besides those that the settings name.

    Attributes:
        step: how many steps are done.
        batch: of the last step, as this process had it.
        history: an entry for every epoch, and for every judging inside one.
    """

    def __init__(
        self,
        fabric: Fabric,
        settings: Settings,
        model: Model,
        splits: Splits,
        *,
        folder: Path | None,
        limit: int = 0,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.fabric, self.settings, self.folder = fabric, settings, folder
        self.splits = Splits(*(None if part is None else near(part, fabric.device) for part in splits))  # type: ignore[arg-type]
        if settings.precision == "64":
            model.double()
        if settings.precision == "bf16" and fabric.device.type == "cuda":
            model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.objective = Objective(model, len(splits.train.classes), settings.reconstruction_weight)
        self.pending = Pending(fabric.device)
        self.optimiser = _optimiser(model, settings, skips=self.pending.late > 0)
        whole: Any = torch.compile(self.objective) if settings.compile else self.objective
        self.wrapped, self.stepper = fabric.setup(whole, self.optimiser)
        self.average = averaged(model, settings.average) if settings.average else None
        batches = -(-len(splits.train) // settings.batch_size)
        self.batches, self.limit = (min(limit, batches) if limit else batches), limit
        self.step, self.history = 0, list[dict[str, Any]]()
        self.sums = {"loss": 0.0, "hits": 0.0, "images": 0.0}  # since the last entry of the history
        self.batch: Batch | None = None
        self.watchers = Watchers(settings.callbacks, callbacks)
        for watcher in self.watchers.all:
            watcher.begin(self)

    @property
    def model(self) -> Model:
        """The network."""
        return self.objective.model

    @property
    def judged(self) -> Model:
        """The network with the weights that validation is judged with: averaged ones, if there is an average."""
        found = self.model if self.average is None else self.average.module
        assert isinstance(found, Model)
        return found

    @property
    def total(self) -> int:
        """Steps of the whole training."""
        return self.settings.steps or self.settings.epochs * self.batches

    def seen_after(self, step: int) -> int:
        """How many images have been learned from after so many steps; those of another epoch count again."""
        epochs, done = divmod(step, self.batches)
        most = min(len(self.splits.train), self.batches * self.settings.batch_size)
        return epochs * most + min(done * self.settings.batch_size, most)

    def finished(self) -> bool:
        """Whether the last step is done, or the network good enough."""
        wanted, last = self.settings.until_accuracy, self.history[-1] if self.history else {}
        return self.step >= self.total or (wanted is not None and last.get("validation_accuracy", 0) >= wanted)

    def run(self, log: Log) -> None:
        """Train to the end, from wherever it stands."""
        while not self.finished():
            epoch, done = divmod(self.step, self.batches)
            began, before = time.perf_counter(), self.sums["images"]
            batches = self.splits.train.batches(self.settings.batch_size, epoch=epoch, shuffle=True, start=done)
            for batch, _ in zip(batches, range(self.batches - done), strict=False):
                self.train_on(batch)
                if self.sums["images"]:
                    log.step(self.step, len(batch.images), {"epoch": epoch, **self._averages(), "lr": self._rate()})
                whole = self.step % self.batches == 0
                if whole or self.step == self.total or self._due(self.settings.judge_every):
                    self.catch_up()
                    seconds = time.perf_counter() - began
                    speed = (self.sums["images"] - before) / seconds
                    self._end_epoch(epoch, {"seconds": round(seconds, 3), "images_per_second": round(speed, 1)})
                    log.entry(self.history[-1], whole=whole)
                    began, before = time.perf_counter(), 0.0
                if whole or self.finished() or self._due(self.settings.save_every):
                    self.save()
                if self.finished():
                    break

    def train_on(self, batch: Batch) -> None:
        """One step on a global batch, of which this process takes its part."""
        share = self.step / self.total
        self._seed(self.step)
        self.objective.train()
        self.objective.anneal(share)
        for group in self.optimiser.param_groups:
            rate = self.settings.lr * SCHEDULES[self.settings.lr_schedule](share)
            group["lr"] = rate * group.get("factor", 1.0)
        part, weight = part_of(batch, self.fabric.global_rank, self.fabric.world_size)
        self.stepper.zero_grad()
        self.batch = self._ready(part)
        outcome: Outcome = self.wrapped(self.batch)
        loss = outcome.loss * weight
        found = self._reduce(torch.stack([loss.detach().double(), outcome.hits.double() * float(weight > 0)]))
        mean = torch.stack([found[0] / self.fabric.world_size, found[1]])
        self.pending.add(self.step, mean, len(batch.images), self.batch)
        if not self.pending.late:
            self.catch_up()
        self.fabric.backward(loss)
        self._move()
        self.catch_up(ahead=self.pending.late)

    def catch_up(self, *, ahead: int = 0) -> None:
        """Look at what the steps came to, but for the last `ahead`; a loss that is not finite ends the training."""
        for told in self.pending.told(ahead=ahead):
            if not math.isfinite(told.loss):
                self._seed(told.step)  # what was dropped is dropped again
                self.objective.anneal(told.step / self.total)
                with self.fabric.autocast():
                    raise located(self.objective, told.batch, told.step, told.loss)
            for name, value in (("loss", told.loss * told.images), ("hits", told.hits), ("images", told.images)):
                self.sums[name] += value

    def _seed(self, step: int) -> None:
        torch.manual_seed((self.settings.seed * 1_000_003 + step) * 4096 + self.fabric.global_rank)

    def _move(self) -> None:
        """From gradients to the next weights."""
        for watcher in self.watchers.all:
            watcher.after_backward(self)
        if self.settings.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.objective.parameters(), self.settings.clip)
        if self.pending.late:
            self.optimiser.found_inf = self.pending.broken  # type: ignore[attr-defined]
        self.stepper.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        self.step += 1
        for watcher in self.watchers.all:
            watcher.after_step(self)

    def _end_epoch(self, epoch: int, speed: dict[str, float]) -> None:
        entry: dict[str, Any] = {"epoch": epoch, "step": self.step, **self._averages(), **speed}
        asked = self.settings.until_accuracy is not None or self._due(self.settings.judge_every)
        elsewhere = any(watcher.judges for watcher in self.watchers.all)
        if self.splits.validation is not None and (asked or not elsewhere):
            entry["validation_accuracy"] = self.accuracy(self.splits.validation)
        for watcher in self.watchers.all:
            watcher.after_epoch(self, entry)
        self.history.append(entry)
        self.sums = dict.fromkeys(self.sums, 0.0)

    def accuracy(self, data: Dataset) -> float:
        """The share of images that are right, over all processes."""
        right, count = self.judge(data)
        return right / count

    def judge(self, data: Dataset) -> tuple[int, int]:
        """How many images are right, over all processes, and of how many."""
        if self.average is not None:
            share_buffers(self.judged, self.fabric)
        right = torch.zeros((), dtype=torch.double)
        count = min(len(data), self.limit * self.settings.batch_size) if self.limit else len(data)
        for index in torch.arange(count).split(self.settings.batch_size):
            part, weight = part_of(data.batch(index), self.fabric.global_rank, self.fabric.world_size)
            with self.fabric.autocast():
                scores = infer(self.judged, part.images).scores.cpu()
            right += correct(scores, part.labels.cpu()).sum() * float(weight > 0)
        return int(self._reduce(right)), count

    def check(self) -> None:
        """Refuse weights that are broken, which are never kept."""
        self.catch_up()
        broken = broken_part(self.objective)
        if broken is not None:
            raise NotFiniteError(f"step {self.step}: {broken} since an earlier step. {ADVICE}.")

    def save(self) -> None:
        """Write a checkpoint, if there is a folder; one process does it for all."""
        self.check()
        if self.folder is not None and self.fabric.is_global_zero:
            state = {f"model.{name}": t for name, t in self.objective.model.state_dict().items()}
            tensors, groups = checkpoint.pack_optimiser(self.optimiser)
            means = {} if self.average is None else pack_average(self.average)
            record = {
                "settings": self.settings.to_json(),
                "classes": self.splits.train.classes,
                "image_shape": self.splits.train.image_shape,
                "images": len(self.splits.train),
                "step": self.step,
                "history": self.history,
                "sums": self.sums,
                "optimiser": groups,
                "callbacks": self.watchers.state(),
            }
            whole = Checkpoint(record, {**state, **means, **tensors})
            checkpoint.save(self.folder, self.step, whole, keep=self.settings.keep)

    def restore(self, found: Checkpoint) -> None:
        """Go back to a checkpoint."""
        self._check_data(found.record)
        self.objective.model.load_state_dict(checkpoint.unpack_model(found))
        if self.average is not None:
            unpack_average(self.average, found.tensors, found.record["step"])
        checkpoint.unpack_optimiser(self.optimiser, found.tensors, found.record["optimiser"])
        self.step, self.history, self.sums = (found.record[key] for key in ("step", "history", "sums"))
        self.watchers.restore(found.record.get("callbacks", []))

    def restore_final(self, final: Final) -> None:
        """Stand at the end, with the final network; there is nothing left to train."""
        images = len(self.splits.train) if final.ending.images is None else final.ending.images
        self._check_data({**final.config, "images": images})
        self.judged.load_state_dict(final.weights)
        self.history = final.ending.history
        self.step = self.history[-1]["step"]

    def _check_data(self, before: dict[str, Any]) -> None:
        """Refuse data other than it was trained on before."""
        data = self.splits.train
        if before["images"] != len(data):
            raise ValueError(f"the data has changed: it had {before['images']} training images, now {len(data)}")
        for name in ("classes", "image_shape"):
            then, now = before.get(name), list(getattr(data, name))
            if then not in (None, now):
                raise ValueError(f"the data has changed: its {name} was {then}, now {now}")

    def left(self) -> Model:
        """The network that the training leaves, ready to be asked: it has the averaged weights, if there are any."""
        if self.average is not None:
            self.model.load_state_dict(self.average.module.state_dict())
        return self.model.eval()

    def _due(self, every: int | None) -> bool:
        return every is not None and self.step % every == 0

    def _averages(self) -> dict[str, float]:
        images = max(1.0, self.sums["images"])
        return {"loss": self.sums["loss"] / images, "accuracy": self.sums["hits"] / images}

    def _rate(self) -> float:
        return float(self.optimiser.param_groups[0]["lr"])

    def _ready(self, batch: Batch) -> Batch:
        batch = sent(batch, self.fabric.device)
        images = ready(self.objective.model, batch.images)
        singles = None if batch.singles is None else batch.singles.to(images)
        return Batch(images, batch.labels.to(images.device), singles)

    def _reduce(self, values: Tensor) -> Tensor:
        if self.fabric.world_size == 1:
            return values
        total: Any = self.fabric.all_reduce(values, reduce_op="sum")
        return torch.as_tensor(total)


def _optimiser(model: Model, settings: Settings, *, skips: bool) -> torch.optim.Optimizer:
    """One that, where it `skips`, makes no step while its `found_inf` is one, and need not be told by the host."""
    shared: Any = {"lr": settings.lr, "weight_decay": settings.weight_decay, "fused": True if skips else None}
    if settings.optimiser == "sgd":
        return torch.optim.SGD(list(groups_of(model, settings)), momentum=settings.momentum, **shared)
    kind = torch.optim.AdamW if settings.optimiser == "adamw" else torch.optim.Adam
    return kind(list(groups_of(model, settings)), **shared)
