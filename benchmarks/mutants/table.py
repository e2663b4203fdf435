"""The table of all faults, for people."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.mutants.fault import Fault

Known = Mapping[str, Mapping[str, Any]]


def table(faults: Iterable[Fault], known: Known) -> str:
    """Markdown: how many of each list were noticed, and which were not, with what explains it."""
    every = list(faults)
    left = [fault for fault in every if fault.place in known and known[fault.place]["state"] == "survived"]
    lines = ["# Planted faults", "", "Made by `python -m benchmarks.mutants`; what each came to is in `mutants/`.", ""]
    lines += ["| list | faults | tried | noticed | share |", "|---|---|---|---|---|"]
    lines += [_line(name, [f for f in every if f.list == name], known) for name in sorted({f.list for f in every})]
    once = list({fault.name: fault for fault in every}.values())  # some changes stand in several lists
    lines += [_line("different ones, chosen by hand", [f for f in once if not f.random], known)]
    lines += [_line("all different ones", once, known)]
    lines += ["", "## Not noticed", "", "| fault | change | why |", "|---|---|---|"]
    lines += [f"| `{f.file}`: {f.what} | {_change(f)} | {f.why or 'not explained yet'} |" for f in left]
    return "\n".join(lines) + "\n"


def _line(title: str, faults: list[Fault], known: Known) -> str:
    states = [known[fault.place]["state"] for fault in faults if fault.place in known]
    noticed = states.count("noticed")
    return f"| {title} | {len(faults)} | {len(states)} | {noticed} | {100 * noticed / max(1, len(states)):.1f} % |"


def _change(fault: Fault) -> str:
    """What differs, without what is the same at both ends."""
    old, new = fault.old, fault.new
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    end = next((i for i, (a, b) in enumerate(zip(old[start:][::-1], new[start:][::-1], strict=False)) if a != b), 0)
    parts = (text[max(0, start - 12) : len(text) - end + 6] for text in (old, new))
    return " → ".join(f"`{' '.join(part.split()) or ' '}`".replace("|", "\\|") for part in parts)
