"""sojourn.duckdb and views.sql: what DuckDB alone needs to read a publication from a folder or over HTTP.

A view names its files below the variable ``sojourn_url``; else one of the database, which is attached over HTTP too,
below the URL that was given to `sojourn publish`, and one of ``views.sql`` below the present folder, where it needs no
``httpfs``. So the same file serves a copy that has moved. The columns carry their descriptions as
comments, and two tables list datasets and columns. It is written in the storage format of DuckDB 1.2, which every
later version reads, and the same publication gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from sojourn_api.catalogue import identifier
from sojourn_api.publication.declaration import Publication, PublishedDataset
from sojourn_api.publication.marts import literal

DATABASE = "sojourn.duckdb"
VIEWS = "views.sql"
VARIABLE = "sojourn_url"
STORAGE_VERSION = "v1.2.0"
ROW_GROUP_ROWS = 2048


def _base(place: str) -> str:
    return f"coalesce(getvariable('{VARIABLE}'), {literal(place)})"


def _statements(dataset: PublishedDataset, base: str) -> list[str]:
    name = identifier(dataset.name)
    files = ", ".join(f"{base} || {literal('/' + file.path)}" for file in dataset.files)
    described = dataset.dataset
    text = f"{described.description} One row: {described.grain}.".strip()
    statements = [
        f"create or replace view {name} as select * from read_parquet([{files}], hive_partitioning = false)",
        f"comment on view {name} is {literal(text)}",
    ]
    for column in described.columns:
        unit = f" [{column.unit}]" if column.unit else ""
        if column.description or unit:
            comment = literal(f"{column.description}{unit}".strip())
            statements.append(f"comment on column {name}.{column.sql} is {comment}")
    return statements


def view_statements(publication: Publication, place: str) -> list[str]:
    """Return the statements that make the views of files below a place, with comments on them and on their columns."""
    base = _base(place)
    return [statement for dataset in publication.datasets for statement in _statements(dataset, base)]


def write_views(folder: Path, publication: Publication) -> None:
    """Write views.sql, which makes the views in any database of DuckDB."""
    where = publication.url or "https://host/folder"
    head = [
        f"-- Views over the datasets of build {publication.build_id}, for DuckDB 1.2 or later.",
        f"-- Outside this folder: set variable {VARIABLE} = '{where}'; before you read this file.",
    ]
    body = [f"{statement};" for statement in view_statements(publication, ".")]
    (folder / VIEWS).write_text("\n".join([*head, *body]) + "\n", encoding="utf-8")


def write_database(folder: Path, publication: Publication) -> None:
    """Write sojourn.duckdb over the Parquet files that are in the folder."""
    with duckdb.connect(config={"threads": 1}) as connection:
        # Views are bound when they are made, against the files here.
        connection.execute(f"set variable {VARIABLE} = {literal(str(folder))}")
        # DuckDB does not clear what stays free in a block of texts, unless the block is the last of its row group.
        # Small groups have one block each, so that the bytes are the same each time.
        options = f"storage_version '{STORAGE_VERSION}', row_group_size {ROW_GROUP_ROWS}"
        connection.execute(f"attach {literal(str(folder / DATABASE))} as p ({options})")
        connection.execute("use p")
        # Which compression DuckDB finds for texts differs from time to time, and with it the bytes of the file.
        connection.execute("set force_compression = 'uncompressed'")
        connection.execute(
            "create table catalogue_dataset (dataset varchar, grain varchar, key varchar[], rows bigint)"
        )
        connection.execute(
            "create table catalogue_column (dataset varchar, column_name varchar, type varchar, unit varchar,"
            " nullable boolean, description varchar)"
        )
        datasets = [
            [one.name, one.dataset.grain, list(one.dataset.key), one.dataset.rows] for one in publication.datasets
        ]
        columns = [
            [one.name, column.name, column.type, column.unit, column.nullable, column.description]
            for one in publication.datasets
            for column in one.dataset.columns
        ]
        if datasets:
            connection.executemany("insert into catalogue_dataset values (?, ?, ?, ?)", datasets)
            connection.executemany("insert into catalogue_column values (?, ?, ?, ?, ?, ?)", columns)
        for statement in view_statements(publication, publication.url or "."):
            connection.execute(statement)
        connection.execute("use memory")
        connection.execute("checkpoint p")
        connection.execute("detach p")
