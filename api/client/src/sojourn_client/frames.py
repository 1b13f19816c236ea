"""Arrow streams as tables, and tables as data frames; the libraries are loaded when something asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn_client.errors import ApiError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

ARROW = "application/vnd.apache.arrow.stream"


def table_of(stream: bytes) -> pa.Table:
    """Return the rows of an Arrow stream.

    Raises
    ------
    ApiError
        If the stream is damaged or cut short.
    """
    import pyarrow as pa

    try:
        return pa.ipc.open_stream(stream).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise ApiError(f"Sojourn API sent an Arrow stream that cannot be read: {error}") from error


def joined(pages: Sequence[pa.Table]) -> pa.Table:
    """Return pages as one table."""
    import pyarrow as pa

    return pa.concat_tables(pages)


def arrow_of(table: pa.Table, build_id: str) -> pa.Table:
    """Return a table whose schema names the build; its fields have their units."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), b"sojourn.build_id": build_id.encode()})


def polars_of(table: pa.Table, build_id: str) -> pl.DataFrame:
    """Return a table as a data frame of Polars, which keeps neither units nor build."""
    import polars as pl

    # rechunk: pages become one block, as after any other read.
    return pl.DataFrame(pl.from_arrow(table, rechunk=True))


def frame_of(table: pa.Table, build_id: str) -> pd.DataFrame:
    """Return a table as a data frame; `attrs` has the build and the columns' units."""
    frame: pd.DataFrame = table.to_pandas()
    frame.attrs["build_id"] = build_id
    frame.attrs["units"] = {
        field.name: (field.metadata or {}).get(b"unit", b"").decode() or None for field in table.schema
    }
    return frame
