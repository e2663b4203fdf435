"""Take the folders of a machine out of errors that were stored before `store.append` did so.

    python -m benchmarks.elide_folders results

Lines get the checksum of their new text, and keep everything else. A second run changes nothing. What was changed and
when stands in `results/README.md`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from torchcaps.bench import store
from torchcaps.bench.folders import without_folders
from torchcaps.bench.ledger import write_ledger
from torchcaps.bench.summary import VERDICTS, differences


def elide(root: Path) -> dict[str, int]:
    """How many lines of each file of results were changed, and how many texts of the verdicts beside them.

    Args:
        root: the folder of the results, with a folder for each scale.
    """
    changed = {str(path.relative_to(root)): _lines(path) for path in sorted(root.glob(f"*/*{store.ENDING}"))}
    changed |= {str(path.relative_to(root)): _verdicts(path) for path in sorted(root.glob(f"*/{VERDICTS}"))}
    for scale in sorted({root / Path(name).parent for name, count in changed.items() if count}):
        write_ledger(scale, "folders of a machine were taken out of stored errors")
    return {name: count for name, count in changed.items() if count}


def _lines(path: Path) -> int:
    _, problems = store.read(path)
    if problems:  # a new checksum would hide the damage
        raise ValueError(f"{problems[0]}: nothing in this file was changed")
    before = path.read_text().split("\n")
    after = [store.as_text(json.loads(text)) if text else text for text in before]
    path.write_text("\n".join(after))
    return sum(old != new for old, new in zip(before, after, strict=True))


def _verdicts(path: Path) -> int:
    before = json.loads(path.read_text())
    after = _elided(before)
    path.write_text(json.dumps(after, indent=1) + "\n")
    return len(differences(before, after))


def _elided(value: Any) -> Any:
    """Plain data with every text in it elided: verdicts repeat errors as the reasons of claims."""
    if isinstance(value, dict):
        return {name: _elided(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_elided(one) for one in value]
    return without_folders(value) if isinstance(value, str) else value


if __name__ == "__main__":
    for name, count in elide(Path(sys.argv[1])).items():
        print(f"{name}: {count}")
