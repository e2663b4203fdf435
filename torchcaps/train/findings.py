"""What was found out about a trained network, kept with its run: one file a measure."""

import json
import warnings
from collections.abc import Mapping
from typing import Any

from torchcaps._atomic import NotWrittenError, write_text
from torchcaps._version import __version__
from torchcaps.measures import Result
from torchcaps.train.run import Run

FOLDER = "inspect"


def keep(run: Run, found: Mapping[str, Result]) -> None:
    """Write results into the folder of a run, in place of earlier ones of the same names."""
    if run.directory is None:
        raise ValueError("this run was not kept: there is no folder for what was found")
    for name, result in found.items():
        facts = {"torchcaps": __version__, "step": _step(run), "result": result.to_json()}
        write_text(run.directory / FOLDER / f"{name}.json", json.dumps(facts) + "\n")


def keep_if_possible(run: Run, found: Mapping[str, Result]) -> None:
    """Write results into the folder of a run; where that cannot be written, a warning names the file."""
    try:
        keep(run, found)
    except NotWrittenError as error:
        warnings.warn(f"{error}; what was measured is shown, but not kept", stacklevel=2)


def kept(run: Run) -> dict[str, Result]:
    """What is known of the network as it is now, by the name of the measure: what was found before its last step, or
    cannot be read, is left out."""
    found: dict[str, Result] = {}
    if run.directory is None:
        return found
    for path in sorted((run.directory / FOLDER).glob("*.json")):
        if not path.is_file():  # a FIFO would be waited for
            continue
        try:
            facts: dict[str, Any] = json.loads(path.read_text())
            if facts["step"] == _step(run):
                found[path.stem] = Result.from_json(facts["result"])
        except (
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
        ):  # of another version, or half a file: it is measured again
            continue
    return found


def _step(run: Run) -> int | None:
    return run.history[-1].get("step") if run.history else None
