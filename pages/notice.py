"""The page about licences: the file NOTICE, as it ships."""

from pathlib import Path

NAME = "notice.md"
NOTICE = Path(__file__).parents[1] / "NOTICE"


def render() -> str:
    """The notice under a title; its headings and lists are Markdown as they are."""
    _, _, text = NOTICE.read_text().partition("\n")
    return f"# Licences\n\n{text}"
