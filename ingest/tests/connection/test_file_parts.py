"""A file that is read in parts gives the rows, numbers, refusals and damage that it gives as a whole."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from connection_tables import write_tables

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.connection import connection_table
from sojourn_ingest.formats.content import file_parts
from sojourn_ingest.formats.content.file_parts import open_part, text_parts
from sojourn_ingest.formats.interface import Context, Facts, Reading, Source
from sojourn_ingest.formats.registry import Registry


def no_fingerprint(path: Path) -> str:
    raise AssertionError(path)


CONTEXT = Context(Pseudonymiser(b"key"), no_fingerprint)


def rows_of(facts: Facts) -> list[dict[str, Any]]:
    return [row for _, batch in facts for row in batch.to_pylist()]


@pytest.mark.parametrize("part_bytes", [700, 5_000])
@pytest.mark.parametrize("place", range(4))
def test_parts_give_what_the_whole_gives(
    tmp_path: Path, place: int, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a large file, there are several blocks in front of the damage.
    monkeypatch.setattr(connection_table, "BLOCK_BYTES", 600)
    path = write_tables(tmp_path / "tables", 1500)[place]
    source = Source(path, "none", path.read_bytes()[:4096], path.stat().st_size)
    chosen = Registry([path.parent / "in-parts.yaml"]).recognise(source).splittable()
    assert chosen is not None
    whole = Reading()
    expected = rows_of(chosen.read(source, CONTEXT, whole))
    assert len(expected) > 700
    assert whole.refused

    parts = chosen.parts(source, part_bytes)
    assert len(parts) >= 5 or path.suffix == ".parquet"
    assert len(parts) >= 2
    rows_of_parts: list[dict[str, Any]] = []
    summed = Reading()
    first_row = 0
    for part in parts:
        placed_part = part if part.first_row is not None else replace(part, first_row=first_row)
        if part.first_row is None:
            first_row += chosen.rows_in(source, part)
        reading = Reading()
        rows_of_parts += rows_of(chosen.read_part(source, placed_part, CONTEXT, reading))
        summed.records_read += reading.records_read
        for reason, count in reading.refused.items():
            summed.refuse(reason, count)
        if reading.fault is not None:
            summed.fault = reading.fault
            break
    if path.name != "damaged.csv":
        assert rows_of_parts == expected
        assert (summed.records_read, summed.refused, summed.fault) == (whole.records_read, whole.refused, None)
        return
    # Arrow gives up a whole block at damage, and the blocks of a part are others: never a row that is not there.
    assert summed.fault is not None
    assert whole.fault is not None
    assert summed.fault.reason == whole.fault.reason
    longer, shorter = sorted((rows_of_parts, expected), key=len, reverse=True)
    assert longer[: len(shorter)] == shorter


def test_parts_of_text_are_whole_lines_and_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(10_000)) + b"without end")
    parts = text_parts(path, 1000)
    assert len(parts) > 40
    assert all(one.end == other.start for one, other in pairwise(parts))
    contents = []
    for part in parts:
        with open_part(path, part) as handle:
            contents.append(handle.read())
    assert all(content.endswith(b"\n") for content in contents[:-1])
    assert b"".join(contents) == path.read_bytes()


@pytest.mark.parametrize("end", [b"\n", b"\n" + b"after\n" * 400, b""])
def test_a_line_that_is_too_long_is_in_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes) -> None:
    monkeypatch.setattr(file_parts, "PIECE_BYTES", 100)
    path = tmp_path / "lines"
    path.write_bytes(b"before\n" * 400 + b"x" * 5_000 + end)
    parts = text_parts(path, 1000)
    assert len(parts) >= (5 if b"after" in end else 3)
    assert all(one.end == other.start for one, other in pairwise(parts))
    assert (parts[0].start, parts[-1].end) == (0, path.stat().st_size)
    content = path.read_bytes()
    assert all(content[part.end - 1 : part.end] == b"\n" for part in parts[:-1])
