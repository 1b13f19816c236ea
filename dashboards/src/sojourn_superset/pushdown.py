"""Rewrites SQL so that the API groups and aggregates, instead of SQLite over every row that the API sends.

SQLite cannot hand GROUP BY to a virtual table. So a SELECT of groups over one dataset is changed to read a table whose
name carries the question, such as `run_harm?group=queue_label&aggregate=median:harm_ratio&role__eq=app`, which
`sojourn_superset.adapter` asks the API for. Only what means the same to both by the types of the columns is changed.
The rest is left as it is: SQLite then reads the rows, more slowly and with the same result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import date
from urllib.parse import urlencode

import apsw
from sqlglot import TokenType, exp, parse_one, tokenize
from sqlglot.errors import SqlglotError

from sojourn_client import ApiError
from sojourn_superset.fields import INTEGERS, NUMBERS, REALS, ROWS_OF_GROUP, aggregate_name
from sojourn_superset.request_size import fits
from sojourn_superset.service import TABLES

PLAIN = re.compile(r"(?!sqlite_|pragma_)[a-z][a-z0-9_]*")
COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
}
FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Min: "min",
    exp.Max: "max",
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Count: "count",
}
AGGREGATES = frozenset(
    name for (name,) in apsw.Connection(":memory:").execute("SELECT name FROM pragma_function_list WHERE type <> 's'")
)
"""SQLite's own aggregates, of which sqlglot does not know some."""
PERCENTILES = {"5": "q05", "25": "q25", "75": "q75", "95": "q95"}
COMBINED = {"min": exp.Min, "max": exp.Max, "sum": exp.Sum, "count": exp.Sum, "n": exp.Sum}
"""Functions whose value over a group follows from their values over its parts."""
GROUPING = frozenset({"VARCHAR", "BOOLEAN", "DATE", *NUMBERS})
"""Types of columns that group, and whose values SQLite and the API sort alike."""

FILLERS = frozenset({"as", "asc", "inner"})
SYNONYMS = {
    "substring": "substr", "ifnull": "coalesce", "percentile_cont": "median",
    "int": "integer", "bigint": "integer", "float": "real", "double": "real", "varchar": "text",
}  # fmt: skip
"""Words that sqlglot adds or takes away, and pairs of which it writes one for the other: SQLite takes both alike."""
ODD_NUMBER = re.compile(r"\b0x[\da-f]|\d_\d", re.IGNORECASE)
"""Numbers that sqlglot would write as a blob, 0x10 as x'10', or as a number with a name, 1_000 as 1 AS _000."""
DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
LARGEST_DOUBLE_WHOLE = 2**53
"""As a double, a whole number beyond this is the same as its neighbour."""

Types = Mapping[str, str]
"""The type of each column of a dataset."""
TypesOf = Callable[[str], Types | None]
"""Returns the columns of a dataset, or None if there is none of the name; raises ApiError."""
MOST_DATASETS = 50
"""Names of which a statement asks the API for the columns."""


class _Types:
    """The columns of the datasets of one statement: each is asked for once, and none after the API did not answer."""

    def __init__(self, types_of: TypesOf) -> None:
        self._types_of = types_of
        self._types: dict[str, Types | None] = {}
        self._is_answered = True

    def __call__(self, table: str) -> Types | None:
        if table not in self._types and self._is_answered and len(self._types) < MOST_DATASETS:
            try:
                self._types[table] = self._types_of(table)
            except ApiError:
                # The adapter raises it again when it reads the rows.
                self._is_answered = False
        return self._types.get(table)


class _StaysError(Exception):
    """The SELECT cannot be said in the API's terms."""


def rewrite(sql: str, types_of: TypesOf) -> str:
    """Return the SQL with every SELECT of groups that the API can answer reading the API's groups.

    Columns keep the names that the SQL gives them. SQL that does not parse, or in which nothing can be changed, is
    returned as it came.
    """
    try:
        return _rewritten(sql, types_of)
    except (SqlglotError, RecursionError):
        return sql


def _rewritten(sql: str, types_of: TypesOf) -> str:
    tree = parse_one(sql, dialect="sqlite")
    changed = _say_median(tree)
    if ODD_NUMBER.search(sql) or _words(sql) != _words(tree.sql(dialect="sqlite")):
        # sqlglot means something else by it, such as another function.
        return sql
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    names = [(select, [_name(each) for each in select.expressions]) for select in tree.find_all(exp.Select)]
    of_statement = _Types(types_of)
    for select, _ in names:
        try:
            _push(select, ctes, of_statement)
        except _StaysError:
            continue
        changed = True
    if not changed:
        return sql
    for select, of_select in names:
        select.set(
            "expressions",
            [
                exp.alias_(each, name, quoted=True) if name and each.sql(dialect="sqlite") != name else each
                for each, name in zip(select.expressions, of_select, strict=True)
            ],
        )
    return tree.sql(dialect="sqlite")


def _words(sql: str) -> Counter[str]:
    """Count the words of SQL, such as names of functions and types, but for those that change nothing, and each +."""
    tokens = tokenize(sql, dialect="sqlite")
    words = (token.text.lower() for token in tokens if token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER))
    return Counter(
        SYNONYMS.get(word, word) for word in words if (word.isidentifier() and word not in FILLERS) or word == "+"
    )


def _name(projection: exp.Expression) -> str | None:
    """Return the name that SQLite gives a column without an alias, or None of one that says its name."""
    return None if projection.output_name or projection.is_star else projection.sql(dialect="sqlite")


def _say_median(tree: exp.Expression) -> bool:
    """Name each median MEDIAN; return whether SQL Lab, which rewrites all SQL, had renamed one."""
    renamed = False
    for node in list(tree.find_all(exp.Median, exp.PercentileCont)):
        if isinstance(node, exp.PercentileCont):
            if node.expression.name != "0.5":
                continue
            renamed = True
        node.replace(exp.Anonymous(this="MEDIAN", expressions=[node.this]))
    return renamed


def _push(select: exp.Select, ctes: set[str], types_of: TypesOf) -> None:
    """Change one SELECT in place; raise _StaysError before anything was changed."""
    group = select.args.get("group")
    if group is None and not select.find(exp.AggFunc, exp.Anonymous):
        raise _StaysError
    table = _only_table(select, ctes)
    types = types_of(table.name)
    if types is None:
        raise _StaysError
    aliases = {each.alias: each.this for each in select.expressions if isinstance(each, exp.Alias)}
    aggregates = [each for each in select.find_all(exp.AggFunc, exp.Anonymous) if _function(each, types)]
    if group is None and not aggregates:
        raise _StaysError
    named = _named_columns(select, table, types, aliases)
    keys = [
        aliases.get(key.name, key) if isinstance(key, exp.Column) and key.name not in types else key
        for key in (group.expressions if group else ())
    ]
    if any(isinstance(key, exp.Literal) or key.find(exp.AggFunc) for key in keys):
        raise _StaysError
    parameters, kept = _conditions(select, types)
    tested = [test for aggregate in aggregates for test in _tests_of_cases(aggregate)]
    columns = sorted({column.name for part in [*keys, *kept, *tested] for column in part.find_all(exp.Column)})
    if any(types[name] not in GROUPING for name in columns):
        raise _StaysError
    if not columns and (keys or tested):
        # Of no rows the API makes one group, in which a constant has a value.
        raise _StaysError
    plain = {key.name for key in keys if isinstance(key, exp.Column)}
    requested, replaced = _over_groups(aggregates, types, set(columns) <= plain)
    _refuse_names_of_groups(columns, requested, aliases)
    elsewhere = _within([*aggregates, *([select.args["where"]] if select.args.get("where") else [])])
    of_keys = {column.name for key in keys for column in key.find_all(exp.Column)}
    if any(column.name not in of_keys for column in named if id(column) not in elsewhere):
        # SQLite takes the value of any row.
        raise _StaysError
    query = [("group", ",".join(columns))] if columns else []
    if requested:
        query.append(("aggregate", ",".join(f"{function}:{column}" for function, column in sorted(requested))))
    # Without either the API would send rows.
    query = query or [("aggregate", "count")]
    for old, new in replaced:
        old.replace(new)
    name = f"{table.name}?{_without_capitals(urlencode([*query, *parameters]))}"
    table.replace(exp.alias_(exp.Table(this=exp.to_identifier(name, quoted=True)), table.alias_or_name, quoted=True))
    select.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)


def _over_groups(
    aggregates: Sequence[exp.Expression], types: Types, is_one_row_each: bool
) -> tuple[set[tuple[str, str]], list[tuple[exp.Expression, exp.Expression]]]:
    """Return the aggregates of the groups that those of the SELECT need, and what replaces each of these."""
    requested: set[tuple[str, str]] = set()
    replaced: list[tuple[exp.Expression, exp.Expression]] = []
    for aggregate in aggregates:
        function, column = _function(aggregate, types) or ("", "")
        if function == "case":
            by_case, new = _over_parts(aggregate)
            requested |= by_case
            replaced.append((aggregate, new))
            continue
        if function not in COMBINED and not is_one_row_each:
            raise _StaysError
        if function != "n":
            requested.add((function, column))
        value = exp.column(ROWS_OF_GROUP if function == "n" else aggregate_name(function, column), quoted=True)
        new = COMBINED.get(function, exp.Max)(this=value)
        if function in ("n", "count"):
            new = exp.Coalesce(this=new, expressions=[exp.Literal.number(0)])
        replaced.append((aggregate, new))
    return requested, replaced


def _without_capitals(query: str) -> str:
    """Return a query string with escapes for capitals: to SQLite, names of tables are the same in either case."""
    return re.sub("%..|[A-Z]", lambda match: match[0].lower() if match[0][0] == "%" else f"%{ord(match[0]):02x}", query)


def _only_table(select: exp.Select, ctes: set[str]) -> exp.Table:
    """Return the one dataset that the SELECT reads."""
    source = select.args.get("from") or select.args.get("from_")
    table = source.this if source else None
    nested = [each for each in select.find_all(exp.Select) if each is not select]
    if (
        not isinstance(table, exp.Table)
        or select.args.get("joins")
        or select.args.get("with") or select.args.get("with_")
        or select.args.get("distinct")
        or nested
        or select.find(exp.Window, exp.Filter) or (select.find(exp.Star) and not _stars_are_counted(select))
        or not PLAIN.fullmatch(table.name)
        or table.name in ctes
        or table.name in TABLES
    ):  # fmt: skip
        raise _StaysError
    return table


def _stars_are_counted(select: exp.Select) -> bool:
    return all(isinstance(star.parent, exp.Count) for star in select.find_all(exp.Star))


def _named_columns(
    select: exp.Select, table: exp.Table, types: Types, aliases: Mapping[str, exp.Expression]
) -> list[exp.Column]:
    """Return the nodes that name columns of the dataset; raise _StaysError where SQLite would resolve another name.

    In ORDER BY, a whole term is an alias if there is one. In GROUP BY, HAVING and other terms it is one only where no
    column has its name, and elsewhere never.
    """
    if len({alias.lower() for alias in aliases}) < sum(isinstance(each, exp.Alias) for each in select.expressions):
        raise _StaysError
    parts = [part for name in ("group", "having", "order") if (part := select.args.get(name))]
    terms = {id(term.this) for part in parts if isinstance(part, exp.Order) for term in part.expressions}
    may_be_alias = {id(column) for part in parts for column in part.find_all(exp.Column)} - _within(
        select.find_all(exp.AggFunc, exp.Anonymous)
    )
    named = []
    for column in select.find_all(exp.Column):
        if column.table and (column.table != table.alias_or_name or column.args.get("db")):
            raise _StaysError
        has_alias = column.name in aliases and id(column) in may_be_alias and not column.table
        # Names are the same in capitals.
        if has_alias and (column.name.lower() not in types or id(column) in terms):
            continue
        if column.name not in types:
            raise _StaysError
        named.append(column)
    return named


def _within(nodes: Iterable[exp.Expression]) -> set[int]:
    return {id(column) for node in nodes for column in node.find_all(exp.Column)}


def _refuse_names_of_groups(
    columns: Sequence[str], requested: set[tuple[str, str]], aliases: Mapping[str, exp.Expression]
) -> None:
    """Refuse groups of which the API, or the table that the adapter makes of them, would name two columns alike."""
    labels = {f"{function}_{column}" for function, column in requested}
    of_api = {"n", *labels, *(f"{label}_n" for label in labels)}
    of_table = {ROWS_OF_GROUP, *(aggregate_name(function, column) for function, column in requested)}
    if of_api.intersection(columns) or of_table.intersection(alias.lower() for alias in aliases):
        raise _StaysError


def _function(node: exp.Expression, types: Types) -> tuple[str, str] | None:
    """Return the API's function and column of an aggregate, or ("case", "") for one of a CASE that parts have.

    Return None for a function of one row, and raise _StaysError for an aggregate that the API does not have.
    """
    if isinstance(node, exp.Anonymous):
        return _percentile(node, types)
    if isinstance(node, exp.Min | exp.Max) and node.expressions:
        return None  # the greater of two values, not an aggregate
    if case := _cases(node):
        if type(node) is exp.Sum:
            _refuse_types(_values_of(case), types, NUMBERS)
        return "case", ""
    kind = FUNCTIONS.get(type(node))
    if kind == "count" and isinstance(node.this, exp.Star) and not node.expressions:
        return "n", ""
    if kind is None or node.expressions or not isinstance(node.this, exp.Column):
        raise _StaysError
    if kind != "count":
        _refuse_types([node.this], types, GROUPING if kind in ("min", "max") else NUMBERS)
    return kind, node.this.name


def _percentile(node: exp.Anonymous, types: Types) -> tuple[str, str] | None:
    name, arguments = node.name.lower(), node.expressions
    if name not in ("median", "percentile"):
        if name in AGGREGATES:
            raise _StaysError
        return None
    if not arguments or not isinstance(arguments[0], exp.Column):
        raise _StaysError
    _refuse_types(arguments[:1], types, NUMBERS)
    if name == "median" and len(arguments) == 1:
        return "median", arguments[0].name
    share = arguments[1].name if len(arguments) == 2 and isinstance(arguments[1], exp.Literal) else ""
    if name == "percentile" and share in PERCENTILES:
        return PERCENTILES[arguments[1].name], arguments[0].name
    raise _StaysError


def _refuse_types(values: Sequence[exp.Expression], types: Types, allowed: Set[str]) -> None:
    if any(isinstance(value, exp.Column) and types.get(value.name) not in allowed for value in values):
        raise _StaysError


def _cases(aggregate: exp.Expression) -> exp.Case | None:
    """Return the CASE of an aggregate such as `SUM(CASE WHEN status = 'ok' THEN 1 ELSE 0 END)`.

    Its tests are of columns that then group too, and each of its values is a column or a whole number: over the parts
    of a group it has the same value.
    """
    case = aggregate.this
    if type(aggregate) not in (exp.Min, exp.Max, exp.Sum) or aggregate.expressions or not isinstance(case, exp.Case):
        return None
    values = _values_of(case)
    is_plain = all(isinstance(value, exp.Column) or _is_whole(value) for value in values)
    return case if is_plain and not case.find(exp.AggFunc) else None


def _is_whole(value: exp.Expression) -> bool:
    return _whole(value) is not None


def _values_of(case: exp.Case) -> list[exp.Expression]:
    values = [branch.args["true"] for branch in case.args["ifs"]]
    return [*values, case.args["default"]] if case.args.get("default") else values


def _tests_of_cases(aggregate: exp.Expression) -> list[exp.Expression]:
    case = _cases(aggregate)
    if case is None:
        return []
    return [branch.this for branch in case.args["ifs"]] + ([case.this] if case.this else [])


def _over_parts(aggregate: exp.Expression) -> tuple[set[tuple[str, str]], exp.Expression]:
    """Return the aggregates of the parts that an aggregate of a CASE needs, and the same aggregate over the parts."""
    function = FUNCTIONS[type(aggregate)]
    new = aggregate.copy()
    aggregates = set()
    for value in _values_of(new.this):
        if isinstance(value, exp.Column):
            aggregates.add((function, value.name))
            value.replace(exp.column(aggregate_name(function, value.name), quoted=True))
        elif function == "sum":
            value.replace(exp.Mul(this=value.copy(), expression=exp.column(ROWS_OF_GROUP, quoted=True)))
    return aggregates, new


def _conditions(select: exp.Select, types: Types) -> tuple[list[tuple[str, str]], list[exp.Expression]]:
    """Return the conditions as parameters of the API, and those that only SQLite can test."""
    where = select.args.get("where")
    if where is None:
        return [], []
    said: dict[str, list[str]] = {}
    kept = []
    lists: list[tuple[str, str]] = []
    for condition in _conjuncts(where.this):
        while isinstance(condition, exp.Paren):
            condition = condition.this
        spoken = _parameter(condition, types)
        # A parameter given twice means "any of" to the API; SQL means both.
        if spoken is None or spoken[0] in said:
            kept.append(condition)
            continue
        name, values = spoken
        if len(values) > 1:
            listed = [(name, value) for value in values]
            # The adapter asks in several requests for what one does not take.
            if not fits([*lists, *listed]):
                kept.append(condition)
                continue
            lists += listed
        said[name] = values
    return [(name, value) for name, values in said.items() for value in values], kept


def _conjuncts(condition: exp.Expression) -> list[exp.Expression]:
    if isinstance(condition, exp.And):
        return [*_conjuncts(condition.this), *_conjuncts(condition.expression)]
    return [condition]


def _parameter(condition: exp.Expression, types: Types) -> tuple[str, list[str]] | None:
    negated = isinstance(condition, exp.Not)
    inner = condition.this if negated else condition
    if not isinstance(inner.this, exp.Column):
        return None
    column = inner.this.name
    if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
        return f"{column}__null", ["false" if negated else "true"]
    if negated:
        return None
    if isinstance(inner, exp.In) and inner.expressions:
        operator, literals = "eq", inner.expressions
    elif type(inner) in COMPARISONS:
        operator, literals = COMPARISONS[type(inner)], [inner.expression]
    else:
        return None
    values = [_spelled(each, types[column], operator) for each in literals]
    return None if None in values else (f"{column}__{operator}", [str(value) for value in values])


def _spelled(value: exp.Expression, kind: str, operator: str) -> str | None:
    """Return a value as the API spells those of a column; None where SQLite may compare it otherwise than the API."""
    if isinstance(value, exp.Literal) and value.is_string:
        text = str(value.this)
        return text if kind == "VARCHAR" or (kind == "DATE" and _is_day(text)) else None
    number = _whole(value)
    if kind == "BOOLEAN" and operator in ("eq", "ne"):
        is_truth = isinstance(value, exp.Boolean) or number in (0, 1)
        return str(value.this if isinstance(value, exp.Boolean) else number == 1).lower() if is_truth else None
    if number is None or (kind in INTEGERS and number not in INTEGERS[kind]):
        return None
    return str(number) if kind in INTEGERS or kind in REALS else None


def _is_day(text: str) -> bool:
    try:
        return bool(DAY.fullmatch(text)) and date.fromisoformat(text) is not None
    except ValueError:
        return False


def _whole(value: exp.Expression) -> int | None:
    """Return a whole number; other numbers are left to SQLite, which compares all of them."""
    is_whole = isinstance(value, exp.Literal) and not value.is_string and str(value.this).isdigit()
    return int(value.this) if is_whole and int(value.this) < LARGEST_DOUBLE_WHOLE else None
