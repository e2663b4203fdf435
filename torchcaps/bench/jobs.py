"""Work as plain data: a training, and the judging of what it left. Each is named by the hash of all that decides it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, NamedTuple

from torchcaps.train import Settings

CODE_VERSION = 1
"""Of models, training and measures: raised when a fault is mended that changes results, which are then run again."""


class MeasureSpec(NamedTuple):
    """A measure by its name in `torchcaps.bench.judges.JUDGES`, and its options."""

    name: str
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed: it goes into the name


@dataclass(frozen=True)
class Training:
    """A network to be trained; shared by all artefacts that need it.

    >>> one = Training(Settings("peer2021/sign", "sign"), data_hash="")
    >>> one.name == Training(Settings("peer2021/sign", "sign", lr=1e-3), data_hash="").name  # the default, said
    True
    >>> one.name == Training(Settings("peer2021/sign", "sign", seed=1), data_hash="").name
    False

    Args:
        settings: all that decides its weights, the seed included.
        data_hash: of the images it learns from.
    """

    settings: Settings
    data_hash: str
    code_version: int = CODE_VERSION

    @property
    def seed(self) -> int:
        """Of weights, order and whatever else is drawn."""
        return self.settings.seed

    @property
    def name(self) -> str:
        """The hash of its settings, where they differ from the defaults, its data and the code's version."""
        return digest({"settings": told(self.settings), "data": self.data_hash, "code": self.code_version})

    def to_json(self) -> dict[str, Any]:
        """What a stored result says of it."""
        return {"name": self.name, "settings": told(self.settings), "data": self.data_hash, "code": self.code_version}


@dataclass(frozen=True)
class Judging:
    """The measures of one row of an artefact, for one seed.

    Args:
        version: of the artefact: raised when what it measures changes, so that its own judgings are run again.
        training: what the row is about; None where nothing is trained.
        others: trainings that the measures need besides, such as the substitute of an attack.
    """

    artefact: str
    version: int
    row: str
    seed: int
    measures: tuple[MeasureSpec, ...]
    training: Training | None = None
    others: tuple[Training, ...] = field(default=())
    code_version: int = CODE_VERSION

    @property
    def trainings(self) -> tuple[Training, ...]:
        """All trainings that must be there first."""
        return (*(() if self.training is None else (self.training,)), *self.others)

    @property
    def name(self) -> str:
        """The hash of everything above."""
        return digest({**asdict(self), "training": None, "others": [], "trainings": [t.name for t in self.trainings]})

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.artefact} {self.row}, seed {self.seed}"


def told(settings: Settings) -> dict[str, Any]:
    """The settings that differ from the defaults, so that a field that is added later changes no name."""
    usual = {
        f.name: f.default if f.default_factory is MISSING else f.default_factory()
        for f in fields(settings)
        if f.default is not MISSING or f.default_factory is not MISSING
    }
    values: dict[str, Any] = json.loads(json.dumps(settings.to_json()))
    return {name: value for name, value in values.items() if name not in usual or value != usual[name]}


def digest(what: Mapping[str, Any]) -> str:
    """Sixteen letters that stand for plain data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
