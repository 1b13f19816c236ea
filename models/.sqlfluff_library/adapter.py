"""Stands for dbt's `adapter` while sqlfluff renders a model: a dispatched macro reads as a function call."""

from collections.abc import Callable


def dispatch(macro_name: str, macro_namespace: str | None = None) -> Callable[..., str]:
    """Return what renders the macro as a call of a function of its name."""
    return lambda *arguments: f"{macro_name}({', '.join(str(argument) for argument in arguments)})"
