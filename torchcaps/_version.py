"""The version, alone so that everything may import it."""

__version__ = "0.1.0"
