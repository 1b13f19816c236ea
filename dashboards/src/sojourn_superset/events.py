"""Superset's log of what users do, left out."""

from __future__ import annotations

from typing import Any

from superset.utils.log import AbstractEventLogger


class NoEvents(AbstractEventLogger):  # type: ignore[misc]
    """Keep no record of requests: the access log has each of them."""

    def log(self, *_: Any, **__: Any) -> None:
        """Leave an event out."""
