"""One process at a time in the folder where dbt keeps what it has parsed."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn_transforms.running.statements import ModelError


@contextmanager
def compiling(project: Path) -> Iterator[None]:
    """Hold the folder ``target`` of a project, where dbt keeps what it has parsed, for one process at a time."""
    folder = project / "target"
    try:
        folder.mkdir(exist_ok=True)
        lock = (folder / "compile.lock").open("w")
    except OSError as error:
        raise ModelError(f"the models in {project} cannot be compiled there: {error}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
