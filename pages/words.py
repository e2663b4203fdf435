"""Verdict words on pages, in colour on the site (`docs/extra.css`), and text inside a table."""


def coloured(word: str) -> str:
    """A verdict's word with its style; where there are no styles it is the word alone.

    >>> coloured("not run")
    '<span class="verdict not-run">not run</span>'
    """
    return f'<span class="verdict {word.replace(" ", "-")}">{word}</span>'


def cell(text: str) -> str:
    """Text as it may stand in a cell of a table.

    >>> cell("a | b *")
    'a \\\\| b \\\\*'
    """
    return text.replace("|", "\\|").replace("\n", " ").replace("*", "\\*")
