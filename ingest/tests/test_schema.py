"""The declarations of the lake's tables hold to their own rules."""

import pyarrow as pa
import pytest

from sojourn_ingest.schema import TABLES, Column, Table

SUFFIX_UNITS = {
    "_ns": "ns", "_us": "us", "_ms": "ms", "_bytes": "bytes", "_bps": "bit/s", "_ratio": "ratio", "_hz": "Hz",
    "_bdp": "BDP", "_ppm": "ppm",
}  # fmt: skip

EVERY_COLUMN = [(table.name, column) for table in TABLES.values() for column in table.columns]


@pytest.mark.parametrize(("table", "column"), EVERY_COLUMN, ids=[f"{t}.{c.name}" for t, c in EVERY_COLUMN])
def test_unit_is_what_the_name_says(table: str, column: Column) -> None:
    for suffix, unit in SUFFIX_UNITS.items():
        if column.name.endswith(suffix):
            assert column.unit == unit
    assert column.description


def test_same_name_means_same_type_and_unit_everywhere() -> None:
    seen: dict[str, tuple[pa.DataType, str]] = {}
    for table, column in EVERY_COLUMN:
        assert seen.setdefault(column.name, (column.type, column.unit)) == (column.type, column.unit), (
            f"{table}.{column.name}"
        )


def test_key_columns_are_never_null() -> None:
    for table in TABLES.values():
        nullable = {column.name for column in table.columns if column.nullable}
        assert not nullable & set(table.key), table.name


def test_a_table_cannot_declare_a_column_twice_or_a_key_it_has_not() -> None:
    column = Column("x", pa.int64(), "a column")
    with pytest.raises(ValueError, match="twice"):
        Table("t", "nobody", "one x", ("x",), (column, column))
    with pytest.raises(ValueError, match="not declared"):
        Table("t", "nobody", "one x", ("y",), (column,))
