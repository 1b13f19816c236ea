"""Archives as input: tar and zip of captures and of connections, in any order, and what cannot be looked into."""

from __future__ import annotations

import gzip
import io
import lzma
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from captures import udp_frame, write_pcap
from connection.test_connection_archive import ndt7
from results import REGISTRY, Tables, source_of

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.connection import zip_members
from sojourn_ingest.formats.content import expansion
from sojourn_ingest.formats.interface import Context, InputError, Reading

SECOND = 10**9


def read(path: Path) -> tuple[str, Tables, Reading]:
    source = source_of(path)
    chosen = REGISTRY.recognise(source)
    context, reading = Context(Pseudonymiser(b"key"), lambda _: ""), Reading()
    tables: Tables = {}
    for name, batch in chosen.facts(source, context, reading):
        tables.setdefault(name, []).extend(batch.to_pylist())
    return chosen.name, tables, reading


def capture(folder: Path, name: str, packets: int, first_s: int) -> Path:
    return write_pcap(folder / name, [udp_frame(b"x" * 50)] * packets, first_ns=first_s * SECOND)


def tar(path: Path, files: list[tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def zipped(path: Path, files: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[tuple[str, bytes]]:
    folder = tmp_path / "files"
    folder.mkdir()
    # The first capture stands behind the head by which a file is recognised.
    large = b"second,rate\n" + b"1,2\n" * 50_000
    one, two = capture(folder, "one.pcap", 30, 1_700_000_000), capture(folder, "two.pcap.gz", 12, 1_700_000_100)
    return [("notes/", b""), ("rates.csv", large), ("one.pcap", one.read_bytes()), ("two.pcap.gz", two.read_bytes())]


@pytest.mark.parametrize("form", ["tar", "stored", "deflated", "zip", "streamed"])
def test_captures_in_an_archive_are_read_wherever_the_first_one_stands(
    tmp_path: Path, files: list[tuple[str, bytes]], form: str
) -> None:
    path = tmp_path / "all.archive"
    if form == "tar":
        tar(path, files[1:])
    elif form in ("stored", "deflated"):
        zipped(path, files, zipfile.ZIP_STORED if form == "stored" else zipfile.ZIP_DEFLATED)
    else:
        tool = shutil.which("zip")
        assert tool, "zip is missing; make setup-tests installs it"
        (tmp_path / "files" / "rates.csv").write_bytes(files[1][1])
        names = ["rates.csv", "one.pcap", "two.pcap.gz"]
        # Into a pipe, lengths and checksums stand behind each file.
        command = [tool, "-q", "-", *names] if form == "streamed" else [tool, "-q", str(tmp_path / "x.zip"), *names]
        made = subprocess.run(command, check=True, capture_output=True, cwd=tmp_path / "files")
        path.write_bytes(made.stdout or (tmp_path / "x.zip").read_bytes())
    name, tables, reading = read(path)
    assert (name, reading.records_read, reading.fault) == ("capture", 42, None)
    assert reading.refused == {"member_without_capture": 1}
    assert sum(flow["fwd_packets"] for flow in tables["flow"]) == 42


class Pipe(io.BytesIO):
    """What cannot be written a second time, so that zipfile states lengths and checksums behind each file."""

    def seek(self, *_: int) -> int:
        raise OSError

    def tell(self) -> int:
        raise OSError


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_captures_that_zipfile_wrote_into_a_pipe_are_read(
    tmp_path: Path, files: list[tuple[str, bytes]], method: int
) -> None:
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    (tmp_path / "a.zip").write_bytes(pipe.getvalue())
    name, _, reading = read(tmp_path / "a.zip")
    assert (name, reading.records_read, reading.fault) == ("capture", 42, None)


def test_captures_that_overlap_have_a_reason_of_their_own(tmp_path: Path) -> None:
    both = [(f"{n}.pcap", capture(tmp_path, f"{n}.pcap", 5000, 1_700_000_000).read_bytes()) for n in range(2)]
    for path in (tar(tmp_path / "a.tar", both), zipped(tmp_path / "a.zip", both)):
        _, _, reading = read(path)
        assert reading.fault is not None
        assert (reading.fault.reason, reading.records_read) == ("overlapping_captures", 5000)
        assert reading.fault.message.endswith("give each as a separate file")


def test_files_that_cannot_be_looked_into_are_counted_by_what_they_are(
    tmp_path: Path, files: list[tuple[str, bytes]]
) -> None:
    inner = zipped(tmp_path / "inner.zip", files)
    tool = shutil.which("zip")
    assert tool, "zip is missing; make setup-tests installs it"
    path = tmp_path / "outer.zip"
    subprocess.run([tool, "-q", "-P", "word", str(path), "inner.zip"], check=True, cwd=tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.write(inner, "again.zip")
        archive.writestr("packed.pcap", files[2][1], zipfile.ZIP_BZIP2)
    with pytest.raises(InputError, match="unpack it and give its folder") as error:
        read(path)
    assert error.value.reason == "no_measurement"
    assert "1 member: archive_in_archive, 1 member_encrypted, 1 member_not_unpacked" in error.value.message
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("one.pcap", files[2][1])
    _, _, reading = read(path)
    assert reading.records_read == 30
    assert reading.refused == {"archive_in_archive": 1, "member_encrypted": 1, "member_not_unpacked": 1}


def test_connections_in_a_zip_archive_are_those_of_a_tar_archive(tmp_path: Path) -> None:
    members = [(f"{n}.json", ndt7(f"192.0.2.{n + 1}")) for n in range(5)] + [("empty", b""), ("notes", b"a text")]
    form, tables, reading = read(zipped(tmp_path / "a.zip", members))
    of_tar = read(tar(tmp_path / "a.tar", members))
    assert (form, len(tables["connection"]), reading.fault) == ("connection_archive", 5, None)
    assert (tables, reading.refused) == (of_tar[1], of_tar[2].refused)


def test_damage_of_a_zip_archive_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "a.zip", [("0.json", ndt7()), ("1.json", ndt7())], zipfile.ZIP_STORED)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"192.0.2.1", b"192.0.2.7", 1))
    _, tables, reading = read(path)
    assert (len(tables["connection"]), reading.refused) == (1, {"member: compression": 1})
    assert reading.fault is not None
    assert reading.fault.message.startswith("member 1 of the archive: zip: its checksum does not match, ")
    path.write_bytes(content[:-30])
    with pytest.raises(InputError, match="ends without its list of files; copy the file again"):
        read(path)
    path.write_bytes(content)
    monkeypatch.setattr(zip_members, "MOST_LIST_BYTES", 50)
    with pytest.raises(InputError, match="of too many files; unpack it and give its folder"):
        read(path)
    empty = zipped(tmp_path / "empty.zip", [])
    with pytest.raises(InputError, match="unpack it and give its folder"):
        read(empty)


def test_archives_that_were_joined_are_told(tmp_path: Path, files: list[tuple[str, bytes]]) -> None:
    joined = tmp_path / "joined"
    for one, two in ((files[2:3], files[3:]), ([("0.json", ndt7())], [("1.json", ndt7("192.0.2.2"))])):
        for form in (tar, zipped):
            parts = [form(tmp_path / "part", part).read_bytes() for part in (one, two)]
            joined.write_bytes(b"".join(parts))
            name, tables, reading = read(joined)
            assert reading.records_read == (30 if name == "capture" else 1)
            assert {"flow", "connection"} & tables.keys()
            assert reading.fault is not None
            assert reading.fault.reason == "corrupt_record"
            assert reading.fault.message.endswith("unpack archives that were joined and give them one by one")


@pytest.mark.parametrize(
    ("method", "before", "altered", "said"),
    [
        (zipfile.ZIP_STORED, b"192.0.2.7", b"192.0.2.8", "its checksum does not match, so any byte of it may be wrong"),
        (zipfile.ZIP_STORED, b"smith_7", b"smith_8", "its header is damaged"),
        (zipfile.ZIP_DEFLATED, b"smith_7", b"smith_7\xff", "the deflated data is damaged"),
    ],
)
def test_damage_of_a_zip_archive_is_told_without_the_name_of_a_file(
    tmp_path: Path, method: int, before: bytes, altered: bytes, said: str
) -> None:
    path = zipped(tmp_path / "a.zip", [("smith_7", ndt7("192.0.2.7")), ("1.json", ndt7())], method)
    content = path.read_bytes()
    start = content.index(before)
    path.write_bytes(content[:start] + altered + content[start + len(altered) :])
    _, tables, reading = read(path)
    assert (len(tables["connection"]), reading.refused) == (1, {"member: compression": 1})
    assert reading.fault is not None
    assert reading.fault.message == f"member 1 of the archive: zip: {said}; copy the file again"


@pytest.mark.parametrize("form", [tar, zipped])
def test_files_that_expand_far_are_left_at_the_bound_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Callable[[Path, list[tuple[str, bytes]]], Path]
) -> None:
    monkeypatch.setattr(expansion, "ALWAYS_READ_BYTES", 2**20)
    # Blanks behind a result, twice compressed in a zip archive: each is more than deflate can do.
    far = lzma.compress(ndt7() + b" " * 2**24)
    members = [("0.json.xz", far), ("1.json", ndt7())]
    _, tables, reading = read(form(tmp_path / "archive", members))
    assert (len(tables["connection"]), reading.refused) == (1, {"member: expands_too_far": 1})
    assert reading.fault is not None
    assert reading.fault.reason == "expands_too_far"
    assert re.fullmatch(
        r"member 1 of the archive: [\d,]+ stored bytes expand to more than [\d,]+; unpack the archive and give its "
        "folder if they are genuine",
        reading.fault.message,
    )


def test_files_that_expand_far_together_are_left_at_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "ALWAYS_READ_BYTES", 2**20)
    # Of each by itself little comes out.
    one = gzip.compress(ndt7() + b" " * 900_000)
    _, tables, reading = read(zipped(tmp_path / "archive", [(f"{n}.json.gz", one) for n in range(5)]))
    assert (len(tables["connection"]), reading.refused) == (1, {"member: expands_too_far": 4})
    assert reading.fault is not None
    assert reading.fault.message.startswith("member 2 of the archive: ")


def test_what_an_archive_is_compressed_with_does_not_count_for_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "ALWAYS_READ_BYTES", 2**20)
    one = gzip.compress(ndt7() + b" " * 900_000)
    plain = tar(tmp_path / "archive.tar", [(f"{n}.json.gz", one) for n in range(5)])
    assert len(read(plain)[1]["connection"]) == 5
    packed = tmp_path / "archive.tar.xz"
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    _, tables, reading = read(packed)
    assert (len(tables["connection"]), reading.refused) == (1, {"member: expands_too_far": 4})


def test_once_files_are_too_much_together_nothing_more_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "ALWAYS_READ_BYTES", 2**20)
    unpacked: list[int] = []
    add = expansion.ArchiveExpansion.add
    monkeypatch.setattr(
        expansion.ArchiveExpansion, "add", lambda self, count: (unpacked.append(count), add(self, count))
    )
    one = gzip.compress(b" " * 900_000)
    members = [(f"{n}.json.gz", one) for n in range(50)]
    _, tables, reading = read(zipped(tmp_path / "archive", [*members, ("50.json", ndt7())]))
    assert len(tables["connection"]) == 1
    # What is stored of all files, and the bound with it, grows with each of them.
    assert reading.refused["member: expands_too_far"] > 30
    assert sum(unpacked) < 5 * 2**20
