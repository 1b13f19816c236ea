"""CTEs that a statement selects from more than once, computed once, and those that choose few groups, computed first.

Spark writes a CTE out wherever it is selected from, and computes it as often; a chain of such CTEs grows with a power
of its length. DuckDB computes each once, and the models are written for that. Here such a CTE becomes a cached frame
as long as its statement runs, and the rest of the statement selects from that.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn_transforms.running.sql_text import TOKEN, without_comments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What makes rows fewer, or costs a sort: worth keeping however many rows are read.
REDUCES = re.compile(r"\bgroup\s+by\b|\bselect\s+distinct\b|\bover\s*\(", re.IGNORECASE)
#: What makes rows of other rows: worth keeping where few are read.
COMBINES = re.compile(r"\bjoin\b|\bunion\b", re.IGNORECASE)
#: What leaves few of the groups.
CHOOSES = re.compile(r"\bhaving\b", re.IGNORECASE)
HEAD = re.compile(r"\s*with\s", re.IGNORECASE)
NAME = re.compile(r"\s*(\w+)\s+as\s*\(", re.IGNORECASE)
_numbers = itertools.count()


@dataclass(frozen=True)
class Cte:
    """One CTE of a statement: its name, and the query in its parentheses."""

    name: str
    query: str


@dataclass(frozen=True)
class Piece:
    """SQL that is computed by itself: a CTE, kept as a view, or what is left of the statement, which has none.

    ``is_first``: it is computed before the next piece is planned.
    """

    view: str | None
    sql: str
    is_first: bool = False


def split(sql: str) -> tuple[list[Cte], str]:
    """Return the outermost CTEs of a statement without comments, in order, and the query that follows them.

    A statement that does not begin with CTEs, or is not understood, is returned whole.
    """
    head = HEAD.match(sql)
    if head is None:
        return [], sql
    ctes: list[Cte] = []
    position = head.end()
    while (named := NAME.match(sql, position)) is not None:
        end = _closing(sql, named.end())
        if end is None:
            return [], sql
        ctes.append(Cte(named[1], sql[named.end() : end]))
        rest = sql[end + 1 :].lstrip()
        position = len(sql) - len(rest)
        if not rest.startswith(","):
            return ctes, rest
        position += 1
    return [], sql


def _closing(sql: str, start: int) -> int | None:
    """Return where the parenthesis that is open at ``start`` closes."""
    depth = 1
    for token in TOKEN.finditer(sql, start):
        if token[0] == "(":
            depth += 1
        elif token[0] == ")":
            depth -= 1
            if depth == 0:
                return token.start()
    return None


def times_selected(name: str, queries: list[str]) -> int:
    """Return how often queries select from a CTE."""
    selected = re.compile(rf"\b(?:from|join)\s+{re.escape(name)}\b(?!\s*[.(])", re.IGNORECASE)
    return sum(len(selected.findall(query)) for query in queries)


def shared(ctes: list[Cte], query: str, *, reads_little: bool) -> set[str]:
    """Return the names of the CTEs that are selected from more than once and worth keeping.

    Of a statement that reads much, those that only combine rows are left as they are: reading a few
    columns of a table twice is cheaper than keeping all of them.
    """
    names = set()
    for place, cte in enumerate(ctes):
        # A name that is given twice, in a query within another too, is left to Spark.
        named = sum(len(re.findall(rf"\b{re.escape(cte.name)}\s+as\s*\(", part.query)) for part in ctes)
        later = [part.query for part in ctes[place + 1 :]] + [query]
        is_worth_it = REDUCES.search(cte.query) or (reads_little and COMBINES.search(cte.query))
        if is_worth_it and not named and times_selected(cte.name, later) > 1:
            names.add(cte.name)
    return names


def chosen(ctes: list[Cte], query: str) -> set[str]:
    """Return the names of the CTEs that choose few groups, with which many rows are then joined.

    Spark plans such a join before it knows how few they are, and sends all rows to where their groups are. Computed
    before, few groups are sent to the tasks that read the rows.
    """
    later = [[part.query for part in ctes[place + 1 :]] + [query] for place in range(len(ctes))]
    return {
        cte.name
        for cte, queries in zip(ctes, later, strict=True)
        if CHOOSES.search(cte.query)
        and any(re.search(rf"\bjoin\s+{re.escape(cte.name)}\b(?!\s*[.(])", text, re.IGNORECASE) for text in queries)
    }


def _needed(query: str, ctes: list[Cte]) -> list[Cte]:
    """Return the CTEs that a query reads, by way of others too, in their order."""
    queries, kept = [query], []
    for cte in reversed(ctes):
        if times_selected(cte.name, queries):
            kept.append(cte)
            queries.append(cte.query)
    return kept[::-1]


def _joined(ctes: list[Cte], query: str) -> str:
    """Return a query behind the CTEs that it reads; one that has CTEs of its own is put in parentheses."""
    if ctes and HEAD.match(query):
        query = f"select * from (\n{query}\n) as with_its_own"
    listed = ",\n".join(f"{cte.name} as ({cte.query})" for cte in ctes)
    return f"with {listed}\n{query}" if listed else query


def _kept_rows(session: SparkSession, frame: DataFrame) -> DataFrame:
    """Return a frame that reads what another keeps.

    Spark finds kept rows by comparing plans, before it writes CTEs out; a plan with CTEs in a statement with CTEs is
    never found equal. So the kept rows are named here.
    """
    from pyspark.sql import DataFrame as Frame

    dataset = getattr(session._jvm, "org.apache.spark.sql.classic.Dataset")
    return Frame(dataset.ofRows(session._jsparkSession, frame._jdf.queryExecution().withCachedData()), session)


def pieces(sql: str, *, reads_little: bool) -> list[Piece]:
    """Return a statement taken apart: the CTEs that are computed by themselves, in order, and then what is left."""
    ctes, query = split(without_comments(sql))
    first = set() if reads_little else chosen(ctes, query)
    names = first | shared(ctes, query, reads_little=reads_little)
    statements: list[Piece] = []
    earlier: list[Cte] = []
    for cte in ctes:
        if cte.name not in names:
            earlier.append(cte)
            continue
        view = f"shared_{next(_numbers)}_{cte.name}"
        statements.append(Piece(view, _joined(_needed(cte.query, earlier), cte.query), cte.name in first))
        earlier.append(Cte(cte.name, f"select * from {view}"))
    return [*statements, Piece(None, _joined(_needed(query, earlier), query) if statements else sql)]


@contextmanager
def frame_of(session: SparkSession, sql: str, *, reads_little: bool) -> Iterator[DataFrame]:
    """Yield what a statement selects; what it shares is kept until the context ends.

    Raises
    ------
    pyspark.errors.PySparkException
        If Spark refuses the statement.
    """
    kept: dict[str, DataFrame] = {}
    try:
        for piece in pieces(sql, reads_little=reads_little):
            frame = session.sql(piece.sql)
            if piece.view is None:
                yield frame
                continue
            kept[piece.view] = frame.persist()
            if piece.is_first:
                frame.count()
            _kept_rows(session, frame).createOrReplaceTempView(piece.view)
    finally:
        for view, frame in kept.items():
            session.catalog.dropTempView(view)
            frame.unpersist()
