"""The HTTP service of Sojourn."""

__version__ = "0.1.0"
