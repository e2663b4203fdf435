"""Every link inside the site leads to a page and to a place on it; those to elsewhere are counted, or listed.

python -m pages.links build/site --outside
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the places on it that can be linked to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what matters of a tag."""
        given = dict(attrs)
        self.places.update(value for name in ("id", "name") if (value := given.get(name)))
        target = given.get("href") if tag == "a" else given.get("src") if tag in ("img", "script") else None
        if target:
            self.links.append(target)


def check(site: Path) -> tuple[list[str], list[str]]:
    """Links that lead nowhere, and those that lead out of the site."""
    pages = {file.resolve(): Page(file) for file in sorted(site.rglob("*.html")) if file.name != "404.html"}
    broken, outside = [], set[str]()
    for file, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme or link.startswith("//"):
                outside.add(link)
            elif not _leads_somewhere(file, link, pages):
                broken.append(f"{file.relative_to(site.resolve())}: {link}")
    return broken, sorted(outside)


def _leads_somewhere(file: Path, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].places


def report(site: Path, *, everything: bool) -> Iterator[str]:
    """What there is to say of a site."""
    broken, outside = check(site)
    yield from (f"leads nowhere: {link}" for link in broken)
    yield from (f"leads outside: {link}" for link in outside if everything)
    yield f"{len(broken)} links lead nowhere, {len(outside)} outside"


if __name__ == "__main__":
    where = Path(sys.argv[1])
    for line in report(where, everything="--outside" in sys.argv):
        print(line)
    sys.exit(bool(check(where)[0]))
