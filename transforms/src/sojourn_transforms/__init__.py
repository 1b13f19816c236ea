"""The warehouse of Sojourn: dbt builds, snapshots, statistics."""

from importlib.metadata import version

__version__ = version("sojourn-transforms")
