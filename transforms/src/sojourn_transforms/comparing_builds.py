"""What two installations hold, row for row: the one comparison by which engines, versions and reruns are held equal.

Counts, integers, strings, flags and bins must be equal; doubles within a relative tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from sojourn_ingest.command_line import no_installation
from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_process.parquet_sql import parquet_rows
from sojourn_process.printable import counted
from sojourn_snapshot.catalogue import CATALOGUE, Catalogue, Dataset, read_catalogue
from sojourn_snapshot.files import mart_paths
from sojourn_snapshot.pointer import read_pointer

RELATIVE_TOLERANCE = 1e-9
#: When an attempt was made and how long it took differ from run to run by nature.
NOT_COMPARED = {"ingest_outcome": frozenset(("started_ns", "duration_ms"))}
EXAMPLES_SHOWN = 1


@dataclass(frozen=True)
class Difference:
    """One way in which a relation differs; ``rows`` is in how many rows, 0 if it is of the relation as a whole."""

    relation: str
    what: str
    rows: int = 0
    example: str = ""

    def __str__(self) -> str:
        rows = f" in {counted(self.rows, 'row')}" if self.rows else ""
        example = f", such as {self.example}" if self.example else ""
        return f"{self.relation}: {self.what}{rows}{example}"


@dataclass(frozen=True)
class Relation:
    """A relation on both sides: statements that select it, and its key."""

    name: str
    left: str
    right: str
    key: tuple[str, ...]
    not_compared: frozenset[str] = frozenset()


@dataclass
class Compared:
    """What was compared, and every difference found."""

    rows: dict[str, int]
    differences: list[Difference]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _columns(connection: duckdb.DuckDBPyConnection, statement: str) -> dict[str, str]:
    described = connection.execute(f"describe {statement}").fetchall()
    return {str(row[0]): str(row[1]) for row in described}


def _is_different(column: str, type_name: str) -> str:
    left, right = f"a.{_quoted(column)}", f"b.{_quoted(column)}"
    if type_name not in ("DOUBLE", "FLOAT"):
        return f"{left} is distinct from {right}"
    near = f"abs({left} - {right}) <= {RELATIVE_TOLERANCE} * greatest(abs({left}), abs({right}))"
    return f"({left} is distinct from {right} and not coalesce({near}, false))"


def _count(connection: duckdb.DuckDBPyConnection, statement: str) -> int:
    row = connection.execute(f"select count(*) from ({statement})").fetchone()
    return int(row[0]) if row else 0


def _examples(connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    cursor = connection.execute(f"select * from ({statement}) order by all limit {EXAMPLES_SHOWN}")
    names = [item[0] for item in cursor.description or []]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return "; ".join(", ".join(f"{name}={value!r}" for name, value in row.items()) for row in rows)


def compare_relation(connection: duckdb.DuckDBPyConnection, relation: Relation) -> tuple[int, list[Difference]]:
    """Return the rows of the left side, and every difference between the two."""
    differences: list[Difference] = []
    types, other = _columns(connection, relation.left), _columns(connection, relation.right)
    if types != other:
        mine, theirs = set(types.items()) - set(other.items()), set(other.items()) - set(types.items())
        differences.append(Difference(relation.name, f"columns differ: {sorted(mine)} against {sorted(theirs)}"))
    for side, statement in (("left", relation.left), ("right", relation.right)):
        keys = ", ".join(map(_quoted, relation.key))
        doubled = f"select {keys}, count(*) as rows from ({statement}) group by {keys} having count(*) > 1"
        if rows := _count(connection, doubled):
            differences.append(
                Difference(relation.name, f"key is not unique on the {side}", rows, _examples(connection, doubled))
            )
    if differences:
        # Rows cannot be put side by side.
        return _count(connection, relation.left), differences
    on = " and ".join(f"a.{_quoted(name)} is not distinct from b.{_quoted(name)}" for name in relation.key)
    keys = ", ".join(f"a.{_quoted(name)}" for name in relation.key)
    for what, one, two in (("only on the left", "left", "right"), ("only on the right", "right", "left")):
        only = f"select {keys} from ({getattr(relation, one)}) a anti join ({getattr(relation, two)}) b on {on}"
        if rows := _count(connection, only):
            differences.append(Difference(relation.name, what, rows, _examples(connection, only)))
    for column, type_name in types.items():
        if column in relation.key or column in relation.not_compared:
            continue
        pair = (
            f"a.{_quoted(column)} as {_quoted(f'{column} left')}, b.{_quoted(column)} as {_quoted(f'{column} right')}"
        )
        joined = f"select {keys}, {pair} from ({relation.left}) a join ({relation.right}) b on {on}"
        differing = f"{joined} where {_is_different(column, type_name)}"
        if rows := _count(connection, differing):
            differences.append(Difference(relation.name, f"{column} differs", rows, _examples(connection, differing)))
    return _count(connection, relation.left), differences


def lake_relations(left: Lake, right: Lake) -> list[Relation]:
    """Return every lake table on both sides."""
    return [
        Relation(
            f"lake {table.name}",
            live_rows_sql(table, left),
            live_rows_sql(table, right),
            table.key if "source_hash" in table.key or table.name == "ingest_outcome" else ("source_hash", *table.key),
            NOT_COMPARED.get(table.name, frozenset()),
        )
        for table in TABLES.values()
    ]


def _catalogue(snapshot: Path) -> dict[str, Dataset]:
    return {dataset.name: dataset for dataset in read_catalogue(snapshot, Catalogue).datasets}


def mart_relations(left: Path, right: Path) -> tuple[list[Relation], list[Difference]]:
    """Return the marts of two snapshots on both sides, and those that only one of them has."""
    mine, theirs = _catalogue(left), _catalogue(right)
    missing = [
        Difference(f"mart {name}", "only on the left" if name in mine else "only on the right")
        for name in sorted(set(mine) ^ set(theirs))
    ]

    def statement(snapshot: Path, name: str) -> str:
        return f"select * from {parquet_rows(mart_paths(snapshot, name))}"

    both = [
        Relation(f"mart {name}", statement(left, name), statement(right, name), mine[name].key)
        for name in sorted(set(mine) & set(theirs))
    ]
    return both, missing


def compare_relations(relations: list[Relation], so_far: list[Difference] | None = None) -> Compared:
    """Compare relations one after the other."""
    compared = Compared({}, list(so_far or []))
    with duckdb.connect() as connection:
        for relation in relations:
            rows, differences = compare_relation(connection, relation)
            compared.rows[relation.name] = rows
            compared.differences += differences
    return compared


def compare_builds(left: Path, right: Path) -> Compared:
    """Compare two installations: every lake table, and every mart of what they serve.

    Parameters
    ----------
    left, right : Path
        The folder of everything generated of an installation, or one snapshot, of which only the marts are compared.

    Raises
    ------
    FileNotFoundError
        If one of them is neither, or they have no dataset in common.
    """
    snapshots = [_snapshot(folder) for folder in (left, right)]
    lakes = [Paths(folder).lake for folder in (left, right)]
    relations: list[Relation] = []
    missing: list[Difference] = []
    if all(lake.is_dir() for lake in lakes):
        relations += lake_relations(*(Lake(lake) for lake in lakes))
    if snapshots[0] is not None and snapshots[1] is not None:
        marts, missing = mart_relations(snapshots[0], snapshots[1])
        relations += marts
    elif snapshots != [None, None]:
        missing = [Difference("marts", f"published only on the {'left' if snapshots[0] else 'right'}")]
    for folder, snapshot, lake in zip((left, right), snapshots, lakes, strict=True):
        if snapshot is None and not lake.is_dir():
            raise FileNotFoundError(f"{folder}: {no_installation(folder)}, or a snapshot below it")
    if not relations:
        lacking = right if snapshots[0] else left
        raise FileNotFoundError(f"{lacking} has a lake but no build; run sojourn build --var {lacking}")
    return compare_relations(relations, missing)


def _snapshot(folder: Path) -> Path | None:
    if (folder / CATALOGUE).is_file():
        return folder
    snapshots = Paths(folder).snapshots
    published = read_pointer(snapshots)
    return None if published is None else snapshots / published.build_id
