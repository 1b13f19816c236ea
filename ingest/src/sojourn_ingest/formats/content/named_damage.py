"""Compressed content, whose damage is raised as an error of ours."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO, Protocol, cast


class Readable(Protocol):
    """What content is read from: a file of Python, or a stream of Arrow."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, none at the end."""


class _NamedDamage(io.RawIOBase):
    def __init__(
        self,
        content: Readable,
        damage: type[Exception] | tuple[type[Exception], ...],
        named: Callable[[Exception], Exception],
    ) -> None:
        self._content, self._damage, self._named = content, damage, named

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            content = self._content.read(len(buffer))
        except self._damage as error:
            raise self._named(error) from error
        buffer[: len(content)] = content
        return len(content)


def buffered(
    content: Readable, damage: type[Exception] | tuple[type[Exception], ...], named: Callable[[Exception], Exception]
) -> BinaryIO:
    """Return content that can be read by lines, and raises what ``named`` makes of an exception in ``damage``."""
    return cast(BinaryIO, io.BufferedReader(_NamedDamage(content, damage, named)))
