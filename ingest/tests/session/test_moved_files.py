"""Files that are written, copied, renamed and swapped between ingests: each content is in the lake once, and no other.

The oracle is a dictionary of what each name has. Content number n is a capture of 2^n packets, so that the sum of
packets in the lake tells which contents it has, and whether one is counted twice.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from captures import udp_frame, write_pcap
from ingested_files import rows_of

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import Attempt, IngestSession, files_below

SECOND = 10**9
#: So many contents continue one another in time; the others are hours apart.
CONTINUED, CONTENTS = 5, 9
#: Names that rotated files have, and others.
NAMES = ("t.pcap", "t.pcap1", "t.pcap2", "u.pcap", "u.pcap1", "keep.pcap", "old.pcap", "a.pcap")

#: A step: what is done, the name it is done to, and a content or another name; or an ingest.
Step = tuple[str, str, int | str] | tuple[str]
INGEST: Step = ("ingest",)


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    path = tmp_path_factory.mktemp("contents") / "whole.pcap"
    written = []
    for number in range(CONTENTS):
        packets = 2**number
        start = (packets - 1) * SECOND // 100 if number < CONTINUED else number * 7200 * SECOND
        frames = [udp_frame(f"{number} {packet}".encode()) for packet in range(packets)]
        write_pcap(path, frames, 1_700_000_000 * SECOND + start, SECOND // 100)
        written.append(path.read_bytes())
    return written


@dataclass
class Folder:
    """A folder that is ingested again and again, and what its files have."""

    root: Path
    contents: list[bytes]
    #: What each name has, and what it had when it was ingested last, where it is gone by now.
    there: dict[str, int] = field(default_factory=dict)
    recorded: dict[str, int] = field(default_factory=dict)
    moment: int = 1

    def __post_init__(self) -> None:
        self.files.mkdir(parents=True)

    @property
    def files(self) -> Path:
        return self.root / "in"

    def do(self, step: Step) -> None:
        match step:
            case ("write", str(name), int(number)):
                (self.files / name).write_bytes(self.contents[number])
                self.there[name] = number
            case ("copy", str(name), str(other)):
                shutil.copy(self.files / name, self.files / other)
                self.there[other] = self.there[name]
            case ("rename", str(name), str(other)):
                (self.files / name).rename(self.files / other)
                self.there[other] = self.there.pop(name)
                return
            case ("swap", str(name), str(other)):
                (self.files / name).rename(self.files / "between")
                (self.files / other).rename(self.files / name)
                (self.files / "between").rename(self.files / other)
                self.there[name], self.there[other] = self.there[other], self.there[name]
                return
            case _:
                self.ingest()
                return
        self.moment += 1
        written = self.files / str(step[2] if step[0] == "copy" else step[1])
        os.utime(written, (self.moment, self.moment))

    def ingest(self) -> list[Attempt]:
        lake = Lake(self.root / "lake")
        with lake.writing():
            attempts = IngestSession(lake, Pseudonymiser(b"key")).run(files_below([self.files]), lambda _: None)
        self.recorded |= self.there
        return attempts

    def check(self) -> None:
        """Fail if a content of a file is missing, counted twice, or stays though no path has it any more."""
        lake = Lake(self.root / "lake")
        packets = sum(row["fwd_packets"] + row["rev_packets"] for row in rows_of(lake, "flow"))
        required = sum(2**number for number in set(self.there.values()))
        allowed = sum(2**number for number in {*self.recorded.values(), *self._of_incomplete_recordings(lake)})
        assert (packets & required, packets | allowed) == (required, allowed), f"{packets:b} of {required:b}"

    def _of_incomplete_recordings(self, lake: Lake) -> Iterator[int]:
        # A recording stays as it is while one of its files is gone.
        numbers = {hashlib.sha256(content).hexdigest(): number for number, content in enumerate(self.contents)}
        for commit in lake.live():
            if not all(Path(part.source_path).is_file() for part in commit.parts):
                yield from (numbers[part.content_hash] for part in commit.parts)


SEQUENCES: dict[str, list[Step]] = {
    "a part of a recording is moved and its name used again": [
        ("write", "t.pcap", 0), ("write", "t.pcap1", 1), INGEST,
        ("rename", "t.pcap1", "keep.pcap"), ("write", "t.pcap1", 7), INGEST,
    ],
    "of two copies at a path that had something else before, one changes": [
        ("write", "t.pcap1", 6), INGEST,
        ("copy", "t.pcap1", "old.pcap"), ("write", "t.pcap1", 1), ("copy", "t.pcap1", "t.pcap2"), INGEST,
        ("write", "t.pcap2", 6), INGEST,
    ],
    "two recordings have the same file": [
        ("write", "old.pcap", 1), INGEST,
        ("rename", "old.pcap", "u.pcap"), ("copy", "u.pcap", "t.pcap2"), ("write", "u.pcap1", 4),
        ("write", "t.pcap1", 0), INGEST,
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SEQUENCES)
def test_each_content_is_counted_once(tmp_path: Path, contents: list[bytes], name: str) -> None:
    folder = Folder(tmp_path / "f", contents)
    for step in SEQUENCES[name]:
        folder.do(step)
        if step == INGEST:
            folder.check()
            assert {attempt.commit.status for attempt in folder.ingest()} == {"ok"}
            folder.check()


def random_step(source: random.Random, folder: Folder) -> Step | None:
    kind = source.choice(("write", "write", "rename", "rename", "copy", "swap"))
    name, other = source.choice(NAMES), source.choice(NAMES)
    if kind == "write":
        return (kind, name, source.randrange(CONTENTS))
    if name == other or name not in folder.there or (kind == "swap" and other not in folder.there):
        return None
    return (kind, name, other)


@pytest.mark.parametrize("seed", range(24))
def test_each_content_is_counted_once_after_random_steps(tmp_path: Path, contents: list[bytes], seed: int) -> None:
    source = random.Random(seed)
    folder = Folder(tmp_path / "f", contents)
    steps: list[Step] = []
    for _ in range(6):
        for _ in range(source.randint(2, 8)):
            step = random_step(source, folder)
            if step is not None:
                steps.append(step)
                folder.do(step)
        if folder.there:
            folder.ingest()
            folder.check()
