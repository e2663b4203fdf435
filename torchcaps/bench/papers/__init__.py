"""The artefacts: one file for each table and figure, `papers/<key>/<artefact>.py`, 40 to 120 lines, found by itself.

How such a file is written; `peer2021/table1.py` is the shortest example, `gu2021/table1.py` one with a target:

- Its docstring says what the artefact shows, the command, the cost at `cpu`, and what to expect. The report prints it.
- It defines `ARTEFACT`, an `Artefact`: plain data but for pictures. `rows` are those of the paper's table in its order,
  with the paper's `printed` figures by column; `settings` are a training's, in the artefact for all rows, in a row what
  is its own, in a budget what the scale changes (`Settings` says what there is; dictionaries in it are merged).
- `measures` name functions of `torchcaps.bench.judges`, with options; a new one is a file there and a line in its
  `JUDGES`. It gives numbers by name, for claims and tables, and details for pictures.
- `budgets` has "smoke" and some of "cpu", "trained" (converged, on two cores) and "paper": seeds, what is cut, and what
  that means in sentences. At `smoke` everything is as small as it can be: 2 seeds, a few hundred images, narrow
  networks. A scale never changes what is measured. The option `conv_width` makes convolutions and types of primary
  capsules fewer, never hidden or class capsules.
- Equal terms: the same images and seeds for all rows, the papers' own learning rates, and `until_accuracy` where the
  paper stops at equal accuracy. Rows that train alike in two artefacts are trained once: give them equal settings.
- `claims` has exactly the ids of the paper's `claims.toml` for this artefact; what they say stands there. The kinds of
  claims are in `torchcaps.bench.claims`, built from rows (`"capsnet"`) and the names of numbers (`on="affine"`).
- `tables` are the paper's, made with `grid(ROWS, [Column(title, on), …])` or cell by cell; a `Picture` draws on a
  figure of matplotlib from what was gathered.
- When what is measured changes, raise `version`: its own judgings are then run again, its trainings are not.
- `tests/contracts/test_artefacts.py` holds every artefact to this.
"""

import importlib
import inspect
import pkgutil
from dataclasses import replace
from functools import cache

from torchcaps.bench.artefact import Artefact
from torchcaps.bench.frozen import frozen


@cache
def artefacts() -> dict[str, Artefact]:
    """All artefacts that there are, in the order of the frozen list."""
    found: dict[str, Artefact] = {}
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        if not module.ispkg and not module.name.rpartition(".")[2].startswith("_"):
            file = importlib.import_module(module.name)
            found[file.ARTEFACT.id] = replace(file.ARTEFACT, about=inspect.cleandoc(file.__doc__ or ""))
    return {name: found[name] for name in frozen() if name in found}
