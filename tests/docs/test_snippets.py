"""Every command and snippet of README and docs is executed, page by page, from top to bottom, as a reader would.

A comment `<!-- check: … -->` above a block says what else is to be done with it:

- `options`: it needs a GPU, Slurm, PyPI or long; its options are held against --help, and no output may be shown
- `transcript NAME`: it takes minutes; what is shown must be part of `docs/transcripts/NAME.txt`, with the command
- `fails`: the command is meant to end with an error
- `exactly`: numbers too must be as shown
"""

import doctest
import textwrap
import tomllib

import pytest
import yaml

from tests.docs.commands import FLAGS, alike, check, run
from tests.docs.markdown import PAGES, ROOT, Block, blocks, commands

LANGUAGES = ("console", "python", "text", "toml", "yaml", "json", "bibtex", "cpp")


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of a reader's own, beside a terminal of 100 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("TORCHCAPS_PASSES", raising=False)


@pytest.mark.parametrize("page", PAGES, ids=str)
@pytest.mark.usefixtures("elsewhere", "no_shape_checks")
def test_page(page):
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{block.where}: say what language this is, one of {', '.join(LANGUAGES)}"
        if block.language == "console":
            do(block)
        elif block.language == "python":
            execute(block, names)
        elif block.language in ("toml", "yaml"):
            {"toml": tomllib.loads, "yaml": yaml.safe_load}[block.language](block.text)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_prompt_stands_outside_of_a_block(page):
    """An unfenced `>>>` is a quotation of a quotation of a quotation, and is not run."""
    text = (ROOT / page).read_text()
    for block in blocks(page):
        text = text.replace(textwrap.indent(block.text, ""), "")
    assert not [line for line in text.splitlines() if line.lstrip().startswith((">>>", "$ "))]


def do(block: Block) -> None:
    """A terminal: commands, each with its output."""
    assert block.commands, f"{block.where}: a console without a command"
    for command, shown in block.commands:
        check(command)
        if block.check.startswith("options"):
            assert not shown.strip(), f"{block.where}: what is not run has no output"
        elif block.check.startswith("transcript"):
            kept = dict(commands((ROOT / "docs/transcripts" / f"{block.check.split()[1]}.txt").read_text()))
            assert alike(shown, kept[command], exactly=True), f"{block.where}: the transcript differs"
        else:
            code, found = run(command)
            told = f"{block.where}: $ {command}\n{found}"
            assert (code != 0) == (block.check == "fails"), told
            assert not shown.strip() or alike(shown, found, exactly=block.check == "exactly"), told


def execute(block: Block, names: dict[str, object]) -> None:
    """Python: a session with its output, a part of a file, or lines to be executed."""
    if block.title:
        source = textwrap.dedent(block.text).strip("\n")
        kept = (ROOT / block.title).read_text()
        dented = [textwrap.indent(source, " " * 4 * k) for k in range(4)]
        assert any(text in kept for text in dented), f"{block.where}: this is not in {block.title}"
    elif ">>> " in block.text:
        test = doctest.DocTestParser().get_doctest(block.text, names, block.where, str(block.page), block.line)
        said: list[str] = []
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
        assert not said, "".join(said)
        names.update(test.globs)
    else:
        exec(compile(block.text, block.where, "exec"), names)
