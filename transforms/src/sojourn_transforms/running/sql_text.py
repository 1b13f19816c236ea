"""SQL as text: what of a statement is text in quotes, a comment, or a parenthesis."""

from __future__ import annotations

import re

#: Texts, quoted names, comments and parentheses, between which a statement is looked at.
TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*(?!\+).*?\*/|[()]""", re.DOTALL)


def without_comments(sql: str) -> str:
    """Return a statement without its comments; hints to Spark stay."""
    return TOKEN.sub(lambda match: " " if match[0].startswith(("--", "/*")) else match[0], sql)
