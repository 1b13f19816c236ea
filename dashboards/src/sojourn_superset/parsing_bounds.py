"""Bounds on what Superset parses: types within types in SQL, and aliases in imported YAML."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import yaml
from sqlglot import Parser, TokenType
from sqlglot.errors import ParseError

MOST_STEPS = 100_000
"""Steps of the parser that types within types may take; twelve of them, as in DATE(DATE(…)), are parsed."""
DEEPEST = 40


def bound_parsing() -> None:
    """Refuse SQL and YAML that take time or memory out of proportion to their length."""
    # Superset's own modules can be imported only now that it is configured.
    from superset.commands.importers.v1 import utils

    parse = Parser._parse

    def bounded(parser: Any, parse_method: Any, raw_tokens: Any, sql: Any = None) -> Any:
        _refuse_nested_types(parser.TYPE_TOKENS, raw_tokens)
        return parse(parser, parse_method, raw_tokens, sql)

    Parser._parse = bounded  # type: ignore[assignment, method-assign]
    utils.yaml = SimpleNamespace(safe_load=load_yaml, parser=yaml.parser, YAMLError=yaml.YAMLError)


def _refuse_nested_types(types: Any, tokens: Any) -> None:
    """Raise ParseError for SQL of too many types within types: sqlglot 28.10 parses what each holds twice."""
    steps = depth = 0
    is_type: list[bool] = []
    before = None
    for token in tokens:
        if token.token_type == TokenType.L_PAREN:
            is_type.append(before in types)
            depth += is_type[-1]
        elif token.token_type == TokenType.R_PAREN and is_type:
            depth -= is_type.pop()
        before = token.token_type
        steps += 2 ** min(depth, DEEPEST) - 1
        if steps > MOST_STEPS:
            raise ParseError("types are nested too deeply")


def load_yaml(content: str) -> Any:
    """Return the content of a document without aliases; raise ParserError if it has one."""
    return yaml.load(content, WithoutAliases)  # noqa: S506 - it is a SafeLoader


class WithoutAliases(yaml.SafeLoader):
    """Reads YAML without aliases, with which a few lines stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.parser.ParserError(None, None, "an alias, which is not read", mark)
        return super().compose_node(parent, index)
