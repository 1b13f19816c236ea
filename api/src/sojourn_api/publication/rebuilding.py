"""Makes the build of a publication again from its inputs, with the commands that a user would give."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from sojourn_api.publication.crate import CRATE
from sojourn_api.publication.errors import PublicationError
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.pointer import read_pointer


def rebuild(folder: Path, inputs: Path, var: Path, ingest_options: Sequence[str]) -> Path:
    """Ingest the inputs that the crate of a publication lists, build below ``var``, and return the snapshot.

    The commands are those of this installation and say on the standard error what they do. They run in processes of
    their own, because the service knows neither readers nor models.

    Raises
    ------
    PublicationError
        If one of them failed.
    """
    commands = (
        ["ingest", "--crate", str(folder / CRATE), *ingest_options, str(inputs), "--var", str(var)],
        ["build", "--var", str(var)],
    )
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "sojourn_ingest.cli", *command], stdout=sys.stderr.fileno(), check=False
        )
        if done.returncode:
            raise PublicationError(f"sojourn {command[0]} ended with status {done.returncode}; see its message")
    snapshots = var / "snapshots"
    try:
        pointer = read_pointer(snapshots)
    except DamagedSnapshotError as error:
        raise PublicationError(str(error)) from error
    if pointer is None:
        raise PublicationError(f"{snapshots} has no build; see the messages of `sojourn build`")
    return snapshots / pointer.build_id
