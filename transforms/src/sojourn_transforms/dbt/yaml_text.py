"""The text of dbt's YAML files that are written from declarations."""

from __future__ import annotations

from typing import Any, Final

import yaml

WIDTH: Final = 140


class Inline(dict[str, Any]):
    """A mapping that is written on one line, in braces."""


class InlineList(list[Any]):
    """A list that is written on one line, in brackets."""


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key, as the hand-written files do."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    Inline, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=True)
)
_Dumper.add_representer(
    InlineList, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)
)


def render(document: dict[str, Any], header: str) -> str:
    """Return a document as YAML below the comment lines ``header``, keys in the order given."""
    body = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return header + body
