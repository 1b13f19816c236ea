"""The HTTP service of Sojourn."""

from importlib.metadata import version

__version__ = version("sojourn-api")
