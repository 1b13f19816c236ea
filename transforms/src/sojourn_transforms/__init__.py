"""The warehouse of Sojourn: dbt builds, snapshots, statistics."""

__version__ = "0.1.0"
