"""Decoders and the Parquet lake of Sojourn."""

__version__ = "0.1.0"
