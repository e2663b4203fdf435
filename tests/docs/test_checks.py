"""The checks of the pages see what they are for."""

from pathlib import Path

import pytest

from tests.docs.commands import alike, check
from tests.docs.markdown import blocks
from tests.docs.test_snippets import do, execute

PAGE = Path("made-up.md")


def block(text):
    return blocks(PAGE, text)[0]


REFUSED = {
    "torchcaps trian": "no command 'trian'",
    "torchcaps train sabour2017/capsnet --dada mnist": "--dada",
    "torchcaps bench run --scale smoke --bakend slurm": "--bakend",
    "make everything": "no target everything",
    "pip install 'torchcaps[everything]'": "no extra everything",
    "python examples/nothing.py": "no file examples/nothing.py",
    "python -m benchmarks.data --shete x": "no option --shete",
    "wget somewhere": "nobody knows how to check 'wget somewhere'",
}


@pytest.mark.parametrize("command", REFUSED)
def test_commands_that_nobody_could_run_are_refused(command):
    with pytest.raises(Exception, match=REFUSED[command]):
        check(command)


def test_commands_that_can_be_run_are_let_through():
    check("torchcaps bench run gu2021/table1 --scale cpu --backend slurm --workers 40")
    check("TORCHCAPS_PASSES=plain torchcaps train sabour2017/capsnet --data mnist --out run --devices 2")
    check("make demo")
    check("pip install 'torchcaps[train,export]'")


def test_numbers_may_differ_and_words_may_not():
    assert alike("epoch 1: loss 0.5249 ...", "epoch  1: loss 1.5  accuracy 36 %\n")
    assert not alike("epoch 1: loss 0.5249", "epoch 1: cost 0.5249")
    assert not alike("43 images", "44 images", exactly=True)


def test_wrong_snippets_are_found():
    with pytest.raises(AssertionError, match=r"Expected:\s+3"):
        execute(block("```python\n>>> 1 + 1\n3\n```\n"), {})
    with pytest.raises(AssertionError, match="not in examples/own_loss"):
        execute(block('```python title="examples/own_loss.py"\nno such line\n```\n'), {})
    with pytest.raises(AssertionError, match="the transcript differs"):
        do(block("<!-- check: transcript sign -->\n```console\n$ torchcaps demo --sign\nnothing\n```\n"))
    with pytest.raises(AssertionError, match="torchcaps: there is no model"):
        do(block("```console\n$ torchcaps train nobody/net --data glyphs --dry-run\n```\n"))
