"""Memory shared with the guest, through which runs leave it: a file that the guest has as memory of a PCI device.

A write to memory takes the guest the same time in each boot; a network file system's answers come when the host finds
time, and a virtual clock would show it.
"""

from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

#: Bytes; a power of two, as a PCI device's memory has to be. The file has holes: what is not written takes no room.
WINDOW_BYTES = 2**31
#: Where the first run's archive is; before it stands how many bytes are whole.
_START = 4096
_NUMBER = struct.Struct("<Q")


class Window:
    """Runs that a guest has handed over, in their order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("wb") as handle:
            handle.truncate(WINDOW_BYTES)
        self._at = _START

    def unpack(self, folder: Path) -> list[Path]:
        """Unpack what came since the last call, and return the runs' folders."""
        results = []
        with self.path.open("rb") as handle:
            (whole,) = _NUMBER.unpack(handle.read(_NUMBER.size))
            while self._at < whole:
                handle.seek(self._at)
                (size,) = _NUMBER.unpack(handle.read(_NUMBER.size))
                with tarfile.open(fileobj=io.BytesIO(handle.read(size))) as packed:
                    (name,) = {member.name.split("/")[0] for member in packed.getmembers()}
                    packed.extractall(folder, filter="data")
                self._at += _NUMBER.size + size
                results.append(folder / name)
        return results
