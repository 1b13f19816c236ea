"""Tables with lines that are not UTF-8, through every reader of CSV that goes through Arrow."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from connection_tables import DESCRIPTION, HEADER
from decoded_inputs import STUDY, web100_lines

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.content.csv_rows import MARK, MarkedText, lines_in
from sojourn_ingest.formats.interface import Context, InputError, Reading
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.session.sources import open_file

NOT_UTF8 = b"\xe9t\xe9 \xff\xed\xa0\x80"


@pytest.fixture(autouse=True)
def _no_traceback(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What C code cannot raise is printed as a traceback in the middle of an ingest."""
    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: printed.append(unraisable.exc_value))
    yield
    assert printed == []


def described_table(folder: Path, *rows: bytes) -> tuple[Path, str, list[Path]]:
    (folder / "t.yaml").write_text(DESCRIPTION)
    good = [f"{1_700_000_000 + n},192.0.2.1,10,50,{n}".encode() for n in range(3)]
    path = folder / "t.csv"
    path.write_bytes(b"\n".join([",".join(HEADER).encode(), *good, *rows, *good]) + b"\n")
    return path, "connection", [folder / "t.yaml"]


def study_table(folder: Path, *rows: bytes) -> tuple[Path, str, list[Path]]:
    (folder / "study.yaml").write_text(STUDY)
    good = [f"call {n},{n}".encode() for n in range(3)]
    path = folder / "scores.csv"
    path.write_bytes(b"\n".join([b"call,score", *good, *rows, *[line.replace(b"call", b"c") for line in good]]) + b"\n")
    return path, "qoe_score", [folder / "study.yaml"]


def sidestream(folder: Path, *rows: bytes) -> tuple[Path, str, list[Path]]:
    head, good, *_ = web100_lines().splitlines()
    path = folder / "x.web100"
    path.write_bytes(b"\n".join([head, *[good] * 3, *rows, *[good] * 3]) + b"\n")
    return path, "connection", []


def read(written: tuple[Path, str, list[Path]]) -> tuple[int, Reading]:
    path, table, descriptions = written
    source = open_file(path).source
    reading = Reading()
    context = Context(Pseudonymiser(b"key"), lambda _: "")
    facts = Registry(descriptions).recognise(source).facts(source, context, reading)
    return sum(batch.num_rows for name, batch in facts if name == table), reading


@pytest.mark.parametrize(
    ("write", "row"),
    [
        (described_table, b"1," + NOT_UTF8 + b",1"),
        (described_table, b"1,2,3,4,5,6," + NOT_UTF8),
        (study_table, NOT_UTF8),
        (study_table, b"call," + NOT_UTF8 + b",3"),
        (sidestream, b"C: 4 " + NOT_UTF8),
    ],
)
def test_a_row_of_wrong_width_that_is_not_utf8_is_counted_and_the_others_are_read(
    write: Callable[..., tuple[Path, str, list[Path]]], row: bytes, tmp_path: Path
) -> None:
    rows, reading = read(write(tmp_path, row, row))
    assert rows == 6
    assert reading.refused == {"wrong_number_of_columns": 2}
    assert reading.fault is None


@pytest.mark.parametrize(
    ("write", "row"),
    [(described_table, b"1," + NOT_UTF8 + b",1,2,3"), (study_table, NOT_UTF8 + b",3")],
)
def test_a_value_that_is_not_utf8_is_damage_as_before(
    write: Callable[..., tuple[Path, str, list[Path]]], row: bytes, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"In CSV column #\d.*convert the table to UTF-8$") as refused:
        read(write(tmp_path, row, b"of,wrong,width," * 9 + NOT_UTF8))
    assert refused.value.reason == "corrupt_record"


def xz(content: bytes) -> bytes:
    return lzma.compress(content, preset=0)


def zstd(content: bytes) -> bytes:
    return pa.compress(content, "zstd", asbytes=True)


@pytest.mark.parametrize(
    ("compress", "behind"), [(gzip.compress, b"a"), (xz, b"a"), (xz, bytes(3)), (zstd, b"a"), (zstd, bytes(512))]
)
@pytest.mark.parametrize("write", [described_table, study_table, sidestream])
@pytest.mark.parametrize("more", [0, 500])
def test_rows_before_damage_are_kept(
    write: Callable[..., tuple[Path, str, list[Path]]],
    more: int,
    compress: Callable[[bytes], bytes],
    behind: bytes,
    tmp_path: Path,
) -> None:
    path, table, descriptions = write(tmp_path)
    row = path.read_bytes().splitlines()[1]
    path, *_ = write(tmp_path, *[row] * more)
    packed = path.with_name(f"{path.name}.packed")
    packed.write_bytes(compress(path.read_bytes()) + behind)
    rows, reading = read((packed, table, descriptions))
    assert (rows, reading.records_read, reading.refused) == (6 + more, 6 + more, {})
    assert reading.fault is not None
    assert (reading.fault.reason, "stream is damaged" in reading.fault.message) == ("compression", True)


@pytest.mark.parametrize("write", [described_table, study_table, sidestream])
def test_a_row_that_damage_cuts_is_not_kept(write: Callable[..., tuple[Path, str, list[Path]]], tmp_path: Path) -> None:
    path, table, descriptions = write(tmp_path)
    content = path.read_bytes()
    # The last value of the last row has lost a digit.
    first = content.rstrip(b"\n")[:-1]
    path.write_bytes(gzip.compress(first) + gzip.compress(b"5\n")[:12])
    rows, reading = read((path, table, descriptions))
    assert (rows, reading.refused) == (5, {})
    assert reading.fault is not None
    assert reading.fault.reason == "compression"


@pytest.mark.parametrize("write", [described_table, study_table, sidestream])
def test_a_table_that_is_damaged_before_its_first_row_is_refused(
    write: Callable[..., tuple[Path, str, list[Path]]], tmp_path: Path
) -> None:
    path, table, descriptions = write(tmp_path)
    head, first, *_ = path.read_bytes().splitlines(keepends=True)
    for text in (head, head + first[:-2], head[:-1]):
        path.write_bytes(gzip.compress(text) + b"a")
        with pytest.raises(InputError, match="gzip stream is damaged"):
            read((path, table, descriptions))


def test_a_value_that_nobody_reads_may_be_anything(tmp_path: Path) -> None:
    names = web100_lines().split(b"\n", 1)[0].split()
    fields = web100_lines().splitlines()[1].split()
    fields[names.index(b"cid")] = NOT_UTF8.replace(b" ", b"")
    rows, reading = read(sidestream(tmp_path, b" ".join(fields)))
    assert (rows, reading.refused, reading.fault) == (7, {}, None)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 1000])
@pytest.mark.parametrize(
    "content",
    [
        b"plain\n" * 9,
        "ä€😀\n".encode() * 9,
        b"a\xffb\xe2\x82c\xf0\x9f\x98\n" * 5,
        "cut 😀".encode()[:-1],
        b"",
    ],
)
def test_text_passes_whatever_is_read_at_a_time(content: bytes, size: int) -> None:
    stream = MarkedText(io.BytesIO(content))
    pieces = list(iter(lambda: stream.read(size), b""))
    assert all(len(piece) <= size for piece in pieces)
    try:
        expected = content.decode().encode()
    except UnicodeDecodeError:
        # Python's own replacement is one character for each longest part of one, and so is this.
        expected = content.decode(errors="replace").replace("\ufffd", MARK).encode()
    assert b"".join(pieces) == expected
    assert stream.replaced == (expected != content)


OPENED = {described_table: b'1,2,3,4,"5', study_table: b'call,"5'}


@pytest.mark.parametrize("write", OPENED)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n \n"])
def test_lines_behind_an_open_quote_are_not_lost_unsaid(
    write: Callable[..., tuple[Path, str, list[Path]]], end: bytes, tmp_path: Path
) -> None:
    path, table, descriptions = write(tmp_path, *[OPENED[write]] * 3)
    content = path.read_bytes().replace(b"\n", end)
    lines = sum(1 for line in content.splitlines() if line) - 1
    for compress, behind in ((bytes, b""), (gzip.compress, b""), (xz, b"")):
        path.write_bytes(compress(content) + behind)
        rows, reading = read((path, table, descriptions))
        assert rows + sum(reading.refused.values()) >= lines
        assert reading.refused["line_within_a_value"] >= 3
    # Each of these is one value: the rows around them are read, and the lines in them are not passed over unsaid.
    path, *_ = write(tmp_path, OPENED[write] + b'\n 6"')
    rows, reading = read((path, table, descriptions))
    assert reading.refused["line_within_a_value"] == 1


def test_lines_of_a_table_in_many_pieces_are_counted_once(tmp_path: Path) -> None:
    path, table, descriptions = described_table(tmp_path)
    row = path.read_bytes().splitlines()[1]
    path, *_ = described_table(tmp_path, *[row, b""] * 200_000)
    rows, reading = read((path, table, descriptions))
    assert (rows, reading.refused) == (200_006, {})
    content = b"\xef\xbb\xbf\n a\n\n\rb\r\n\r\nc d"
    assert lines_in(content[3:]) == 3
    for size in range(3, len(content)):
        marked = MarkedText(io.BytesIO(content))
        while marked.read(size):
            pass
        assert marked.lines == 3


def test_a_value_over_the_end_of_a_block_is_damage_in_words(tmp_path: Path) -> None:
    path, table, descriptions = described_table(tmp_path)
    row = path.read_bytes().splitlines()[1]
    path, *_ = described_table(tmp_path, b'1,2,3,4,"5', *[row] * 300_000)
    rows, reading = read((path, table, descriptions))
    assert rows == 3
    assert reading.fault is not None
    assert "damaged after row 3: a quote is not closed, or a value has line breaks" in reading.fault.message
