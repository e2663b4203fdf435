"""Results on disk: JSON lines that only grow, can be put together in any order, and are read with DuckDB.

A line is the result of one job, with a checksum of its own. A damaged line is named and counts for nothing: its job is
run again, the others stay.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from filelock import FileLock

from torchcaps._atomic import write_bytes, writing
from torchcaps.bench.folders import without_folders

if TYPE_CHECKING:
    import duckdb

FORMAT = 1
ENDING, DAMAGED = ".jsonl", ".damaged"
DONE, FAILED, UNAVAILABLE = "done", "failed", "unavailable"
ORDER = (DONE, UNAVAILABLE, FAILED)
"""Of several results of the same job the first of these counts; of equal ones the latest."""

TOLD = ("error", "trace")
"""What an exception said, and where."""

Line = dict[str, Any]


class Problem(NamedTuple):
    """A line that cannot be read."""

    path: Path
    number: int
    why: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.number}: {self.why}"


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Add a result, whole and on disk when this returns; several processes may do so at once."""
    text = as_text({"format": FORMAT, **line}) + "\n"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _lock(path), path.open("ab") as file:
            if file.tell() and not _ends(path):  # a process was killed while it wrote
                file.write(b"\n")
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())


def as_text(line: Mapping[str, Any]) -> str:
    """A result as it is stored: errors without the machine's folders, and a checksum of the rest."""
    told = {name: without_folders(line[name]) for name in TOLD if name in line}
    facts = {name: value for name, value in line.items() if name != "check"}
    body = json.dumps({**facts, **told}, sort_keys=True, allow_nan=False)
    return json.dumps({"check": _check(body)})[:-1] + ", " + body[1:]


def read(path: Path) -> tuple[list[Line], list[Problem]]:
    """The results of a file, and the lines that are none."""
    if not path.is_file():
        return [], []
    lines, problems = _read(path)
    if problems:  # perhaps another process is just writing
        with _lock(path):
            return _read(path)
    return lines, problems


def _read(path: Path) -> tuple[list[Line], list[Problem]]:
    lines, problems = list[Line](), list[Problem]()
    for number, text in enumerate(path.read_bytes().split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            lines.append(_parsed(text))
        except ValueError as error:
            problems.append(Problem(path, number, str(error)))
    return lines, problems


def results(folder: Path) -> tuple[dict[str, Line], list[Problem]]:
    """The result that counts of each job, by the job's name, whatever file it lies in and in whatever order."""
    best, problems = dict[str, Line](), list[Problem]()
    for path in sorted(folder.glob(f"*{ENDING}")):
        lines, wrong = read(path)
        problems += wrong
        for line in lines:
            known = best.get(line["name"])
            if known is None or _rank(line) > _rank(known):
                best[line["name"]] = line
    return dict(sorted(best.items())), problems


def holds(folder: Path, name: str) -> bool:
    """Whether any file of a folder has a whole line that says a job is done."""
    for path in sorted(folder.glob(f"*{ENDING}")):
        for text in path.read_bytes().split(b"\n"):
            if name.encode() in text and _is_whole(text):
                line = json.loads(text)
                if (line["name"], line["state"]) == (name, DONE):
                    return True
    return False


def set_aside(problems: Iterable[Problem]) -> None:
    """Move damaged lines out of the way, into a file beside theirs."""
    for path in {problem.path for problem in problems}:
        with _lock(path):
            kept, bad = list[bytes](), list[bytes]()
            for text in path.read_bytes().split(b"\n"):
                (kept if _is_whole(text) else bad).append(text)
            with path.with_suffix(DAMAGED).open("ab") as file:
                file.writelines(text + b"\n" for text in bad)
            write_bytes(path, b"".join(text + b"\n" for text in kept if text.strip()))


def query(folder: Path, sql: str) -> "duckdb.DuckDBPyRelation":
    """Ask the results in SQL, as the table `results`; `numbers` and `settings` are JSON.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     append(Path(folder) / "all.jsonl", {"name": "a", "state": DONE, "artefact": "gu2021/table1", "seconds": 3})
    ...     query(Path(folder), "select artefact, sum(seconds) from results group by 1").fetchall()
    [('gu2021/table1', 3.0)]
    """
    import duckdb

    connection = duckdb.connect()
    columns = "{" + ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items()) + "}"
    files = str(folder / f"*{ENDING}").replace("'", "''")
    connection.execute(
        f"create view results as select * from read_json('{files}', format = 'newline_delimited', "
        f"columns = {columns}, ignore_errors = true, maximum_object_size = {1 << 28})"
    )
    return connection.sql(sql)


COLUMNS = {
    "name": "varchar",
    "job": "varchar",
    "state": "varchar",
    "artefact": "varchar",
    "row": "varchar",
    "scale": "varchar",
    "seed": "integer",
    "numbers": "json",
    "settings": "json",
    "seconds": "double",
    "megabytes": "double",
    "commit": "varchar",
    "finished": "varchar",
    "error": "varchar",
}


def _rank(line: Line) -> tuple[int, str, str]:
    return -ORDER.index(line["state"]), line.get("finished", ""), line["check"]


def _parsed(text: bytes) -> Line:
    line: Any = json.loads(text)
    if not isinstance(line, dict) or line.get("format") != FORMAT:
        raise ValueError(f"not a result of format {FORMAT}")
    check = line.get("check")
    body = json.dumps({name: value for name, value in line.items() if name != "check"}, sort_keys=True)
    if check != _check(body):
        raise ValueError("its checksum differs: the line was changed")
    return line


def _is_whole(text: bytes) -> bool:
    if not text.strip():
        return True
    try:
        _parsed(text)
    except ValueError:
        return False
    return True


def _check(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _ends(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _lock(path: Path) -> FileLock:
    return FileLock(path.with_suffix(".lock"))
