"""Conditional requests (RFC 9110 §13): the ETag of a response, and whether the client has it already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from sojourn_api import __version__


def etag(path: str, items: Iterable[tuple[str, str]], *parts: str) -> str:
    """Return the ETag of a response.

    Parameters
    ----------
    path : str
    items : iterable of (str, str)
        The query string; the order of its parameters changes nothing.
    *parts : str
        What the response depends on beside the URL: the build, the format.
    """
    # Weak, because the same result may be sent with or without compression. The version is part of it, so
    # that a service that answers differently is not taken for the old one.
    seen = json.dumps([__version__, path, sorted(items), parts])
    return f'W/"{hashlib.sha256(seen.encode()).hexdigest()[:32]}"'


def has_already(if_none_match: str, tag: str) -> bool:
    """Return whether an If-None-Match header names an ETag, by weak comparison."""
    tags = {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
    return if_none_match.strip() == "*" or tag.removeprefix("W/") in tags
