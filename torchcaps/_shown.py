"""Text of others, such as names of files, classes and runs, on its way to a terminal."""

import re
import sys

# C0 but for tabs and line ends, DEL and C1; what turns the direction of text; halves of characters.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str) -> str:
    r"""Text in which nothing commands a terminal: control and bidirectional characters are written as `\u001b`.

    All other characters stay, whatever their script. Tabs and line ends stay too: a name that must not begin a line
    of its own goes through `shown_name`. JSON that `json.dumps` wrote is still the same JSON.

    >>> print(shown("\x1b[31mcat"), shown("Katze, 猫, قطة"))
    \u001b[31mcat Katze, 猫, قطة
    """
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shown_name(name: str) -> str:
    r"""A name as `shown`, on one line.

    >>> print(shown_name("cat\n100 %"))
    cat\u000a100 %
    """
    return re.sub("[\t\n\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", shown(name))


def print_shown(text: str) -> None:
    """Print text as `shown` shows it."""
    sys.stdout.write(f"{shown(text)}\n")
