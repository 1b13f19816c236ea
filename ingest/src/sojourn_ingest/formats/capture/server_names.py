"""How much of the names of servers is kept."""

from __future__ import annotations

from typing import Literal, get_args

ServerNames = Literal["registrable", "full", "none"]

#: What ``--server-names`` may be; the first is the default.
SERVER_NAMES: tuple[ServerNames, ...] = get_args(ServerNames)


def server_names_of(text: str) -> ServerNames:
    """Return a choice by its name.

    Raises
    ------
    ValueError
        If there is no such choice.
    """
    for choice in SERVER_NAMES:
        if choice == text:
            return choice
    raise ValueError(f"{text!r} is not {', '.join(SERVER_NAMES[:-1])} or {SERVER_NAMES[-1]}")
