"""The datasets of a build as its catalog.json describes them; identifiers in SQL come from here only."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cached_property
from typing import Literal

from sojourn_api.problems import ProblemError, quoted
from sojourn_api.suggestions import did_you_mean
from sojourn_snapshot import catalogue as snapshot_catalogue

ValueKind = Literal["integer", "real", "decimal", "text", "boolean", "timestamp", "date", "other"]

INTEGER_RANGES: dict[str, tuple[int, int]] = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "UHUGEINT": (0, 2**128 - 1),
}
_KINDS: dict[str, ValueKind] = {
    **dict.fromkeys(INTEGER_RANGES, "integer"),
    "FLOAT": "real",
    "DOUBLE": "real",
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_S": "timestamp",
    "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "DATE": "date",
}
_DECIMAL = re.compile(r"^DECIMAL\(([0-9]+),([0-9]+)\)$")


def kind_of(duckdb_type: str) -> ValueKind:
    """Return how values of a DuckDB type are compared; ``other`` for types without a simple order."""
    if _DECIMAL.match(duckdb_type):
        return "decimal"
    return _KINDS.get(duckdb_type, "other")


def fits_decimal(value: Decimal, duckdb_type: str) -> bool:
    """Return whether a column of a type such as ``DECIMAL(10,2)`` can hold a value without rounding it."""
    match = _DECIMAL.match(duckdb_type)
    if match is None or not value.is_finite():
        return False
    width, scale = int(match[1]), int(match[2])
    limit = 10 ** (width - scale)
    _, digits, exponent = value.as_tuple()
    beyond = -int(exponent) - scale
    return -limit < value < limit and (beyond <= 0 or not any(digits[-beyond:]))


def identifier(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


class Column(snapshot_catalogue.Column):
    """A column of a dataset."""

    @property
    def kind(self) -> ValueKind:
        """How values of the column are parsed and compared."""
        return kind_of(self.type)

    @property
    def sql(self) -> str:
        """The column as a quoted SQL identifier."""
        return identifier(self.name)


class Dataset(snapshot_catalogue.Dataset):
    """A table of the build: what one row is, what identifies it, and its columns."""

    columns: tuple[Column, ...]

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns by name, in the order of the catalogue."""
        return {column.name: column for column in self.columns}

    @property
    def sql(self) -> str:
        """The dataset as a quoted SQL identifier."""
        return identifier(self.name)


class Catalogue(snapshot_catalogue.Catalogue):
    """All datasets of a build."""

    datasets: tuple[Dataset, ...]

    def dataset(self, name: str) -> Dataset:
        """Return the dataset of a name, or raise the problem that lists the known names."""
        for dataset in self.datasets:
            if dataset.name == name:
                return dataset
        names = sorted(dataset.name for dataset in self.datasets)
        raise ProblemError(
            "unknown-dataset",
            f"{quoted(name)} is not a dataset of this build{did_you_mean(name, names)}",
            dataset=name[:200],
            known=names,
        )
