"""How much of the names of servers is kept."""

from __future__ import annotations

from typing import Literal

#: What ``--server-names`` may be.
ServerNames = Literal["registrable", "full", "none"]
