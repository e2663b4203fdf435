"""What a page says, read back: rows of cells, texts by tag, pictures as numbers."""

import base64
import io
from html.parser import HTMLParser

import numpy as np
from PIL import Image

from torchcaps.report._page import render

CELLS = ("td", "th")


class Told(HTMLParser):
    """All rows as lists of what stands in their cells, and by tag all texts inside of such tags."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.texts, self.tags, self.within = [], {}, [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        elif tag in CELLS:
            self.rows[-1].append("")
        self.texts.setdefault(tag, []).append("")
        self.within.append(tag)

    def handle_endtag(self, tag):
        while self.within.pop() != tag:
            pass

    def handle_data(self, data):
        for tag in set(self.within):
            self.texts[tag][-1] = " ".join(f"{self.texts[tag][-1]} {data}".split())
        if any(tag in self.within for tag in CELLS):
            self.rows[-1][-1] = " ".join(f"{self.rows[-1][-1]} {data}".split())

    def attributes(self, tag, name):
        """One attribute of all tags that have it."""
        return [attrs[name] for found, attrs in self.tags if found == tag and name in attrs]


def told(*sections):
    """A page of these sections, read."""
    return Told(render(sections, title="T", lead="L"))


def pixels(address):
    """The numbers of a picture that stands in a page: rows × columns × red, green and blue."""
    data = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(data)))
