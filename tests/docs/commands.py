"""Commands of the pages, run as a reader would or, where they cannot be run here, held against what there is."""

import contextlib
import doctest
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import typer

import torchcaps.cli
from tests.docs.markdown import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
FIRST_STEPS = ("git clone", "cd ", "source .venv/bin/activate", "python -m venv", "python3 -m venv")
HARMLESS = ("ls", "head", "cat", "mkdir", "cp")
PASSING = re.compile(r"^(.* … \d+ s|.*: \d+ of \d+ jobs.*)\n", re.MULTILINE)
"""Progress, which a slow machine tells more of than a fast one."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def alike(shown: str, found: str, *, exactly: bool = False) -> bool:
    """Whether two outputs are the same but for numbers, spaces and what `...` stands for."""
    shown, found = ((text if exactly else re.sub(r"[\d.,]*\d", "0", text)).strip() + "\n" for text in (shown, found))
    return doctest.OutputChecker().check_output(shown, PASSING.sub("", found), FLAGS)


def check(command: str) -> None:
    """Refuse a command that nobody could run: an unknown program, target, extra, file or option."""
    words = shlex.split(command, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        words = words[1:]
    if command.startswith(FIRST_STEPS) or words[0] in HARMLESS:
        return
    match words:
        case ["torchcaps", *arguments]:
            check_options(arguments)
        case ["make", target]:
            assert target in TARGETS, f"there is no target {target}"
        case ["pip", "install", *rest] | ["python", "-m", "pip", "install", *rest]:
            for extra in re.findall(r"\[([\w,]+)\]", " ".join(rest)):
                assert set(extra.split(",")) <= EXTRAS.keys(), f"there is no extra {extra}"
        case ["python", "-m", module, *options]:
            check_module(module, options)
        case ["python", file, *_]:
            assert (ROOT / file).is_file(), f"there is no file {file}"
        case ["pytest", *paths]:
            assert all((ROOT / path).exists() for path in paths if not path.startswith("-"))
        case _:
            raise AssertionError(f"nobody knows how to check {command!r}")


def check_options(arguments: list[str]) -> None:
    """Every option of a torchcaps command must be one that its --help names; nothing is run."""
    command = typer.main.get_command(torchcaps.cli.app)
    context = command.make_context("torchcaps", [], resilient_parsing=True)
    while hasattr(command, "commands"):
        name = next(word for word in arguments if not word.startswith("-"))
        arguments = arguments[arguments.index(name) + 1 :]
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name!r}"
    command.make_context(name, list(arguments), parent=context)


def check_module(module: str, options: list[str]) -> None:
    """A module of this repository, and options that its source names."""
    base = ROOT / Path(*module.split("."))
    file = base / "__main__.py" if base.is_dir() else base.with_suffix(".py")
    assert file.is_file(), f"there is no module {module}"
    for option in options:
        assert not option.startswith("--") or option in file.read_text(), f"{module} has no option {option}"


def run(command: str) -> tuple[int, str]:
    """The exit code and all that a command prints, in this process if it is Python."""
    words = shlex.split(command, comments=True)
    given = dict(word.split("=", 1) for word in words if re.match(r"[A-Z_]+=", word))
    if given:  # what a process finds out once must be found out by another
        line = [sys.executable, "-c", "from torchcaps.cli import main; main()", *words[len(given) + 1 :]]
        done = subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, **given})
        return done.returncode, done.stdout + done.stderr
    match words:
        case ["torchcaps", *arguments]:
            return _called(torchcaps.cli.main, ["torchcaps", *arguments])
        case ["python", file, *arguments]:
            path = str(ROOT / file)
            return _called(lambda: runpy.run_path(path, run_name="__main__"), [path, *arguments])
        case [program, *_] if program in HARMLESS:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr
    return 0, ""


def _called(function, argv: list[str]) -> tuple[int, str]:
    heard, before = io.StringIO(), sys.argv
    sys.argv = argv
    try:
        with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
            function()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    return code, heard.getvalue()
