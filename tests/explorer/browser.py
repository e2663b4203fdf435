"""What tests do in a browser; where there is none, they are skipped with the reason.

Where TORCHCAPS_BROWSER=required, as in continuous integration, a missing browser fails them instead.
"""

import os
import re

import pytest

REQUIRED = os.environ.get("TORCHCAPS_BROWSER") == "required"


def missing(what):
    said = f"{what} is missing: apt-get install chromium npm"
    pytest.fail(said) if REQUIRED else pytest.skip(said)


class Visit:
    """A page that remembers what went wrong on it, and whom it asked."""

    def __init__(self, context, address):
        self.page, self.address, self.wrong = context.new_page(), address, []
        self.page.set_default_timeout(30_000)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: said.type in ("error", "warning") and self._said(said))
        self.page.on("request", lambda request: self._asked(request.url))

    def _said(self, said):
        if not re.search("status of 4(13|22)", said.text):  # the browser's own note of an upload that was refused
            self.wrong.append(said.text)

    def _asked(self, url):
        if not url.startswith((self.address, "data:", f"blob:{self.address}")):
            self.wrong.append(f"asked {url}")

    def open(self, link=""):
        self.page.goto(self.address + link)
        self.page.wait_for_selector("body[data-ready=yes]")
        return self.page


def answer(page, panel=0):
    """The class that a network names."""
    return page.locator(".panel .answer").nth(panel).inner_text()


def tree(page, panel=0):
    """The tree as it is drawn, without who has the focus."""
    return re.sub(r'tabindex="-?\d"', "", page.locator("svg.tree").nth(panel).inner_html())


def seen(page):
    """How many pictures followed an event so far."""
    return page.evaluate("() => performance.getEntriesByName('seen').length")


def until_seen(page, before):
    """Wait for the picture that follows an event."""
    page.wait_for_function("(n) => performance.getEntriesByName('seen').length > n", arg=before)


def slide(page, selector, value):
    """Move a slider, and wait for what it shows."""
    before = seen(page)
    page.locator(selector).evaluate(
        "(element, value) => { element.value = value; element.dispatchEvent(new Event('input', { bubbles: true })); }",
        value,
    )
    until_seen(page, before)
