"""Descriptions of tables of connections: their data set, and how their columns map to the table `connection`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, Field, model_validator

from sojourn_ingest.formats.content.description_file import (
    MOST_TABLES,
    Identifier,
    Label,
    Name,
    describes,
    parse_as,
    text_of,
)
from sojourn_ingest.formats.interface import Context, Facts, Format, Reading, Source
from sojourn_ingest.schema import table

MARKER = "sojourn_connections: 1"

# How long, or how much, the unit is that a table states; the lake column's unit is in its declaration.
DURATIONS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10}
BYTES = {"bytes": 1.0, "kB": 1e3, "KiB": 1024.0, "MB": 1e6, "MiB": 2.0**20}
TIMES = ("ns", "us", "ms", "s", "rfc3339", "utc")

RAW = {"client_address": pa.string(), "client_host": pa.string(), "client_name": pa.string()}
NOT_MAPPED = {
    "source_hash", "decoder_version", "connection_number", "dataset", "client_host_key", "client_prefix_key",
    "access_technology_rule", "rtt_basis", "sample_basis", "synthetic",
}  # fmt: skip
MAPPED = {column.name: column for column in table("connection").columns if column.name not in NOT_MAPPED}


class ConnectionField(BaseModel, extra="forbid"):
    """How one column comes from one column of the table.

    ``null_when`` turns codes that mean "none" into null, ``codes`` translates (what it does not name is refused),
    ``unit`` says the table's unit, which becomes the lake column's.
    """

    source: str = Field(alias="from")
    unit: str | None = None
    null_when: list[str | int | float] = []
    codes: dict[str, Label] | None = None


class ConnectionTableMapping(BaseModel, extra="forbid"):
    """One kind of table. CSV is recognised by its exact header, JSON Lines and Parquet by having the columns named.

    ``header`` is only needed for CSV that has columns which no field uses.
    """

    name: Name
    header: list[str] | None = None
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    rtt_basis: Literal["smoothed", "raw", "kernel_minimum", "unknown"]
    sample_basis: Literal["rtt_samples", "polls", "unknown"]
    fields: dict[str, ConnectionField]

    @model_validator(mode="after")
    def _check(self) -> ConnectionTableMapping:
        unknown = sorted(set(self.fields) - set(MAPPED) - set(RAW))
        if unknown:
            raise ValueError(f"no column {', '.join(unknown)} to map to; expected one of {', '.join([*RAW, *MAPPED])}")
        if "start_ns" not in self.fields:
            raise ValueError("start_ns needs a mapping, because every connection has a time")
        if {"client_address", "client_host"} <= set(self.fields):
            raise ValueError("give client_address or client_host, not both")
        for name, mapping in self.fields.items():
            allowed = units_of(name)
            if allowed and mapping.unit not in allowed:
                raise ValueError(f"{name}: unit {mapping.unit!r} is not one of {', '.join(allowed)}")
            if not allowed and mapping.unit is not None:
                raise ValueError(f"{name} has no unit")
        missing = sorted(self.columns_used - set(self.header or self.columns_used))
        if missing:
            raise ValueError(f"table {self.name}: no column {', '.join(missing)} in its header")
        return self

    @property
    def columns_used(self) -> set[str]:
        """The table's columns that some field comes from."""
        return {mapping.source for mapping in self.fields.values()}


def units_of(name: str) -> tuple[str, ...]:
    """Return the units that a table may state for a column; none if it has no unit."""
    if name == "start_ns":
        return TIMES
    unit = MAPPED[name].unit if name in MAPPED else ""
    return tuple(DURATIONS) if unit in DURATIONS else tuple(BYTES) if unit in BYTES else ()


class ConnectionDescription(BaseModel, extra="forbid"):
    """A data set of connections, and its tables."""

    sojourn_connections: Literal[1]
    dataset: Identifier
    title: str
    description: str = ""
    citation: str | None = None
    licence: str
    url: str | None = None
    synthetic: bool
    #: A file is compared with each.
    tables: list[ConnectionTableMapping] = Field(min_length=1, max_length=MOST_TABLES)


@dataclass(frozen=True)
class KnownConnections:
    """A description with the file it came from."""

    description: ConnectionDescription
    path: Path
    content_hash: str

    @classmethod
    def load(cls, path: Path) -> KnownConnections:
        """Read a description file; raises InputError if it is not one."""
        text = path.read_bytes()
        return cls(parse_connection_description(text), path, hashlib.sha256(text).hexdigest())


def parse_connection_description(text: bytes) -> ConnectionDescription:
    """Return the description in ``text``.

    Raises
    ------
    InputError
        If it is not valid YAML, or not a description of connections.
    """
    return parse_as(ConnectionDescription, text, "connection description")


class ConnectionDescriptionFile(Format):
    """A description next to the tables it describes: connection_dataset."""

    name = "connection_description"
    holds_addresses = False
    version = "connection-description-1"

    def recognises(self, source: Source) -> bool:
        """Return whether the content carries the marker line."""
        return describes(source, MARKER)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the data set."""
        described = parse_connection_description(text_of(source))
        reading.records_read = 1
        reading.subject = f"connections:{described.dataset}"
        row: dict[str, Any] = {
            name: getattr(described, name) for name in ("dataset", "title", "citation", "licence", "url", "synthetic")
        }
        row["description"] = described.description.strip()
        schema = table("connection_dataset").arrow_schema()
        fields = [field for field in schema if field.name in row]
        yield "connection_dataset", pa.RecordBatch.from_pylist([row], schema=pa.schema(fields))
