"""How far a command is, on standard error: a line that changes on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from sojourn_process.printable import markup, printable

#: Seconds between plain lines: a log of a long build stays short.
EVERY_S = 10


@contextmanager
def shown_progress(console: Console, title: str) -> Iterator[Callable[[object], None]]:
    """Yield what shows a step; a step is whatever has a text. A command that ends at once shows nothing."""
    if console.is_terminal:
        with console.status(title) as status:
            yield lambda step: status.update(markup(step))
        return
    last = time.monotonic()

    def say(step: object) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            console.print(f"{title}: {printable(step)}", markup=False, highlight=False, soft_wrap=True)

    yield say
