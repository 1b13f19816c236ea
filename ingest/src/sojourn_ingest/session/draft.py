"""An outcome in the making."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sojourn_ingest.formats.interface import InputError, Reading
from sojourn_ingest.lake import Commit, Outcome
from sojourn_ingest.remote import RemotePath
from sojourn_ingest.remote.copies import state_of_copy
from sojourn_ingest.session.recorded_paths import path_text

#: Reasons that say of a compressed file that it is damaged.
DAMAGE = ("compression", "checksum")
#: The decoder version of what no format recognised.
# A version of its own, not of the package: an outcome is a fact, and does not change with a release.
UNRECOGNISED_VERSION = "sojourn-ingest-0.1.0"


@dataclass
class Draft:
    """What is known about a source before it is read; times begin when the draft is created."""

    path: Path
    size_bytes: int = 0
    modified_ns: int = 0
    started_ns: int = field(default_factory=time.time_ns)
    #: When the attempt began, by the clock that durations are measured with, in seconds.
    started_s: float = field(default_factory=time.perf_counter)
    content_hash: str = ""
    compression: str = "none"
    format: str | None = None
    version: str = UNRECOGNISED_VERSION
    #: What keeps a compressed file from being decompressed whole, once that is known.
    damage: InputError | None = None
    is_damage_known: bool = False
    #: The files of a recording or a pair with size and time of modification, as they were hashed.
    seen: tuple[tuple[Path, int, int], ...] = ()

    @property
    def source_path(self) -> str:
        """The path as text, even if its bytes are not UTF-8."""
        return path_text(self.path)

    def note_damage(self, fault: InputError | None) -> None:
        """Take the fault that a file was read through with, if it is one of its compression."""
        self.damage = fault if fault is not None and fault.reason in DAMAGE else None
        self.is_damage_known = True

    def is_damaged_like(self, commit: Commit) -> bool:
        """Return whether a commit of the same readable content says what is wrong with the file as it is now."""
        if not self.is_damage_known:
            return True
        return commit.reason not in DAMAGE if self.damage is None else commit.reason is not None

    def read_another_version(self) -> bool:
        """Return whether a remote file, or a part, was another one when it was copied to be read than was hashed."""
        seen = self.seen or ((self.path, self.size_bytes, self.modified_ns),)
        for path, size_bytes, modified_ns in seen:
            copied = state_of_copy(path) if isinstance(path, RemotePath) else None
            if copied is not None and (copied.size_bytes, copied.modified_ns) != (size_bytes, modified_ns):
                return True
        return False

    def take_state_of_copy(self) -> None:
        """Take size and time of the version of a remote file that was copied: it may be newer than that listed."""
        state = state_of_copy(self.path) if isinstance(self.path, RemotePath) else None
        if state is not None:
            self.size_bytes, self.modified_ns = state.size_bytes, state.modified_ns

    def _outcome(
        self, status: Literal["ok", "partial", "rejected"], reading: Reading, **more: str | int | None
    ) -> Outcome:
        fault = reading.fault
        return Outcome(
            source_path=self.source_path,
            content_hash=self.content_hash,
            decoder_version=self.version,
            size_bytes=self.size_bytes,
            modified_ns=self.modified_ns,
            compression=self.compression,
            format=self.format,
            status=status,
            records_read=reading.records_read,
            refused=dict(reading.refused),
            reason=None if fault is None else fault.reason,
            message=None if fault is None else fault.message,
            fault_offset_bytes=None if fault is None else fault.offset,
            started_ns=self.started_ns,
            duration_ms=(time.perf_counter() - self.started_s) * 1000,
            **more,  # type: ignore[arg-type]
        )

    def read(self, reading: Reading, part_of: str | None = None) -> Outcome:
        """Return the outcome of what was read, as a file of its own or as part of a recording."""
        fault = reading.fault
        nothing_read = part_of is not None and reading.records_read == 0
        status: Literal["ok", "partial", "rejected"] = (
            "ok" if fault is None else "rejected" if nothing_read else "partial"
        )
        return self._outcome(status, reading, part_of=part_of)

    def duplicate(self, holder: Commit) -> Outcome:
        """Return the outcome of a content that another path holds."""
        is_of_holder = self.is_damage_known and holder.reason in DAMAGE
        of_content = None if holder.reason is None or is_of_holder else InputError(holder.reason, holder.message or "")
        fault = self.damage or of_content
        reading = Reading(records_read=holder.records_read, fault=fault)
        status: Literal["ok", "partial"] = "ok" if fault is None else "partial"
        return self._outcome(status, reading, duplicate_of=holder.source_path)

    def rejected(self, error: InputError, reading: Reading) -> Outcome:
        """Return the outcome of what cannot be read."""
        reading.fault = error
        return self._outcome("rejected", reading)
