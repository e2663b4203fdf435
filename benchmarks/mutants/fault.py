"""A fault: a file, a change, and the tests to run."""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FAULTS = Path(__file__).with_name("faults")


class FaultError(ValueError):
    """A fault that cannot be planted as it is written."""


@dataclass(frozen=True)
class Fault:
    """A change to one file of the library that makes it wrong.

    Args:
        file: from the project's folder.
        old: what stands there, once in the whole file.
        new: what stands there instead.
        what: the fault in words.
        tests: files, folders or single tests, those that should notice first.
        why: for a fault that no test notices: why none should.
        random: whether it was drawn and not chosen.
        list: the file of `faults/` it stands in, without its ending.
    """

    file: str
    old: str
    new: str
    what: str
    tests: tuple[str, ...]
    why: str = ""
    random: bool = False
    list: str = ""

    @property
    def name(self) -> str:
        """The file, and letters that stand for the change."""
        return f"{self.file}:{hashlib.sha256((self.old + '→' + self.new).encode()).hexdigest()[:8]}"

    @property
    def place(self) -> str:
        """Its list and name: two lists may have thought of the same change."""
        return f"{self.list}/{self.name}"

    def planted(self) -> str:
        """The file's text with the fault in it."""
        text = (ROOT / self.file).read_text()
        if text.count(self.old) != 1:
            raise FaultError(f"{self.file} holds {self.old!r} {text.count(self.old)} times; it must be there once")
        changed = text.replace(self.old, self.new)
        if changed == text:
            raise FaultError(f"{self.file}: {self.old!r} is changed to itself")
        if self.file.endswith(".py"):
            compile(changed, self.file, "exec")
        return changed


def planned() -> list[Fault]:
    """All faults of `faults/*.toml`, in the order of their files."""
    return [fault for path in sorted(FAULTS.glob("*.toml")) for fault in _read(path)]


def _read(path: Path) -> list[Fault]:
    found = []
    for entry in tomllib.loads(path.read_text())["fault"]:
        tests = tuple(entry.pop("tests", ())) or usual(entry["file"])
        try:
            found.append(Fault(tests=tests, list=path.stem, **entry))
        except TypeError as error:
            raise FaultError(f"{path.name}: {entry}: {error}") from None
    return found


def usual(file: str) -> tuple[str, ...]:
    """The tests of a module that names none: its own examples, those of its name, those of its folder."""
    inside = Path(file).relative_to("torchcaps")
    own = [file] if file.endswith(".py") and ">>>" in (ROOT / file).read_text() else []
    named = [Path("tests", *folder, f"test_{inside.stem}.py") for folder in (inside.parts[:-1], inside.parts[:1])]
    folders = [Path("tests", inside.parts[0])]
    there = [str(path) for path in named + folders if (ROOT / path).exists()]
    return tuple(dict.fromkeys(own + there[:1])) or ("tests/contracts",)
