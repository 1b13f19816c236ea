"""What an ingest will write, from the sizes of its files.

The factors are those of the bundled sample and of generated connections, rounded up: facts of compressed files took
1.6 to 2.8 times the stored bytes, those of plain files 0.7 to 1.7 times, and each source some 15 kB beside, for its
commit and its files of Parquet, however small they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sojourn_ingest.formats.content.expansion import allocated_bytes
from sojourn_ingest.lake import Lake
from sojourn_ingest.remote import is_remote
from sojourn_ingest.session.recorded import recorded_as_it_is

#: First bytes of gzip, zstd, xz and bzip2.
COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh")
#: What the names of such files end with.
COMPRESSED_SUFFIXES = (".gz", ".tgz", ".zst", ".xz", ".bz2", ".zip")
COMPRESSED_RATIO = 3.0
PLAIN_RATIO = 1.5
#: The table packet has one row for each packet of a capture: as much again.
PACKETS_RATIO = 2.0
SOURCE_BYTES = 16_000


@dataclass(frozen=True)
class DiskNeed:
    """How many files are not in the lake as they are now, what is read of them, and what their facts may take."""

    files: int
    read_bytes: int
    needed_bytes: int

    def __add__(self, other: DiskNeed) -> DiskNeed:
        """Return what both take."""
        return DiskNeed(
            self.files + other.files,
            self.read_bytes + other.read_bytes,
            self.needed_bytes + other.needed_bytes,
        )


def disk_need(lake: Lake, files: Iterable[Path], *, packets: bool) -> DiskNeed:
    """Return what an ingest of files will write into a lake; files that it holds as they are now take nothing."""
    count, read, needed = 0, 0, 0.0
    for path in files:
        try:
            state = path.stat()
            if is_remote(path):
                # A request for each object would take longer than it is worth: its name must do.
                compressed = path.name.endswith(COMPRESSED_SUFFIXES)
            else:
                with path.open("rb") as handle:
                    compressed = handle.read(6).startswith(COMPRESSED)
        except OSError:
            continue  # the attempt to read it says why
        if recorded_as_it_is(lake, path, state.st_size, state.st_mtime_ns):
            continue
        ratio = COMPRESSED_RATIO if compressed else PLAIN_RATIO
        count += 1
        read += state.st_size
        # Holes of a file are read and hold nothing.
        needed += allocated_bytes(state) * ratio * (PACKETS_RATIO if packets else 1) + SOURCE_BYTES
    return DiskNeed(count, read, round(needed))
