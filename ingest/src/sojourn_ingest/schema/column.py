"""What a lake column and a lake table are.

PyArrow is imported at first use: the names of the tables stand in the help of commands, which does not need it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

#: Characters of an identifier or a label, at most.
LONGEST_LABEL = 256
LONGEST_TEXT = 4096
#: Columns of texts: sentences, addresses of pages, options of a queue discipline.
TEXTS = frozenset(
    (
        "aqm_parameters", "application_protocols_offered", "citation", "description", "duplicate_of",
        "exclusion_reason", "file_name", "message", "options", "part_of", "reason", "refused_by_reason", "source_path",
        "title", "url",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Column:
    """One column of a lake table.

    ``type_name`` is Arrow's name of its type. ``unit`` is empty for counts, names and flags; otherwise it is what the
    name's suffix says (``_ns``, ``_us``, ``_ms``, ``_bytes``, ``_bps``, ``_ratio``). ``codes`` are the only values a
    column of codes may have, ``bounds`` the least and greatest number that a table of a study may give.
    ``has_public_names``: names with dots, such as of files and web sites, are no hosts'.
    """

    name: str
    type_name: str
    description: str
    unit: str = ""
    nullable: bool = True
    source: str = ""
    codes: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    has_public_names: bool = False

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of its values."""
        import pyarrow as pa

        return pa.type_for_alias(self.type_name)

    @property
    def holds_texts(self) -> bool:
        """Whether texts of inputs stand in it, in which host keys stand for hosts.

        Names of servers are kept by an option of their own.
        """
        is_key = self.name.endswith(("_hash", "_key", "_version")) or self.name in ("server_name", "rule_server_names")
        return self.type_name == "string" and not self.codes and not is_key

    @property
    def longest(self) -> int:
        """How many characters a text in it has at most."""
        return LONGEST_TEXT if self.name in TEXTS or self.name.endswith("_rule") else LONGEST_LABEL

    def arrow_field(self) -> pa.Field:
        """Return the Arrow field, with unit, meaning and source as its metadata."""
        import pyarrow as pa

        metadata = {"description": self.description}
        if self.unit:
            metadata["unit"] = self.unit
        if self.source:
            metadata["source"] = self.source
        return pa.field(self.name, self.type, nullable=self.nullable, metadata=metadata)


@dataclass(frozen=True)
class Table:
    """One table of the lake: its grain in words, its key, its columns, and who produces it."""

    name: str
    producer: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...] = field(repr=False)

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"table {self.name} declares a column twice")
        missing = set(self.key) - set(names)
        if missing:
            raise ValueError(f"table {self.name}: key columns {sorted(missing)} are not declared")

    def arrow_schema(self) -> pa.Schema:
        """Return the schema that every Parquet file of this table has."""
        return self._arrow_schema

    # Every file of every source asks for it.
    @cached_property
    def _arrow_schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([column.arrow_field() for column in self.columns])
