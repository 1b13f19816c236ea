"""Layouts of dashboards: trees of rows and tabs, which Superset takes for granted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

ROOT = "ROOT_ID"


def keep_trees() -> None:
    """Have a dashboard whose layout is not a tree be one without tabs: Superset goes around in circles for ever.

    It also parses the layout again for each node of it.
    """
    from superset.models.dashboard import Dashboard

    tabs = Dashboard.tabs.fget

    def tabs_of_tree(dashboard: Any) -> dict[str, Any]:
        position = dashboard.position
        return dict(tabs(SimpleNamespace(position=position))) if is_tree(position) else {}

    Dashboard.tabs = property(tabs_of_tree)


def is_tree(position: Any) -> bool:
    """Return whether each node of a layout can be reached from the root in one way."""
    if not isinstance(position, dict):
        return False
    seen, waiting = {ROOT}, [ROOT]
    while waiting:
        node = position.get(waiting.pop())
        children = node.get("children", []) if isinstance(node, dict) else None
        if not isinstance(children, list) or not all(isinstance(child, str) for child in children):
            return False
        before = len(seen)
        seen.update(children)
        if len(seen) - before < len(children):
            return False
        waiting += children
    return True
