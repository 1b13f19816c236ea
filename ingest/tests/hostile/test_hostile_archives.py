"""Archives whose headers are made to take time or memory: both are bounded, and what comes before a fault is kept."""

from __future__ import annotations

import io
import itertools
import struct
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from connection.test_connection_archive import ndt7, read, rows_of

from sojourn_ingest.formats.connection import tar_members, zip_members
from sojourn_ingest.formats.interface import InputError, Reading

END = bytes(1024)
NUMBERS = itertools.count()


def entry(
    content: bytes = b"", kind: bytes = tarfile.REGTYPE, name: str | None = None, size: int | None = None
) -> bytes:
    """Return a header, which may state another size, and the content behind it; no two have one name by default."""
    header = tarfile.TarInfo(f"{next(NUMBERS)}.json" if name is None else name)
    header.type, header.size = kind, len(content) if size is None else size
    return header.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


def with_checksum(header: bytes, total: Callable[[bytes], int] = sum) -> bytes:
    blanked = header[:148] + b" " * 8 + header[156:512]
    return blanked[:148] + b"%06o\0 " % total(blanked) + blanked[156:] + header[512:]


def read_of(path: Path, *entries: bytes) -> tuple[int, Reading]:
    path.write_bytes(b"".join(entries))
    batches, reading = read(path)
    return len(rows_of(batches)), reading


def seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """Return the least time of three, because a machine that others use lengthens some of them."""
    taken = []
    for _ in range(3):
        started = time.process_time()
        function(*arguments)
        taken.append(time.process_time() - started)
    return min(taken)


@pytest.mark.parametrize("run", [b"1", b"1\n", b"1 size=", b"\n9 size=1"])
def test_records_of_pax_take_time_in_proportion_to_their_length(tmp_path: Path, run: bytes) -> None:
    def read_records(length: int) -> None:
        records = (run * length)[:length]
        assert read_of(tmp_path / "a.tar", entry(ndt7()), entry(records, tarfile.XHDTYPE), entry(), END)[0] == 1

    once, twice = (seconds(read_records, length) for length in (20_000, 40_000))
    assert twice < 3 * once + 0.05


def test_memory_does_not_grow_with_headers_for_all_members(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        key_of = [b"65000 %05d%b=" % (number, b"k" * 50) for number in range(count)]
        headers = [entry(key.ljust(64_999, b"v") + b"\n", tarfile.XGLTYPE) + entry() for key in key_of]
        (tmp_path / "a.tar").write_bytes(entry(ndt7()) + b"".join(headers) + END)
        del headers
        tracemalloc.start()
        batches, reading = read(tmp_path / "a.tar")
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (len(rows_of(batches)), reading.refused, reading.fault) == (1, {"empty_member": count}, None)
        return size

    few = peak(5)
    assert peak(40) < few + 300_000


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_chain_of_names_is_damage(tmp_path: Path, kind: bytes) -> None:
    chain = entry(b"12 path=one\n", kind) * 5000
    rows, reading = read_of(tmp_path / "a.tar", entry(ndt7()), chain, entry(ndt7()), END)
    assert rows == 1
    assert reading.fault is not None
    assert reading.fault.reason == "corrupt_record"
    assert reading.fault.message.startswith(
        "tar archive is damaged after member 1: header of a member: its name is too long"
    )
    assert read_of(tmp_path / "a.tar", entry(ndt7()), entry(b"12 path=one\n", kind) * 4, entry(ndt7()), END)[0] == 2


@pytest.mark.parametrize(
    "records",
    [b"1" * 5000 + b" path=one\n", b"0 path=one\n", b"12 size=" + b"9" * 5000 + b"\n", b"12 mtime=nan\n", b"\xff"],
)
def test_records_of_pax_that_are_none_are_passed_over(tmp_path: Path, records: bytes) -> None:
    rows, reading = read_of(tmp_path / "a.tar", entry(records, tarfile.XHDTYPE), entry(ndt7()), entry(ndt7()), END)
    assert (rows, reading.fault) == (2, None)


def test_a_member_without_its_holes_is_counted(tmp_path: Path) -> None:
    versions = [
        b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n",
        b"23 GNU.sparse.size=512\n26 GNU.sparse.offset=zero\n",
        b"12 path=one\n22 GNU.sparse.map=a,b\n",
    ]
    sparse = [entry(records, tarfile.XHDTYPE) + entry(b"no map\n" * 90) for records in versions]
    # GNU tar's own: a block with more of the map follows the header, and does not count as content.
    header = bytearray(entry(b"x" * 512, tarfile.GNUTYPE_SPARSE))
    header[482] = 1
    mapped = with_checksum(bytes(header[:512])) + bytes(504) + b"\1" + bytes(519) + bytes(header[512:])
    rows, reading = read_of(tmp_path / "a.tar", entry(ndt7()), *sparse, mapped, entry(ndt7()), END)
    assert (rows, reading.refused, reading.fault) == (2, {"sparse_member": 4}, None)


@pytest.mark.parametrize(
    "second",
    [
        entry(ndt7(), name="./a"),
        entry(b"10 path=a\n", tarfile.XHDTYPE) + entry(ndt7()),
        entry(b"./a\0", tarfile.GNUTYPE_LONGNAME) + entry(ndt7()),
    ],
)
def test_of_members_with_one_name_the_first_is_read_and_the_others_are_a_fault(tmp_path: Path, second: bytes) -> None:
    rows, reading = read_of(tmp_path / "a.tar", entry(ndt7(), name="a"), second, entry(ndt7()), END)
    assert (rows, reading.refused) == (2, {"repeated_member": 1})
    assert reading.fault is not None
    assert reading.fault.message.startswith("member 2 of the archive has the name of an earlier one")


def test_of_files_of_a_zip_archive_with_one_name_the_first_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", ndt7())
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a", ndt7())
    batches, reading = read(path)
    assert (len(rows_of(batches)), reading.refused) == (1, {"repeated_member": 1})
    assert reading.fault is not None


def test_names_may_be_longer_than_their_field(tmp_path: Path) -> None:
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with tarfile.open(tmp_path / "a.tar", "w", format=form) as archive:
            for number in range(3):
                header = tarfile.TarInfo("/".join(["a" * 50, "b" * 50, "c" * 40]) + f"\n{number}")
                header.size = len(ndt7())
                archive.addfile(header, io.BytesIO(ndt7()))
        batches, reading = read(tmp_path / "a.tar")
        assert (len(rows_of(batches)), reading.refused, reading.fault) == (3, {}, None)


def test_a_member_of_a_kind_that_is_not_read_is_counted(tmp_path: Path) -> None:
    volume, listed = entry(b"", b"V"), entry(b"Yone.json\0", b"D")
    others = [entry(ndt7(), kind) for kind in (b"M", b"Z")]
    rows, reading = read_of(tmp_path / "a.tar", volume, listed, *others, entry(ndt7()), END)
    assert (rows, reading.refused, reading.fault) == (1, {"member_not_unpacked": 2}, None)


def test_members_beyond_a_number_are_not_read_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_members, "MOST_MEMBERS", 6)
    within = [entry(ndt7()), entry(), entry(kind=tarfile.DIRTYPE), entry(ndt7()), entry(b"a text"), entry(ndt7())]
    rows, reading = read_of(tmp_path / "a.tar", *within, END)
    assert (rows, reading.fault) == (3, None)
    for one in (ndt7(), b""):
        rows, reading = read_of(tmp_path / "a.tar", *within, entry(one) * 5, END)
        assert (rows, reading.refused) == (3, {"empty_member": 1, "member: unrecognised_format": 1})
        assert reading.fault is not None
        assert (reading.fault.reason, reading.fault.message) == (
            "too_many_members",
            "tar archive has more than 6 members, and the rest is not read; unpack it and give its folder",
        )


def test_the_bound_on_members_is_far_above_archives_of_measurements() -> None:
    # M-Lab's have ten to thirty thousand.
    assert tar_members.MOST_MEMBERS == 100_000


def test_sizes_are_read_in_every_form(tmp_path: Path) -> None:
    content = ndt7()
    stated = b"%d size=%d\n" % (len(b"12 size=%d\n" % len(content)), len(content))
    of_pax = entry(b"12 path=one\n" + stated, tarfile.XHDTYPE) + entry(content, size=0)
    large = bytearray(entry(content))
    large[124:136] = b"\x80" + len(content).to_bytes(11)
    blank = bytearray(entry(content))
    blank[124:136] = b"%11o " % len(content)
    named = entry(content, name="b\u00e9")
    signed = with_checksum(named, lambda header: sum(memoryview(header).cast("b")))
    # A link and a folder have no content, whatever their size.
    without = [entry(kind=kind, size=9_000) for kind in (tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE)]
    folder = entry(kind=tarfile.AREGTYPE, name="old/", size=9_000)
    unknown = entry(b"label" * 300, b"V")
    members = [of_pax, with_checksum(bytes(large)), with_checksum(bytes(blank)), signed, *without, folder, unknown]
    rows, reading = read_of(tmp_path / "a.tar", *members, entry(content), END)
    assert (rows, reading.refused, reading.fault) == (5, {}, None)


@pytest.mark.parametrize("field", [b"-0000000001\0", b"0x000000001\0", b"1_000\0\0\0\0\0\0\0", b"\xff" * 12])
def test_a_size_that_is_none_is_damage(tmp_path: Path, field: bytes) -> None:
    header = bytearray(entry(b"x"))
    header[124:136] = field
    rows, reading = read_of(tmp_path / "a.tar", entry(ndt7()), with_checksum(bytes(header)), entry(ndt7()), END)
    assert rows == 1
    assert reading.fault is not None
    assert reading.fault.message.startswith("tar archive is damaged after member 1: header of a member: invalid number")


def test_an_archive_that_ends_anywhere_keeps_the_members_before(tmp_path: Path) -> None:
    members = [entry(ndt7()), entry(b"12 path=one\n", tarfile.XHDTYPE) + entry(ndt7()), entry(ndt7() + b" " * 2**21)]
    content = b"".join(members) + END
    ends = [sum(map(len, members[: count + 1])) for count in range(3)]
    for end in [*range(ends[0], ends[1] + 1500, 100), len(content) - 2**20, ends[2] - 100, ends[2], ends[2] + 500]:
        rows, reading = read_of(tmp_path / "a.tar", content[:end])
        # A result that is whole may be taken before what follows it in the archive turns out to be cut.
        whole = sum(end >= one for one in ends)
        assert rows in (whole, whole + 1), end
        assert reading.fault is not None, end
        assert reading.fault.reason in ("truncated", "corrupt_record"), end
    assert read_of(tmp_path / "a.tar", content)[1].fault is None


def test_members_are_those_of_the_standard_library(tmp_path: Path) -> None:
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        path = tmp_path / f"{form}.tar"
        with tarfile.open(path, "w", format=form) as made:
            for number, size in enumerate((0, 1, 511, 512, 513, 70_000, 2**20 + 1)):
                info = tarfile.TarInfo("d" * 80 + "/" + "n" * (90 if form == tarfile.USTAR_FORMAT else 300))
                info.size, info.mtime = size, number + (0.5 if form == tarfile.PAX_FORMAT else 0)
                made.addfile(info, io.BytesIO(bytes([number]) * size))
        with path.open("rb") as stream, tarfile.open(path) as expected:
            found = [io.BufferedReader(member).read() for member in tar_members.TarMembers(stream)]
            stored = [expected.extractfile(one) for one in expected]
            assert found == [one.read() for one in stored if one is not None]


def zip_of(path: Path, *files: bytes) -> zipfile.ZipFile:
    """Return an archive whose list of files may still be changed; it is written when it is closed."""
    archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
    for number, content in enumerate(files):
        archive.writestr(f"{number}.json", content)
    return archive


def test_names_for_the_same_bytes_of_a_zip_archive_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    original = zipfile.ZipFile.open

    def counted(self: zipfile.ZipFile, entry: zipfile.ZipInfo, *more: Any) -> Any:
        opened.append(entry.filename)
        return original(self, entry, *more)

    with zip_of(tmp_path / "a.zip", ndt7(), ndt7("192.0.2.2"), b"") as archive:
        archive.filelist[1:1] = [archive.filelist[0]] * 300
        archive.filelist.append(archive.filelist[-2])
    monkeypatch.setattr(zipfile.ZipFile, "open", counted)
    batches, reading = read(tmp_path / "a.zip")
    assert [row["client_host_key"] for row in rows_of(batches)] == ["192.0.2.1", "192.0.2.2"]
    assert opened == ["0.json", "1.json"]
    assert reading.refused == {"member: corrupt_record": 301, "empty_member": 1}
    assert reading.fault is not None
    assert (reading.fault.reason, reading.fault.message) == (
        "corrupt_record",
        "member 2 of the archive: zip: it overlaps another file; make the archive again",
    )


def test_a_file_within_another_one_of_a_zip_archive_is_not_read(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("inner.json", ndt7())
    path = tmp_path / "a.zip"
    with zip_of(path, ndt7()) as archive:
        stored = zipfile.ZipInfo("quoted.zip")
        archive.writestr(stored, inner.getvalue())
        (within,) = zipfile.ZipFile(inner).infolist()
        within.header_offset += stored.header_offset + zip_members.HEADER_BYTES + len(stored.filename)
        archive.filelist.append(within)
    batches, reading = read(path)
    assert len(rows_of(batches)) == 1
    assert reading.refused == {"member: archive_in_archive": 1, "member: corrupt_record": 1}
    assert reading.fault is not None
    assert reading.fault.message.startswith("member 3 of the archive: zip: it overlaps another file")


def test_a_list_of_files_in_the_form_for_large_zip_archives_is_bounded_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.zip"
    zip_of(path, *[ndt7()] * 3).close()
    content = path.read_bytes()
    files, end = content[:-22], bytearray(content[-22:])
    count, size, start = struct.unpack_from("<10xHII", end)
    # The usual form may state anything beside the one that holds.
    struct.pack_into("<HHI", end, 8, 1, 1, 46)
    record = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, start)
    place = struct.pack("<IIQI", 0x07064B50, 0, len(files), 1)
    path.write_bytes(files + record + place + end)
    assert len(rows_of(read(path)[0])) == 3
    monkeypatch.setattr(zip_members, "MOST_MEMBERS", 2)
    with pytest.raises(InputError, match="zip archive of too many files"):
        read(path)
    monkeypatch.undo()
    monkeypatch.setattr(zip_members, "MOST_LIST_BYTES", 100)
    with pytest.raises(InputError, match="zip archive of too many files"):
        read(path)
    path.write_bytes(files + record + b"more" + place + end)
    with pytest.raises(InputError, match="zip archive of too many files"):
        read(path)


@pytest.mark.parametrize(
    ("place", "before", "altered", "refused"),
    [
        (46, b"0.json", b"\xff.json", {"member: compression": 1}),
        (8, b"\0\0", b"\x20\0", {"member_not_unpacked": 1}),
        (8, b"\0\0", b"\x40\0", {"member_encrypted": 1}),
        (8, b"\0\0", b"\x00\x08", {}),
        (42, b"\0\0", b"\xff\x01", {"member: compression": 1}),
    ],
)
def test_damage_in_the_list_of_a_zip_archive_is_that_of_one_file(
    tmp_path: Path, place: int, before: bytes, altered: bytes, refused: dict[str, int]
) -> None:
    path = tmp_path / "a.zip"
    zip_of(path, ndt7(), ndt7()).close()
    content = path.read_bytes()
    first = content.index(b"PK\x01\x02") + place
    assert content[first:].startswith(before)
    path.write_bytes(content[:first] + altered + content[first + len(before) :])
    batches, reading = read(path)
    assert (len(rows_of(batches)), reading.refused) == (2 - sum(refused.values()), refused)


def test_a_name_in_a_zip_archive_that_is_no_text_is_damage_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    archive = zipfile.ZipFile(path, "w")
    for name in ("\u00e9.json", "1.json", "2.json"):
        archive.writestr(name, ndt7())
    # One without a name in the list is a file all the same.
    archive.filelist[1].filename = ""
    archive.close()
    content = path.read_bytes()
    # The header of the file, and not the list, has a name in half a character.
    path.write_bytes(content.replace("\u00e9".encode(), b"\xc3A", 1))
    batches, reading = read(path)
    assert (len(rows_of(batches)), reading.refused) == (1, {"member: compression": 2})
    assert reading.fault is not None
    assert reading.fault.message.startswith("member 1 of the archive: zip: its header is damaged; copy the file again")
