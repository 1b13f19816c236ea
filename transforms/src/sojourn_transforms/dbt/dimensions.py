"""Dimensions: what describes a run or a configuration, which a mart of either gets without stating it.

A model of a mart with ``config.meta.dimensions`` is a table of its key and measures, named after the mart with
``_measures`` at the end (``macros/generate_alias_name.sql``). The mart is a view over it: after its key, the columns of
the group of that name in ``columns.yml``, but for those that it leaves out (``config.meta.without``), from the mart
that has them.
"""

from __future__ import annotations

from typing import Any, Final

from sojourn_transforms.dbt.columns import ColumnError, Dictionary
from sojourn_transforms.running.statements import Statement

Node = dict[str, Any]

#: The marts that have the columns of the groups.
SOURCES: Final = {"run": "run", "configuration": "configuration", "setting": "configuration"}


def with_dimensions(node: Node, nodes: dict[str, Node], dictionary: Dictionary) -> Node:
    """Return the node of a mart that names its dimensions with all columns that the mart has, in their order.

    ``nodes`` are those of dbt's manifest by name.

    Raises
    ------
    ColumnError
        If the mart names dimensions that there are not, or states them itself.
    """
    meta = node["config"]["meta"]
    group = meta["dimensions"]
    if group not in SOURCES:
        raise ColumnError(f"{node['name']}: config.meta.dimensions is {group!r}; expected {', '.join(SOURCES)}")
    declared, own = nodes[SOURCES[group]]["columns"], node["columns"]
    names = [name for name in dictionary.groups[group] if name not in {*meta["key"], *meta.get("without", ())}]
    if stated := sorted(set(names) & set(own)):
        raise ColumnError(f"{node['name']}: states {', '.join(stated)}, which {SOURCES[group]} has; leave them out")
    columns = {name: own[name] for name in meta["key"]} | {name: declared[name] for name in names}
    return node | {"columns": columns | own}


def view_of(wide: Node, measures: Statement, source: Node) -> Statement:
    """Return the view that a mart with dimensions is.

    ``wide`` is its node with all columns, ``measures`` the statement of its table, and ``source`` the node of the mart
    that has the dimensions.
    """
    selected = ", ".join(
        f"{'measured' if name in measures.columns else 'described'}.{name}" for name in wide["columns"]
    )
    keys = " and ".join(f"measured.{name} = described.{name}" for name in source["config"]["meta"]["key"])
    return Statement(
        name=wide["name"],
        kind="mart",
        sql=(
            f"select {selected}\nfrom {measures.relation} as measured\n"
            f"left join {source['schema']}.{source['alias']} as described on {keys}"
        ),
        relation=f"{wide['schema']}.{wide['name']}",
        path=measures.path,
        after=frozenset({measures.name, source["name"]}),
        columns={name: str(column["data_type"]) for name, column in wide["columns"].items()},
        storage="view",
    )
