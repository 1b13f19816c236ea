"""Which filters have a choice, and the values with which those of one value begin, found in the build being served.

Superset can begin with the first value of each filter, but it asks for the values of all filters at once: of a build
with two studies, each filter begins with its first value in any study, and together they name a setting that no
run has. Here each filter's first value is sought among the rows that the filters it is `within` leave.

A filter whose rows all have one value does nothing: it would stand above those that do something, and Superset asks for
its values each time the page opens. The same holds where it is within one study and each study has one value.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import Connection

from sojourn_superset.adapter_query import first_column, literal, rows_asked, rows_that_meet, sql_by_column


def fill_in_starts(filters: list[dict[str, Any]], datasets: dict[str, dict[str, Any]], connection: Connection) -> None:
    """Give each filter that begins with its first value that value; one without any row need not have a value.

    Parameters
    ----------
    filters
        Superset's configuration of a dashboard's filters; a filter follows those that it is within.
    datasets
        UUID to dataset asset, with all its columns.
    """
    chosen: dict[str, tuple[str, Any]] = {}
    for each in filters:
        if not each["controlValues"]["defaultToFirstItem"]:
            continue
        target = each["targets"][0]
        dataset, column = datasets[target["datasetUuid"]], target["column"]["name"]
        value = _first(connection, dataset, column, each, chosen)
        each.pop("startsWithMost", None)
        if value is None:
            # Superset draws nothing of a page until each filter that must have a value has one.
            each["controlValues"].update(defaultToFirstItem=False, enableEmptyFilter=False)
            each["requiredFirst"] = False
            continue
        chosen[each["id"]] = (column, value)
        each["defaultDataMask"] = {
            "extraFormData": {"filters": [{"col": column, "op": "IN", "val": [value]}]},
            "filterState": {"value": [value], "label": f"{value:g}" if isinstance(value, float) else str(value)},
            "ownState": {},
        }


def with_a_choice(
    filters: list[dict[str, Any]], datasets: dict[str, dict[str, Any]], connection: Connection
) -> list[dict[str, Any]]:
    """Return the filters whose rows have two values or more, of which none may be one; nothing is within the others.

    A filter within others that always have one value, such as the study, needs a choice for one of their values.
    Parameters are as in `fill_in_starts`.
    """
    kept: dict[str, dict[str, Any]] = {}
    for each in filters:
        each["cascadeParentIds"] = [parent for parent in each["cascadeParentIds"] if parent in kept]
        if _has_two(connection, each, datasets, [kept[parent] for parent in each["cascadeParentIds"]]):
            kept[each["id"]] = each
    return list(kept.values())


def _has_two(
    connection: Connection,
    configured: dict[str, Any],
    datasets: dict[str, dict[str, Any]],
    parents: list[dict[str, Any]],
) -> bool:
    target = configured["targets"][0]
    dataset = datasets[target["datasetUuid"]]
    expressions = sql_by_column(dataset)
    value = expressions[target["column"]["name"]]
    rows = rows_that_meet(configured["adhoc_filters"], dataset)
    if len(first_column(connection, f"SELECT {value} AS value {rows} GROUP BY {value} LIMIT 2")) < 2:
        return False
    of_parents = [each["targets"][0]["column"]["name"] for each in parents if _always_one(each, configured)]
    fixed = [expressions[column] for column in of_parents if column in expressions]
    if not fixed:
        return True
    each = ", ".join([*fixed, value])
    query = f"SELECT {', '.join(f'{one} AS of_{number}' for number, one in enumerate(fixed))}, {value} AS value {rows}"
    groups = rows_asked(connection, f"{query} GROUP BY {each}")
    settings = [group[:-1] for group in groups]
    return len(set(settings)) < len(settings)


def _always_one(parent: dict[str, Any], configured: dict[str, Any]) -> bool:
    """Return whether a filter has one value at any time, on all charts of another."""
    controls = parent["controlValues"]
    everywhere = set(parent["scope"]["excluded"]) <= set(configured["scope"]["excluded"])
    return controls["enableEmptyFilter"] and not controls["multiSelect"] and everywhere


def _first(
    connection: Connection,
    dataset: dict[str, Any],
    column: str,
    configured: dict[str, Any],
    chosen: dict[str, tuple[str, Any]],
) -> Any:
    """Return the first value of a column that the filter's conditions and those it is within leave, or None."""
    expressions = sql_by_column(dataset)
    value = expressions[column]
    conditions = [f"{value} IS NOT NULL"]
    for parent in configured["cascadeParentIds"]:
        if parent in chosen:
            name, of_parent = chosen[parent]
            conditions.append(f"{expressions[name]} = {literal(of_parent)}")
    order = f"{value} {'ASC' if configured['controlValues']['sortAscending'] else 'DESC'}"
    if most := configured.get("startsWithMost"):
        order = f"MAX({expressions[most]}) DESC, {order}"
    rows = rows_that_meet(configured["adhoc_filters"], dataset, conditions)
    return next(
        iter(first_column(connection, f"SELECT {value} AS value {rows} GROUP BY {value} ORDER BY {order} LIMIT 1")),
        None,
    )
