"""Removal of a host's rows from Parquet files: whole files are rewritten, row group by row group."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn_ingest.hosts_in_text import naming
from sojourn_ingest.lake.parquet_files import parquet_writer
from sojourn_ingest.schema import TABLES

HOST_KEY_SUFFIX = "_host_key"
# Rows of these tables belong to a flow of the same source, and go with it.
FLOW = "flow"
OUTCOMES = "ingest_outcome"
FLOW_KEY = "flow_id"

Selection = Callable[[pa.RecordBatch | pa.Table], pa.Array]


def host_key_columns(table: str) -> list[str]:
    """Return the columns of a table that hold host keys."""
    return [column.name for column in TABLES[table].columns if column.name.endswith(HOST_KEY_SUFFIX)]


def host_text_columns(table: str) -> list[str]:
    """Return the columns of a table that hold texts in which host keys may stand; outcomes have none."""
    return [] if table == OUTCOMES else [column.name for column in TABLES[table].columns if column.holds_texts]


def naming_columns(table: str) -> list[str]:
    """Return the columns of a table that may name hosts, as their key or within a text."""
    return [*host_key_columns(table), *host_text_columns(table)]


def belongs_to_flow(table: str) -> bool:
    """Return whether rows of a table belong to a flow and name no host themselves."""
    return table != FLOW and not host_key_columns(table) and FLOW_KEY in {c.name for c in TABLES[table].columns}


def of_hosts(table: str, host_keys: Collection[str]) -> Selection:
    """Return what selects the rows of a table that name one of the hosts, as their key or within a text."""
    wanted = pa.array(sorted(host_keys), pa.string())
    is_named_in = naming(host_keys)

    def select(rows: pa.RecordBatch | pa.Table) -> pa.Array:
        selected: pa.Array = pa.repeat(pa.scalar(False), rows.num_rows)
        for name in host_key_columns(table):
            selected = pc.or_(selected, pc.is_in(rows.column(name), wanted))
        for name in host_text_columns(table):
            # Texts repeat a lot; only distinct ones are looked through.
            texts = [text for text in pc.unique(rows.column(name)).to_pylist() if text and is_named_in(text)]
            if texts:
                selected = pc.or_(selected, pc.is_in(rows.column(name), pa.array(texts, pa.string())))
        return selected

    return select


def of_flows(flow_ids: Collection[int]) -> Selection:
    """Return what selects the rows that belong to one of the flows."""
    wanted = pa.array(sorted(flow_ids), pa.int64())
    return lambda rows: pc.is_in(rows.column(FLOW_KEY), wanted)


def of_source(content_hash: str, decoder_version: str, source_path: str | None = None) -> Selection:
    """Return the condition that selects one commit's rows in a shared file; for outcomes it includes their path."""

    def select(rows: pa.RecordBatch | pa.Table) -> pa.Array:
        if source_path is not None:
            of_content = pc.equal(rows.column("content_hash"), content_hash)
            of_content = pc.and_(of_content, pc.equal(rows.column("source_path"), source_path))
        else:
            of_content = pc.equal(rows.column("source_hash"), content_hash)
        return pc.and_(of_content, pc.equal(rows.column("decoder_version"), decoder_version))

    return select


def both(first: Selection, second: Selection) -> Selection:
    """Return what selects the rows that both select."""
    return lambda rows: pc.and_(first(rows), second(rows))


def either(first: Selection, second: Selection) -> Selection:
    """Return what selects the rows that either selects."""
    return lambda rows: pc.or_(first(rows), second(rows))


def neither(selected: Selection) -> Selection:
    """Return what selects the other rows."""
    return lambda rows: pc.invert(selected(rows))


def selected_values(path: Path, columns: Collection[str], select: Selection, wanted: str) -> list[Any]:
    """Return the values of one column in the rows of a file that are selected, reading only the given columns."""
    values: list[Any] = []
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=sorted({*columns, wanted})):
            values += batch.column(wanted).filter(select(batch)).to_pylist()
    return values


def rewrite_without(path: Path, target: Path, select: Selection) -> int:
    """Write the rows of a file that are not selected to ``target``, and return how many there are.

    A target without any row is not left behind.
    """
    rows = 0
    with pq.ParquetFile(path) as file, parquet_writer(target, file.schema_arrow, compression="zstd") as writer:
        for group in range(file.num_row_groups):
            content = file.read_row_group(group)
            kept = content.filter(pc.invert(select(content)))
            if kept.num_rows:
                writer.write_table(kept)
                rows += kept.num_rows
    if rows == 0:
        target.unlink()
    return rows
