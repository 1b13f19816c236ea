"""Validation errors as one line that says what to correct."""

from __future__ import annotations

from pydantic import ValidationError


def one_line(error: Exception) -> str:
    """Return an error of pydantic, JSON or YAML as one line; of several faults, the first and their number."""
    if isinstance(error, ValidationError):
        faults = error.errors()
        first = faults[0]
        # Joined by dots, names of members would look like those of hosts.
        where = "/".join(str(part) for part in first["loc"]) or "content"
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return f"{where}: {first['msg'].removeprefix('Value error, ')}{more}"
    # Tags as people write them.
    return " ".join(str(error).replace("tag:yaml.org,2002:", "!!").split())
