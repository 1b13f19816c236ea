"""A control group of limited memory, made by hand, in which commands run; version 2 where it is, else version 1."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MOUNTS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
#: Runs what follows as a member of the group in its first argument.
JOIN = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"']


class NoGroupError(Exception):
    """This machine lets nobody, or not this user, make a control group with a limit of memory."""


@dataclass(frozen=True)
class MemoryGroup:
    """A group and the names of its files."""

    folder: Path
    version: int

    def command(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs another one in the group."""
        return [*JOIN, str(self.folder), *argv]

    def run(self, argv: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command in the group to its end."""
        return subprocess.run(
            self.command(argv), env={**os.environ, **environment}, check=False, capture_output=True, text=True
        )

    @property
    def peak_bytes(self) -> int:
        """Most memory at one time so far, with the pages of files that the kernel could have taken back."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        return int((self.folder / name).read_text())

    @property
    def killed(self) -> int:
        """How many processes the kernel has ended for want of memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        lines = dict(line.split() for line in (self.folder / name).read_text().splitlines())
        return int(lines["oom_kill"])


@contextmanager
def memory_group(limit_bytes: int) -> Iterator[MemoryGroup]:
    """Hold a group with a limit.

    Raises
    ------
    NoGroupError
        If none can be made here.
    """
    group = _made(limit_bytes)
    try:
        yield group
    finally:
        group.folder.rmdir()


def _made(limit_bytes: int) -> MemoryGroup:
    for mount in MOUNTS:
        folder = mount / f"sojourn-test-{uuid.uuid4().hex[:12]}"
        try:
            folder.mkdir()
        except OSError:
            continue
        for version, name in ((2, "memory.max"), (1, "memory.limit_in_bytes")):
            if (folder / name).exists():
                (folder / name).write_text(str(limit_bytes))
                return MemoryGroup(folder, version)
        folder.rmdir()
    raise NoGroupError("no control group of memory can be made here; run as root")
