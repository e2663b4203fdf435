"""Lengths of time for people."""


def span(seconds: float) -> str:
    """A length of time in the units one would say it in.

    >>> span(42.0), span(300.0), span(8000.0)
    ('42 s', '5 min', '2 h 13 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
