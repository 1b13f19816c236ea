"""Decoders and the Parquet lake of Sojourn."""

from importlib.metadata import version

__version__ = version("sojourn-ingest")
