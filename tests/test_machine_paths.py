"""No file that git knows names a folder of somebody's machine: home, cache, temporary or working folders."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = "|".join(re.escape(path.name) for path in ROOT.iterdir())
KINDS = {
    "home": r"/home/\w|/root/[\w.]|/Users/\w|\w:\\{1,4}Users\\",
    "cache": r"/(?:[^\s\"'/]+/)+\.cache/",
    "temporary": r"/tmp/\w|/var/folders/\w",
    "working": rf"/work/\w|{re.escape(str(ROOT))}/(?:{OURS})",
}
MACHINE = re.compile(r"(?<![\w.~}…-])(?:" + "|".join(KINDS.values()) + r")[\w.-]*")
EXAMPLES = "its paths are made up: they show what becomes of paths"
ALLOWED = {
    "torchcaps/bench/folders.py": EXAMPLES,
    "tests/bench/test_folders.py": EXAMPLES,
    "tests/benchmarks/test_elide_folders.py": EXAMPLES,
    "tests/test_machine_paths.py": EXAMPLES,
    "tests/data/test_readers.py": "a file that must not come to be: a pickle that would make it is not run",
}


def paths_of(text):
    """What names a folder of a machine; in JSON a path may stand behind the n of an escaped line break."""
    return MACHINE.findall(re.sub(r"\\[nrt]", "\n", text))


@pytest.mark.parametrize(
    "text",
    [
        "/home/me/a",
        "in /root/x",
        '"/root/.cache/torchcaps/cifar100"',
        "'/Users/me'",
        r"C:\Users\me",
        r"C:\\Users\\me",
        "(/mnt/disk/.cache/torchcaps)",
        "/tmp/x",
        "=/var/folders/ab",
        'File \\"/work/somewhere/a.py',
        r"told:\n/root/x",
        f"{ROOT}/torchcaps",
    ],
)
def test_a_path_of_a_machine_is_seen(text):
    assert paths_of(text)


@pytest.mark.parametrize(
    "text", ["~/.cache/torchcaps", "/tmp", "results/.work/x", "https://a.org/home/x", "{folder}/tmp/x", "home/.cache/x"]
)
def test_other_paths_are_none(text):
    assert not paths_of(text)


def test_no_file_names_a_folder_of_a_machine():
    known = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [name for name in known.stdout.split("\0") if (ROOT / name).is_file()]
    assert len(files) > 500
    found = {}
    for name in files:
        content = (ROOT / name).read_bytes()
        if b"\0" not in content and (paths := paths_of(content.decode(errors="replace"))):
            found[name] = sorted(set(paths))
    assert {name: paths for name, paths in found.items() if name not in ALLOWED} == {}
    assert ALLOWED.keys() <= found.keys(), "what is allowed and not there needs no reason"
