"""Who may ask a chart for what: whoever only reads dashboards gets the expressions that charts have, and no other.

A request for a chart names its columns and metrics, and Superset takes an expression of SQL for each, whether or not a
chart has it. The same holds for operations on the rows, such as a histogram, and for annotation layers. Others bound
what any of these can do (`sojourn_superset.read_only`, `sojourn_superset.chart_bounds`); this bounds who writes one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from sqlglot import tokenize
from sqlglot.expressions import Query
from superset.errors import ErrorLevel, SupersetError, SupersetErrorType
from superset.exceptions import (
    QueryClauseValidationException,
    QueryObjectValidationError,
    SupersetSecurityException,
)
from superset.security import SupersetSecurityManager
from superset.sql.parse import SQLGLOT_DIALECTS, SQLStatement, sanitize_clause
from superset.utils.core import DTTM_ALIAS, get_user_id

from sojourn_superset.chart_bounds import MOST_PARTS, MOST_QUERIES, refuse_excess, refuse_large_answer
from sojourn_superset.operation_bounds import leaves
from sojourn_superset.readable_tables import note_statement, tables_after_in

#: Permissions of those who write expressions: into charts, which others then read, or in SQL Lab.
WRITING = (("can_write", "Chart"), ("can_execute_sql_query", "SQLLab"))
CLAUSES = ("where", "having")
#: Characters of a filter that is parsed to compare it with a request: it is, for each chart of a dataset.
LONGEST_CLAUSE = 4_000
#: Characters that are written in JSON as they are; and an escape of one of them, which hardly any program writes.
PLAIN = re.compile(r"[A-Za-z0-9_ .,()*]+")
ESCAPED = re.compile(r"\\u00(?:2[089aceACE]|3\d|[4-7])")
#: Characters of all filters that are parsed for a request, and of those like its own but for blanks and case.
LONGEST_PARSED = 20_000
LONGEST_ALIKE = 150_000
#: Parts of SQL between which blanks mean nothing. A comment ends with its line.
PARTS_OF_SQL = re.compile(
    r"""(?:'[^']*'?)+|(?:"[^"]*"?)+|(?:`[^`]*`?)+|\[[^]]*]?|--.*|[\w.]+|[(),]|(?:(?!--)[^\w.\s'"`[(),])+"""
)
REFUSAL = "no chart has this expression, operation or layer; without the permission to make charts, use those of charts"
OF_ANOTHER = "only the user who ran a statement in SQL Lab may use it"
#: Operations that Superset's pages derive from a chart's columns, for example for “Drill by”.
ARRANGING = frozenset({"pivot", "rename", "flatten", "rank", "boxplot"})
#: Texts of charts that are read at once.
TEXTS_HELD = 20
#: Kinds of older charts that are served.
OLDER_KINDS = ("world_map",)
#: Superset counts the rows of a drill to detail by it.
ROW_COUNT = "COUNT(*)"


def _within(value: Any) -> Iterator[str]:
    """Yield the expressions of all columns and metrics within a value of JSON."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        parts: Iterable[Any] = value
        # JSON has no other mappings, and to ask for Mapping takes twice the time.
        if isinstance(value, dict):
            expression = value.get("sqlExpression")
            if isinstance(expression, str) and expression:
                yield expression
            parts = value.values()
        waiting += [part for part in parts if isinstance(part, (dict, list, tuple)) and part]


def expressions_asked(query: Mapping[str, Any]) -> set[str]:
    """Return the expressions of a query of a chart; a column that is given as a text may be one too."""
    expressions = set(_within(query))
    for name in ("columns", "groupby"):
        expressions |= {column for column in query.get(name) or () if isinstance(column, str)}
    extras = query.get("extras") or {}
    return expressions | {clause for name in CLAUSES if (clause := extras.get(name))}


def of_no_chart(asked: Iterable[str], charts: Iterable[str], dialect: str) -> set[str]:
    """Return the expressions that are asked for and that no chart has, neither as it is nor as Superset writes it.

    Parameters
    ----------
    asked
        Expressions, and the clauses that browsers make of filters.
    charts
        Parameters of each chart, as JSON. Only one is looked at at a time, and none after all that is asked was found.
    dialect
        Of the SQL.
    """
    other = set(asked)
    words = {_words(each) for each in other}
    squeezed = {_squeezed(each) for each in other}
    # Browsers put each filter of a clause into brackets.
    asks_clause = any(each.startswith("(") for each in other)
    left, left_alike = LONGEST_PARSED, LONGEST_ALIKE
    alike: set[str] = set()
    later: set[str] = set()
    for text in charts:
        has_filters = asks_clause and ('"adhoc_filters"' in text or bool(ESCAPED.search(text)))
        may_have = any(_may_have(text, each) for each in other)
        if not (has_filters or may_have):
            continue
        chart = _mapping(text)
        clauses = _clauses(chart)
        other.difference_update(_within(chart) if may_have else (), clauses)
        for clause in clauses:
            if len(clause) > LONGEST_CLAUSE:
                continue
            if _squeezed(clause) in squeezed:
                # Others use up little of what is left with filters of their own: those with the same parts are one.
                parts = "\n".join(PARTS_OF_SQL.findall(clause))
                # A blank takes far less time to parse.
                cost = max(len(parts), len(clause) // 10)
                if parts not in alike and cost <= left_alike:
                    alike.add(parts)
                    left_alike -= cost
                    other.discard(_rewritten(clause, dialect))
            elif _words(clause) not in words:
                later.add(clause)
            elif other and len(clause) <= left:
                left -= len(clause)
                other.discard(_rewritten(clause, dialect))
        if not other:
            return other
    # Superset may write other words, such as IS NULL for ISNULL.
    for clause in sorted(later, key=lambda each: (len(each), each)):
        left -= len(clause)
        if left < 0 or not other:
            break
        other.discard(_rewritten(clause, dialect))
    return other


def _may_have(text: str, expression: str) -> bool:
    """Return whether JSON may have an expression, by a part that is written as it is, unless everything is escaped."""
    plain = max(PLAIN.findall(expression), key=len, default="")
    return plain in text or bool(ESCAPED.search(text))


def _clauses(chart: Mapping[str, Any]) -> set[str]:
    """Return the clauses that browsers make of a chart's filters."""
    filters = [each for each in _mappings(chart, "adhoc_filters") if each.get("expressionType") == "SQL"]
    clauses = set()
    for name in CLAUSES:
        own = [each.get("sqlExpression") for each in filters if str(each.get("clause", "WHERE")).lower() == name]
        clauses |= {" AND ".join(f"({each})" for each in own)} if own else set()
    return clauses


def _squeezed(clause: str) -> str:
    """Return a clause without blanks and in lower case, in which Superset's writing mostly differs."""
    return "".join(clause.split()).lower()


def _words(clause: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", clause.lower()))


@lru_cache(1_000)
def _rewritten(clause: str, dialect: str) -> str:
    """Return a clause as Superset writes it again; or as it is, if it cannot be parsed."""
    try:
        return str(sanitize_clause(clause, dialect))
    except (QueryClauseValidationException, RecursionError):
        return clause


def _mapping(text: str | None) -> Mapping[str, Any]:
    """Return what a chart keeps as JSON; an unfinished chart may keep something else."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text or "{}")
        return value if isinstance(value, Mapping) else {}
    return {}


def _mappings(whole: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the mappings in a list of a mapping; none, if there is no such list."""
    parts = whole.get(name)
    return [each for each in parts if isinstance(each, Mapping)] if isinstance(parts, list) else []


def _parts_of_no_chart(kind: str, parts: list[Any], charts: Iterable[str]) -> list[Any]:
    """Return the operations or layers that no chart was saved with, by the question of each as JSON."""
    for text in charts:
        if not any(_may_have(text, max(_texts_in(part), key=len, default="")) for part in parts):
            continue
        queries = _mappings(_mapping(text), "queries")[:MOST_QUERIES]
        of_chart = [each for query in queries for each in _mappings(query, kind)[:MOST_PARTS]]
        parts = [part for part in parts if part not in of_chart]
        if not parts:
            break
    return parts


def _texts_in(part: Any) -> list[str]:
    return [each for each in leaves(part) if isinstance(each, str)]


def _query_of(viz: Any) -> dict[str, Any]:
    """Return the query of a chart of an older kind."""
    try:
        return dict(viz.query_obj())
    except (LookupError, TypeError, ValueError) as error:
        raise QueryObjectValidationError(f"the form of this {viz.viz_type} is incomplete: {error}") from error


def refuse_unknown_kinds() -> None:
    """Have Superset serve world maps alone where its older charts are, and say so; for a kind that it lacks, it fails.

    Other older kinds resample and multiply rows without a bound, and no chart of ours is of one.
    """
    from superset import viz

    class Kinds(dict[str, Any]):
        def __missing__(self, kind: str) -> Any:
            raise QueryObjectValidationError(f"charts of kind {kind[:30]!r} are not served at this address")

    viz.viz_types = Kinds({kind: viz.viz_types[kind] for kind in OLDER_KINDS})


def find_every_table() -> None:
    """Have Superset refuse each expression that reads a table: it overlooks those of EXISTS, and names after IN.

    It also writes expressions again, with their comments, which may then end elsewhere.
    """
    # It can be imported only now that Superset is configured.
    from superset.models import helpers

    def has_subquery(statement: Any) -> bool:
        parsed = statement._parsed
        is_nested = any(isinstance(node, Query) and node is not parsed for node in parsed.walk())
        return is_nested or bool(tables_after_in(statement))

    def validate(sql: str, database: Any, catalog: str | None, schema: str, engine: str) -> str:
        if any(token.comments for token in tokenize(sql, read=SQLGLOT_DIALECTS.get(engine))):
            raise QueryObjectValidationError("an expression of a chart has no comments")
        return str(validate_expression(sql, database, catalog, schema, engine))

    validate_expression = helpers.validate_adhoc_subquery
    SQLStatement.has_subquery = has_subquery
    helpers.validate_adhoc_subquery = validate


class SecurityManager(SupersetSecurityManager):  # type: ignore[misc]
    """Superset's own, which also refuses what is not that of charts (CUSTOM_SECURITY_MANAGER)."""

    def raise_for_access(self, *arguments: Any, **named: Any) -> None:
        """Refuse what a user may not read.

        Raises
        ------
        SupersetSecurityException
            If it is not theirs to read, or is an expression, an operation, an annotation layer or a kind of chart that
            no chart of the dataset has, or a result of SQL Lab, of a user who makes no charts; or somebody else's
            statement of SQL Lab.
        QueryObjectValidationError
            If a chart of an older kind asks for too much, or its form is incomplete.
        """
        super().raise_for_access(*arguments, **named)
        statement = named.get("query")
        # Whoever knows its number could ask it for anything, or for its text: without tables, it is open to all.
        whole = (named.get("viz"), named.get("query_context"))
        for source in (statement, named.get("datasource"), *(getattr(each, "datasource", None) for each in whole)):
            if source is not None and type(source).__name__ in ("Query", "SavedQuery"):
                self._require(self.is_admin() or source.user_id == get_user_id(), OF_ANOTHER)
        if statement is not None:
            note_statement()
        context, viz = named.get("query_context"), named.get("viz")
        writes = any(self.can_access(*permission) for permission in WRITING)
        if viz is not None:
            # First, because Superset makes no query of an incomplete form, and most kinds have one of their own.
            self._require(writes or viz.viz_type in self._of_charts(viz.datasource, "viz_type"))
            query = _query_of(viz)
            refuse_excess([query])
            refuse_large_answer([query], [column.column_name for column in viz.datasource.columns])
        if writes:
            return
        if context is not None:
            queries = [query.to_dict() for query in context.queries]
            self._refuse_other_expressions(context.datasource, queries)
            operations = [each for query in queries for each in query["post_processing"]]
            operations = [each for each in operations if each.get("operation") not in ARRANGING]
            self._refuse_other(context.datasource, "post_processing", operations)
            layers = [each for query in context.queries for each in query.annotation_layers]
            self._refuse_other(context.datasource, "annotation_layers", layers)
        elif viz is not None:
            self._refuse_other_expressions(viz.datasource, [query])
        # A question about a statement of SQL Lab comes as that, not as a context.
        self._require(named.get("query") is None)

    def _refuse_other_expressions(self, dataset: Any, queries: Iterable[Mapping[str, Any]]) -> None:
        columns = {column.column_name for column in dataset.columns} | {DTTM_ALIAS, ROW_COUNT}
        other = set().union(*(expressions_asked(query) for query in queries)) - columns
        if other:
            dialect = dataset.database.db_engine_spec.engine
            self._require(not of_no_chart(other, self._of_charts(dataset, "params"), dialect))

    def _refuse_other(self, dataset: Any, kind: str, parts: list[Any]) -> None:
        if parts:
            self._require(not _parts_of_no_chart(kind, parts, self._of_charts(dataset, "query_context")))

    def _of_charts(self, dataset: Any, column: str) -> Iterator[str]:
        """Yield a text of each chart of a dataset, the oldest chart first; a few are held at a time."""
        from superset.models.slice import Slice

        charts = self.session.query(Slice.id, getattr(Slice, column)).order_by(Slice.id)
        of_dataset = charts.filter_by(datasource_type=dataset.type, datasource_id=dataset.id)
        last = 0
        # Not a statement that stays open: SQLite would refuse to write after it.
        while rows := of_dataset.filter(Slice.id > last).limit(TEXTS_HELD).all():
            yield from (text for _, text in rows if text)
            last = rows[-1][0]

    def _require(self, holds: bool, refusal: str = REFUSAL) -> None:
        if not holds:
            raise SupersetSecurityException(
                SupersetError(
                    message=refusal,
                    error_type=SupersetErrorType.DATASOURCE_SECURITY_ACCESS_ERROR,
                    level=ErrorLevel.WARNING,
                )
            )
