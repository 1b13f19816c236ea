"""A DuckDB connection to the build that is served from this machine, and to the facts that it was made of."""

from __future__ import annotations

from pathlib import Path

import duckdb

from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.paths import Paths
from sojourn_process.parquet_sql import parquet_rows
from sojourn_snapshot.catalogue import CATALOGUE, Catalogue, read_catalogue
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import mart_paths
from sojourn_snapshot.pointer import read_pointer

COLUMNS = "column_description"
"""The view that has unit and meaning of each column."""


def connect_local(var: Path | str | None = None, lake: bool = True) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view of each mart of the served build, and of each lake table in the schema ``lake``.

    Views read the files of that build and of the facts that are live now; a later build needs a new connection.
    Comments on the views say what a row is (``duckdb_views()``); the view ``column_description`` has the unit and the
    meaning of each column. Times are in UTC.

    Parameters
    ----------
    var : path, optional
        Folder of everything generated; $SOJOURN_VAR or ./var without it.
    lake : bool
        Whether to read what the lake holds, which takes a moment.

    Raises
    ------
    OperatorError
        If no build is published, or it is damaged.
    """
    paths = Paths.from_environment(None if var is None else Path(var))
    try:
        pointer = read_pointer(paths.snapshots)
        if pointer is None:
            raise OperatorError(
                f"no build published under {paths.snapshots}: run `sojourn build`, or give another folder"
            )
        folder = paths.snapshots / pointer.build_id
        catalogue = read_catalogue(folder, Catalogue)
        connection = duckdb.connect()
        connection.execute("set TimeZone = 'UTC'")
        for dataset in catalogue.datasets:
            _view(connection, dataset.name, mart_paths(folder, dataset.name))
            text = f"{dataset.description} One row: {dataset.grain}.".strip()
            connection.execute(f"comment on view {_name(dataset.name)} is {_text(text)}")
        _view_columns(connection, folder / CATALOGUE)
        if lake:
            _view_lake(connection, paths)
    except (DamagedSnapshotError, duckdb.IOException) as error:
        raise OperatorError(f"{str(error).splitlines()[0]}; build again with sojourn build --force") from error
    return connection


def _view(connection: duckdb.DuckDBPyConnection, name: str, files: list[Path]) -> None:
    connection.execute(f"create view {_name(name)} as select * from {parquet_rows(files)}")


def _view_columns(connection: duckdb.DuckDBPyConnection, catalogue: Path) -> None:
    """Make the view that describes the columns of all marts: comments on each would take a second."""
    column = "struct(name varchar, type varchar, unit varchar, description varchar)"
    form = f"{{datasets: 'struct(name varchar, columns {column}[])[]'}}"
    connection.execute(f"""
        create view {COLUMNS} as
        select dataset.name as table_name, one.name as column_name, one.type, one.unit, one.description
        from (
            select dataset, unnest(dataset.columns) as one
            from (
                select unnest(datasets) as dataset
                from read_json({_text(str(catalogue))}, columns = {form})
            )
        )
    """)
    connection.execute(f"comment on view {COLUMNS} is 'Units and meaning of the columns of all tables.'")


def _view_lake(connection: duckdb.DuckDBPyConnection, paths: Paths) -> None:
    # Imported here: it loads Arrow, and a build may be served where its lake is not.
    from sojourn_transforms.warehouse import view_lake

    if paths.lake_uri is not None or paths.lake.is_dir():
        view_lake(connection, paths.open_lake())


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
