"""A page as one HTML file that loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from sojourn_transforms.look.content import Column, Page, Table
from sojourn_transforms.look.texts import in_words, number, plain

_HERE = Path(__file__).parent


def html_of(page: Page) -> str:
    """Return the page; every text of a file is escaped, and only drawings of this package are taken as they are."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters |= {
        "plain": plain,
        "number": number,
        "cell": _cell,
        "numeric": _numeric,
        "shown_columns": _shown_columns,
    }
    css = Markup((_HERE / "page.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file
    return environment.get_template("page.html.jinja").render(page=page, css=css)


def is_ours(path: Path, generator: str) -> bool:
    """Return whether a file is a page that a command wrote; ``generator`` is its name, such as sojourn look."""
    with path.open("rb") as handle:
        return f'<meta name="generator" content="{generator} '.encode() in handle.read(2048)


def _numeric(table: Table) -> set[str]:
    return {
        column.name
        for column in table.columns
        if column.digits is not None or any(isinstance(row.get(column.name), int | float) for row in table.rows)
    }


def _cell(row: Mapping[str, Any], column: Column) -> str:
    """Return the text of a cell: an identifier is in words."""
    value = row.get(column.name)
    if column.in_words and value:
        return plain(in_words(value))
    return number(value, column.digits, column.significant)


def _shown_columns(table: Table) -> Sequence[Column]:
    """Return the columns without those of reasons that no row has."""
    numeric = _numeric(table)
    return [
        column
        for column in table.columns
        if column.name in numeric or column.unit or any(row.get(column.name) not in (None, "") for row in table.rows)
    ]
