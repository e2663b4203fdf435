"""Error texts without the folders of the machine on which the errors arose: stored results are public."""

import re

ELIDED = "…"
_PACKAGES = (
    re.compile(r".*[/\\](?:site|dist)-packages[/\\](.+)$"),
    re.compile(r".*[/\\]lib[/\\]python3\.\d+[/\\](.+)$"),
    re.compile(r".*[/\\](torchcaps[/\\].+\.py)$"),
)
_START = r"(?:[A-Za-z]:[\\/]|~[\\/]|/(?![/~\s]))"
_IN_A_NAME = r"[^\s\"'()<>\[\]{},;:]"
_PATH = re.compile(
    rf"""(?<="){_START}[^"\n]+(?=")"""  # quoted paths may have spaces
    rf"|(?<='){_START}[^'\n]+(?=')"
    rf"|(?<![\w.:/\\<>~{ELIDED}-])(?<!url: ){_START}(?={_IN_A_NAME}*[\\/]){_IN_A_NAME}+"
)


def without_folders(text: str) -> str:
    r"""A text in which paths begin at their package, or are a file's name alone.

    Addresses of the web stay as they are, and so do relative paths.

    >>> without_folders('File "/home/me/torchcaps/torchcaps/bench/perform.py", line 69')
    'File "torchcaps/bench/perform.py", line 69'
    >>> without_folders("put it into /home/me/.cache/torchcaps/cifar100; or use 'glyphs'")
    "put it into …/cifar100; or use 'glyphs'"
    """
    return _PATH.sub(_shortened, text)


def _shortened(found: re.Match[str]) -> str:
    path = found.group()
    kept = path.rstrip("/\\.")
    for pattern in _PACKAGES:
        if inside := pattern.match(kept):
            return inside[1] + path[len(kept) :]
    name = re.split(r"[/\\]", kept)[-1]
    return f"{ELIDED}/{name}{path[len(kept) :]}"
