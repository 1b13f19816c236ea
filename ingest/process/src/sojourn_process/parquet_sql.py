"""Parquet files in DuckDB's SQL: each as it is, whatever the folders above it are named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def path_pattern(path: Path) -> str:
    """Return the pattern that matches only one path: DuckDB takes every path as a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def parquet_rows(paths: Iterable[Path], *options: str) -> str:
    """Return the call of DuckDB's ``read_parquet`` for some files, with options such as ``union_by_name = true``.

    The columns are those of the files alone: DuckDB would take a folder ``country=DE`` above them for a column.
    """
    listing = ", ".join("'" + path_pattern(path).replace("'", "''") + "'" for path in paths)
    return f"read_parquet({', '.join([f'[{listing}]', 'hive_partitioning = false', *options])})"
