"""The table of all faults, for people."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.mutants.fault import Fault

Known = Mapping[str, Mapping[str, Any]]


def table(faults: Iterable[Fault], known: Known) -> str:
    """Markdown: how many were noticed, which were not and why, and all of them by file."""
    every = list(faults)
    tried = [fault for fault in every if fault.name in known]
    left = [fault for fault in tried if known[fault.name]["state"] == "survived"]
    lines = ["# Planted faults", "", "Made by `python -m benchmarks.mutants`.", ""]
    for title, some in (("chosen by hand", False), ("drawn at random", True)):
        lines.append(
            _share(title, [f for f in every if f.random is some], [f for f in tried if f.random is some], left)
        )
    lines += ["", "## Not noticed", "", "| fault | change | why |", "|---|---|---|"]
    lines += [f"| `{f.file}`: {f.what} | {_change(f)} | {f.why or 'not explained yet'} |" for f in left]
    lines += ["", "## All", "", "| file | fault | first test that fails |", "|---|---|---|"]
    lines += [f"| `{f.file}` | {f.what} | {_by(known[f.name])} |" for f in tried]
    return "\n".join(lines) + "\n"


def _share(title: str, every: list[Fault], tried: list[Fault], left: list[Fault]) -> str:
    noticed = len(tried) - sum(fault in left for fault in tried)
    share = 100 * noticed / max(1, len(tried))
    return f"- {title}: {noticed} of {len(tried)} noticed ({share:.1f} %), {len(every) - len(tried)} not tried yet"


def _change(fault: Fault) -> str:
    """What differs, without what is the same at both ends."""
    old, new = fault.old, fault.new
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    end = next((i for i, (a, b) in enumerate(zip(old[start:][::-1], new[start:][::-1], strict=False)) if a != b), 0)
    parts = (text[max(0, start - 12) : len(text) - end + 6] for text in (old, new))
    return " → ".join(f"`{' '.join(part.split()) or ' '}`".replace("|", "\\|") for part in parts)


def _by(line: Mapping[str, Any]) -> str:
    return "none" if line["state"] == "survived" else f"`{line['by']}`".replace("|", "\\|")
