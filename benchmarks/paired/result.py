"""What a comparison leaves behind: lines in the terminal, and JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Ratio
from benchmarks.paired.interval import CONFIDENCE, LIMIT
from benchmarks.paired.pairs import CLOCKS, Apart, Clock, Pairs
from torchcaps._atomic import write_text

Found = Pairs | Apart


def line(found: Found, clock: Clock) -> str:
    """A row in one line: ratios by both clocks, the least milliseconds, memory, and the verdict."""
    name = f"{found.workload}, {found.row}" if found.row else found.workload
    if isinstance(found, Apart):
        return f"{name:68s} {'FAILS' if found.fault else 'not compared'}: {found.why}"
    ratios = "  ".join(f"{each} {_shown(found.ratio(each))}" for each in CLOCKS)
    least = [min(times) * 1e3 for times in zip(*found.times[clock], strict=True)]
    told = f"{name:68s} {ratios}  {least[0]:.2f} → {least[1]:.2f} ms  {len(found.times[clock])} pairs"
    if None not in found.megabytes:
        told += "  {:.0f} → {:.0f} MB".format(*found.megabytes)
    return f"{told}  {'passes' if found.passes(clock) else 'FAILS'}"


def failing(found: Sequence[Found], clock: Clock) -> list[Found]:
    """Rows whose interval lies above the limit, and those that only the new tree cannot run."""
    return [each for each in found if (each.fault if isinstance(each, Apart) else not each.passes(clock))]


def summary(found: Sequence[Found], clock: Clock) -> str:
    """How many rows there are and pass, and again those that fail."""
    compared = [each for each in found if isinstance(each, Pairs)]
    failed = failing(found, clock)
    head = f"{len(compared)} rows compared by {clock} time, {len(found) - len(compared)} not; {len(failed)} fail"
    return "\n".join([head, *(line(each, clock) for each in failed)])


def save(found: Sequence[Found], about: dict[str, Any], clock: Clock, path: Path) -> None:
    """Write all pairs as JSON, a row a line, times to a tenth of a microsecond."""
    rows = ",\n  ".join(json.dumps(_stored(each, clock)) for each in found)
    about = {**about, "clock": clock, "limit": LIMIT, "confidence": CONFIDENCE}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, f'{{"about": {json.dumps(about)},\n "rows": [\n  {rows}\n]}}\n')


def _stored(found: Found, clock: Clock) -> dict[str, Any]:
    if isinstance(found, Apart):
        return found._asdict()
    ratios = {each: [round(value, 4) for value in found.ratio(each)] for each in CLOCKS}
    times = {each: [[round(t, 7) for t in pair] for pair in found.times[each]] for each in CLOCKS}
    megabytes = [None if value is None else round(value, 2) for value in found.megabytes]
    told = {"workload": found.workload, "row": found.row, "passes": found.passes(clock)}
    return {**told, "ratio": ratios, "megabytes": megabytes, "times": times}


def _shown(found: Ratio) -> str:
    return f"×{found.value:.3f} ({found.low:.3f}–{found.high:.3f})"
