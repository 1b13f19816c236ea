"""Rewrites SQL so that the API groups and aggregates, instead of SQLite over every row that the API sends.

SQLite cannot hand GROUP BY to a virtual table. So a SELECT of groups over one dataset is changed to read a table whose
name carries the question, such as `run_harm?group=queue_label&aggregate=median:harm_ratio&role=app`, which
`sojourn_superset.adapter` asks the API for. What cannot be said in the API's terms is left as it is: SQLite then reads
the rows, more slowly and with the same result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sojourn_superset.request_size import fits
from sojourn_superset.service import TABLES

PLAIN = re.compile(r"(?!sqlite_|pragma_)[a-z][a-z0-9_]*")
COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "",
    exp.NEQ: "__ne",
    exp.LT: "__lt",
    exp.LTE: "__le",
    exp.GT: "__gt",
    exp.GTE: "__ge",
}
FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Min: "min",
    exp.Max: "max",
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Count: "count",
}
PERCENTILES = {"5": "q05", "25": "q25", "75": "q75", "95": "q95"}
COMBINED = {"min": exp.Min, "max": exp.Max, "sum": exp.Sum, "count": exp.Sum, "n": exp.Sum}
"""Functions whose value over a group follows from their values over its parts."""


#: Texts that stand for a number, a date or a truth value, of which SQLite compares the spelling and the API the value,
#: and those of them that are spelled as columns are.
VALUES = re.compile(r"[\s\d.,:+\-TWZE]*|true|false|nan|[+-]?inf(?:inity)?", re.IGNORECASE)
AS_IN_COLUMNS = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.\d+)?)?")


class _StaysError(Exception):
    """The SELECT cannot be said in the API's terms."""


def rewrite(sql: str) -> str:
    """Return the SQL with every SELECT of groups that the API can answer reading the API's groups.

    Columns keep the names that the SQL gives them. SQL that does not parse, or in which nothing can be changed, is
    returned as it came.
    """
    try:
        tree = parse_one(sql, dialect="sqlite")
    except SqlglotError:
        return sql
    changed = _say_median(tree)
    ctes = {cte.alias for cte in tree.find_all(exp.CTE)}
    names = [(select, [_name(each) for each in select.expressions]) for select in tree.find_all(exp.Select)]
    for select, _ in names:
        try:
            _push(select, ctes)
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


def _push(select: exp.Select, ctes: set[str]) -> None:
    """Change one SELECT in place; raise _StaysError before anything was changed."""
    table = _only_table(select, ctes)
    aliases = {each.alias: each.this for each in select.expressions if isinstance(each, exp.Alias)}
    aggregates = [each for each in select.find_all(exp.AggFunc, exp.Anonymous) if _cases(each) or _function(each)]
    group = select.args.get("group")
    if group is None and not aggregates:
        raise _StaysError
    keys = [
        aliases.get(key.name, key) if isinstance(key, exp.Column) else key
        for key in (group.expressions if group else ())
    ]
    if any(isinstance(key, exp.Literal) or key.find(exp.AggFunc) for key in keys):
        raise _StaysError
    parameters, kept = _conditions(select)
    tested = [test for aggregate in aggregates for test in _tests_of_cases(aggregate)]
    columns = sorted({column.name for part in [*keys, *kept, *tested] for column in part.find_all(exp.Column)})
    plain = {key.name for key in keys if isinstance(key, exp.Column)}
    is_one_row_each = set(columns) <= plain
    requested: set[str] = set()
    replaced: list[tuple[exp.Expression, exp.Expression]] = []
    for aggregate in aggregates:
        if _cases(aggregate):
            by_case, new = _over_parts(aggregate)
            requested |= by_case
            replaced.append((aggregate, new))
            continue
        function, column = _function(aggregate) or ("", "")
        if function not in COMBINED and not is_one_row_each:
            raise _StaysError
        if function != "n":
            requested.add(f"{function}:{column}")
        value = exp.column("n" if function == "n" else f"{function}_{column}", quoted=True)
        new = COMBINED.get(function, exp.Max)(this=value)
        if function in ("n", "count"):
            new = exp.Coalesce(this=new, expressions=[exp.Literal.number(0)])
        replaced.append((aggregate, new))
    _refuse_other_columns(select, columns, aggregates, aliases)
    query = [("group", ",".join(columns))] if columns else []
    query += [("aggregate", ",".join(sorted(requested)))] if requested else []
    # Without either the API would send rows.
    query = query or [("aggregate", "count")]
    for old, new in replaced:
        old.replace(new)
    name = f"{table.name}?{_without_capitals(urlencode([*query, *parameters]))}"
    table.replace(exp.alias_(exp.Table(this=exp.to_identifier(name, quoted=True)), table.alias_or_name, quoted=True))
    select.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)


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
        or select.find(exp.Window) or (select.find(exp.Star) and not _stars_are_counted(select))
        or not PLAIN.fullmatch(table.name)
        or table.name in ctes
        or table.name in TABLES
    ):  # fmt: skip
        raise _StaysError
    return table


def _stars_are_counted(select: exp.Select) -> bool:
    return all(isinstance(star.parent, exp.Count) for star in select.find_all(exp.Star))


def _function(node: exp.Expression) -> tuple[str, str] | None:
    """Return the API's function and column of an aggregate; raise _StaysError for one that it does not have."""
    if isinstance(node, exp.Anonymous):
        arguments = node.expressions
        if node.name.upper() == "MEDIAN" and len(arguments) == 1 and isinstance(arguments[0], exp.Column):
            return "median", arguments[0].name
        if node.name.upper() != "PERCENTILE":
            return None
        if len(arguments) == 2 and isinstance(arguments[0], exp.Column) and arguments[1].name in PERCENTILES:
            return PERCENTILES[arguments[1].name], arguments[0].name
        raise _StaysError
    if isinstance(node, exp.Min | exp.Max) and node.expressions:
        return None  # the greater of two values, not an aggregate
    kind = FUNCTIONS.get(type(node))
    if kind == "count" and isinstance(node.this, exp.Star):
        return "n", ""
    if kind is None or not isinstance(node.this, exp.Column):
        raise _StaysError
    return kind, node.this.name


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
    return isinstance(value, exp.Literal) and not value.is_string and _literal(value) is not None


def _values_of(case: exp.Case) -> list[exp.Expression]:
    values = [branch.args["true"] for branch in case.args["ifs"]]
    return [*values, case.args["default"]] if case.args.get("default") else values


def _tests_of_cases(aggregate: exp.Expression) -> list[exp.Expression]:
    case = _cases(aggregate)
    if case is None:
        return []
    return [branch.this for branch in case.args["ifs"]] + ([case.this] if case.this else [])


def _over_parts(aggregate: exp.Expression) -> tuple[set[str], exp.Expression]:
    """Return the aggregates of the parts that an aggregate of a CASE needs, and the same aggregate over the parts."""
    function = FUNCTIONS[type(aggregate)]
    new = aggregate.copy()
    aggregates = set()
    for value in _values_of(new.this):
        if isinstance(value, exp.Column):
            aggregates.add(f"{function}:{value.name}")
            value.replace(exp.column(f"{function}_{value.name}", quoted=True))
        elif function == "sum":
            value.replace(exp.Mul(this=value.copy(), expression=exp.column("n", quoted=True)))
    return aggregates, new


def _conditions(select: exp.Select) -> tuple[list[tuple[str, str]], list[exp.Expression]]:
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
        spoken = _parameter(condition)
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


def _parameter(condition: exp.Expression) -> tuple[str, list[str]] | None:
    negated = isinstance(condition, exp.Not)
    inner = condition.this if negated else condition
    if isinstance(inner, exp.Is) and isinstance(inner.this, exp.Column) and isinstance(inner.expression, exp.Null):
        return f"{inner.this.name}__null", ["false" if negated else "true"]
    if isinstance(inner, exp.In) and not negated and isinstance(inner.this, exp.Column) and inner.expressions:
        values = [_literal(each) for each in inner.expressions]
        return None if None in values else (inner.this.name, [str(value) for value in values])
    if negated or type(inner) not in COMPARISONS:
        return None
    text = _literal(inner.expression)
    if not isinstance(inner.this, exp.Column) or text is None:
        return None
    return inner.this.name + COMPARISONS[type(inner)], [text]


def _literal(value: exp.Expression) -> str | None:
    """Return a text or a whole number as a parameter; other numbers are left to SQLite, which compares all of them.

    So are texts such as `20200318`, which to the API is a date of a column of dates.
    So are whole numbers from 2**53: as a double, which the column may be of, one is the same as its neighbour.
    """
    if isinstance(value, exp.Boolean):
        return "true" if value.this else "false"
    if not isinstance(value, exp.Literal):
        return None
    if value.is_string:
        text = str(value.this)
        return None if VALUES.fullmatch(text) and not AS_IN_COLUMNS.fullmatch(text) else text
    number = float(value.this)
    if number >= 2**53 or not number.is_integer():
        return None
    # To a column of text, 1.0 is another value than 1; the adapter spells both alike for a column of integers.
    return str(int(number)) if str(value.this).isdigit() else str(number)


def _refuse_other_columns(
    select: exp.Select, columns: list[str], aggregates: Sequence[exp.Expression], aliases: dict[str, exp.Expression]
) -> None:
    """Refuse a column outside aggregates that is not grouped: SQLite would take its value from any row."""
    within = {id(column) for aggregate in aggregates for column in aggregate.find_all(exp.Column)}
    where = select.args.get("where")
    tested = {id(column) for column in where.find_all(exp.Column)} if where else set()
    for column in select.find_all(exp.Column):
        if id(column) in within or id(column) in tested or column.name in columns or column.name in aliases:
            continue
        raise _StaysError
