"""Archives of many small members: completed together, and yet each as it would be alone."""

import gzip
import io
import json
import random
import tarfile
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.connection import gathered_connections
from sojourn_ingest.formats.connection import web100 as sidestream
from sojourn_ingest.formats.connection.connection_format import MemberFormat
from sojourn_ingest.formats.interface import Context, InputError, Reading, Source
from sojourn_ingest.formats.registry import Registry

WEB100 = "K: cid RemAddress StartTimeSec StartTimeUsec Duration MinRTT MaxRTT SumRTT CountRTT ThruBytesAcked "
WEB100 += "ThruBytesReceived PktsRetrans\n"


def ndt7(client: Any = "192.0.2.1", rtt: Any = 20_000, **more: Any) -> bytes:
    polls = [{"TCPInfo": {"RTT": rtt, "MinRTT": 9_000, "BytesSent": 5}}, {"TCPInfo": {"RTT": 30_000}, "BBRInfo": {}}]
    measured = {"StartTime": "2020-01-01T00:00:00Z", "EndTime": "2020-01-01T00:00:02Z", "ServerMeasurements": polls}
    content = {"GitShortCommit": "x", "ClientIP": client, "Download": measured, **more}
    return json.dumps(content, separators=(",", ":")).encode()


def ndt5(polled: bool = True) -> bytes:
    more = {"MaxRTT": 50_000_000, "SumRTT": 60_000_000, "CountRTT": 2} if polled else {}
    measured = {"StartTime": "2020-01-01T00:00:00Z", "MinRTT": 10_000_000, **more}
    content = {"GitShortCommit": "x", "ClientIP": "192.0.2.5", "Control": {"a": 1}, "C2S": {}, "S2C": measured}
    return json.dumps(content, separators=(",", ":")).encode()


def web100(rows: int) -> bytes:
    return (WEB100 + "C: 1 192.0.2.9 1500000000 5 2000 4 9 18 2 1 2 3\n" * rows).encode()


def flent(flows: int) -> bytes:
    polls = [{"t": 1_600_000_000.5, "tcp_rtt": 20.0}, {"t": 1_600_000_001.0, "tcp_rtt": 30.0}]
    names = [f"TCP {n}" for n in range(flows)]
    content = {
        "metadata": {"DATA_FILENAME": "x"},
        "raw_values": dict.fromkeys(names, polls),
        "results": {f"{name}::tcp_rtt": [] for name in names},
        "version": 4,
    }
    return json.dumps(content).encode()


def archive(path: Path, members: list[bytes], name: Callable[[int], str] = str) -> Path:
    with tarfile.open(path, "w") as tar:
        for number, content in enumerate(members):
            entry = tarfile.TarInfo(name(number))
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def read(path: Path) -> tuple[list[pa.RecordBatch], Reading]:
    content = _native.fingerprint(str(path))
    source = Source(path=path, compression=content.compression, head=content.head, plain_bytes=content.plain_bytes)
    context, reading = Context(pseudonymiser=Pseudonymiser(b"key"), fingerprint=lambda _: ""), Reading()
    chosen = Registry().recognise(source)
    # A flent file alone is a run with its series too.
    facts = MemberFormat.read(chosen, source, context, reading) if isinstance(chosen, MemberFormat) else None
    return [batch for _, batch in facts or chosen.facts(source, context, reading)], reading


def rows_of(batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


MEMBERS = [
    ndt7(), ndt7("8.8.8.8", Upload={"ServerMeasurements": []}), ndt5(), ndt5(polled=False), web100(3), web100(2), b"{",
    gzip.compress(ndt7()), ndt7("nobody"), b"neither this nor that", ndt7()[:-9], web100(1), flent(2), ndt5(), flent(0),
]  # fmt: skip


@pytest.mark.parametrize("waiting", [1, 4, 16_384])
def test_members_of_an_archive_are_as_each_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: int) -> None:
    alone: list[dict[str, Any]] = []
    refused: dict[str, int] = {}
    records = 0
    for number, content in enumerate(MEMBERS):
        path = tmp_path / str(number)
        path.write_bytes(content)
        try:
            batches, reading = read(path)
        except InputError as error:
            reading = Reading(refused={f"member: {error.reason}": 1})
        else:
            alone += rows_of(batches)
            records += reading.records_read
        for reason, count in reading.refused.items():
            refused[reason] = refused.get(reason, 0) + count
    monkeypatch.setattr(gathered_connections, "BATCH_ROWS", waiting)
    batches, reading = read(archive(tmp_path / "all.tar", MEMBERS))
    numbered = [row | {"connection_number": number} for number, row in enumerate(alone)]
    assert rows_of(batches) == numbered
    assert len(numbered) == 14
    assert reading.records_read == records
    assert reading.refused == {reason: count for reason, count in refused.items() if count}
    assert reading.fault is not None
    assert reading.fault.message.startswith("member 11 of the archive: NDT7 result: JSON is damaged at character")


def test_rows_of_many_members_share_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = [ndt7(), ndt5(), ndt5(polled=False)] * 20
    path = archive(tmp_path / "many.tar", members)
    (batch,), _ = read(path)
    assert batch.num_rows == 60
    assert set(batch.column("rtt_basis").to_pylist()) == {"smoothed", "kernel_minimum"}
    (tables,), _ = read(archive(tmp_path / "tables.tar", [web100(1)] * 2))
    assert tables.num_rows == 2
    # What waits is bounded by its bytes too.
    monkeypatch.setattr(gathered_connections, "BATCH_BYTES", 100)
    batches, _ = read(path)
    assert max(batch.num_rows for batch in batches) <= 12


def test_small_tables_of_an_archive_are_converted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: Counter[str] = Counter()

    def counting(name: str) -> Callable[..., Any]:
        function = getattr(sidestream, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            called[name] += 1
            return function(*arguments, **options)

        return counted

    for name in ("csv_batches", "number_of_text"):
        monkeypatch.setattr(sidestream, name, counting(name))

    def calls(members: list[bytes]) -> Counter[str]:
        called.clear()
        batches, _ = read(archive(tmp_path / "tables.tar", members))
        assert len(rows_of(batches)) == sum(member.count(b"C:") for member in members)
        return Counter(called)

    assert calls([web100(1)] * 50) == calls([web100(1)])
    assert called["csv_batches"] == 0
    # A large one is not split in Python.
    assert len(web100(1000)) > sidestream.SMALL_BYTES
    assert calls([web100(1000)])["csv_batches"] == 1


NUMBERS = (b"", b"NA", b"+5", b"-5", b"1.", b".5", b"2.5", b"1e3", b"1e400", b"nan", b"0x1", b"9007199254740993", b"0",
           b"9" * 400, b"4294967295", b"1_0", "\u0665".encode(), "\u30007".encode(), b"\t7")  # fmt: skip
HEAD = WEB100.encode()
LINE = b"C: 1 192.0.2.9 1500000000 5 2000 4 9 18 2 1 2 3"


@pytest.mark.parametrize(
    "content",
    [
        HEAD,
        HEAD + b"\n\n" + LINE + b"\n\n" + LINE,
        (HEAD + LINE + b"\n" + LINE).replace(b"\n", b"\r\n"),
        HEAD + LINE + b"\r" + LINE + b"\r\r\n",
        HEAD + LINE + b"\x0b" + LINE + b"\n" + LINE + b"\x1c\n" + LINE + b"\xc2\x85\n",
        HEAD.replace(b"\n", b"\r") + LINE + b"\n",
        HEAD.replace(b"K: ", b"K:  ") + LINE.replace(b": ", b":  ") + b"\n" + LINE,
        HEAD.replace(b"cid", b"MinRTT") + LINE,
        HEAD.replace(b"cid", b"K:") + LINE,
        HEAD.replace(b"cid", b"\xff") + LINE,
        HEAD * 3,
        HEAD * 2 + LINE + b"\n" + HEAD + LINE,
        HEAD + LINE + b" \n " + LINE + b"\n \n" + LINE[:-1] + b"\n" + LINE[:-2] + b"\n",
        HEAD + LINE.replace(b" 1 ", b' "1 ', 1) + b"\n" + LINE + b'"\n' + LINE.replace(b" 9", b" \\", 1),
        HEAD + LINE.replace(b" 1 ", b" \xff ", 1) + b"\n" + LINE,
        HEAD + LINE.replace(b"192.0.2.9", b"") + b"\n" + LINE.replace(b"192.0.2.9", "ä\ufdd0".encode()),
        HEAD + b"".join(LINE.replace(b" 18 ", b" %b " % text, 1) + b"\n" for text in NUMBERS),
        HEAD + b"".join(LINE.replace(b" 1500000000 ", b" %b " % text, 1) + b"\n" for text in NUMBERS),
        HEAD + b"".join(LINE.replace(b" 2 1 ", b" %b 1 " % text, 1) + b"\n" for text in NUMBERS),
        HEAD + LINE + b"\xff\xff\n" + LINE.replace(b"C: ", b"C:") + b"\n" + LINE,
    ],
)
def test_small_tables_are_split_as_large_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    def outcome() -> tuple[object, ...]:
        (tmp_path / "x.web100").write_bytes(content)
        try:
            batches, reading = read(tmp_path / "x.web100")
        except InputError as error:
            # Arrow names the column of a value that is not UTF-8.
            return (error.reason,)
        return rows_of(batches), reading.records_read, reading.refused, str(reading.fault)

    small = outcome()
    monkeypatch.setattr(sidestream, "SMALL_BYTES", 0)
    assert small == outcome()


def test_a_small_table_that_is_not_utf8_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.web100"
    path.write_bytes(HEAD + LINE + b"\n" + LINE.replace(b"192", b"\xff") + b"\n")
    with pytest.raises(InputError, match="damaged after connection 0: a value is not UTF-8") as refused:
        read(path)
    assert refused.value.reason == "corrupt_record"


def test_a_client_that_is_no_text_is_refused_alone(tmp_path: Path) -> None:
    members = [ndt7(), ndt7(5), ndt7(["192.0.2.1"]), ndt7(None), ndt7().replace(b"192.0.2.1", b"\\ud800"), ndt7()]
    batches, reading = read(archive(tmp_path / "clients.tar", members))
    assert [row["client_host_key"] for row in rows_of(batches)] == ["192.0.2.1", None, "192.0.2.1"]
    assert reading.refused == {"client_address: not an address": 2, "member: corrupt_record": 1}


def test_a_number_that_json_does_not_have_counts_nothing(tmp_path: Path) -> None:
    huge = [ndt7(rtt=1).replace(b'"RTT":1,', b'"RTT":%b,' % number) for number in (b"1e999", b"9" * 400)]
    members = [ndt7(rtt=float("nan")), *huge]
    batches, reading = read(archive(tmp_path / "numbers.tar", members))
    assert [(row["rtt_samples"], row["rtt_max_us"]) for row in rows_of(batches)] == [(1, 30_000)] * 3
    assert reading.refused == {}


def test_a_damaged_compressed_archive_keeps_what_came_before(tmp_path: Path) -> None:
    plain = archive(tmp_path / "whole.tar", [ndt7()] * 40).read_bytes()
    path = tmp_path / "damaged.tgz"
    stored = bytearray(gzip.compress(plain))
    stored[-6] ^= 0xFF  # of the checksum, which is only met at the end
    path.write_bytes(stored)
    batches, reading = read(path)
    assert len(rows_of(batches)) == 40
    assert reading.fault is not None
    assert reading.fault.reason == "compression"
    numbers = random.Random(7)
    plain = archive(tmp_path / "large.tar", [ndt7(Pad=numbers.randbytes(8_000).hex()) for _ in range(60)]).read_bytes()
    cut = pa.Codec("zstd").compress(plain, asbytes=True)
    path.write_bytes(cut[: len(cut) * 2 // 3])
    batches, reading = read(path)
    assert 10 < len(rows_of(batches)) < 50
    assert reading.fault is not None
    assert reading.fault.message.startswith("zstd stream is damaged after member")


def test_memory_does_not_grow_with_the_number_of_members(tmp_path: Path) -> None:
    def peak(members: int) -> int:
        path = archive(tmp_path / "empty.tar", [ndt7()] + [b""] * members)
        tracemalloc.start()
        read(path)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    few = peak(200)
    assert peak(4000) < few + 300_000  # an entry alone is some hundred bytes


def test_members_after_a_damaged_header_or_an_end_marker_are_told(tmp_path: Path) -> None:
    path = archive(tmp_path / "whole.tar", [ndt7()] * 5)
    whole = path.read_bytes()
    with tarfile.open(path) as tar:
        third = tar.getmembers()[2].offset
    damaged = bytearray(whole)
    damaged[third + 10] ^= 0x41
    zeroed = whole[:third] + bytes(512) + whole[third + 512 :]
    for content, kept, said in (
        (bytes(damaged), 2, "tar archive is damaged after member 2: header of a member: bad checksum"),
        (zeroed, 2, "archive continues after its end marker, which follows member 2"),
        (whole + whole, 5, "archive continues after its end marker, which follows member 5"),
    ):
        path.write_bytes(content)
        batches, reading = read(path)
        assert len(rows_of(batches)) == kept
        assert reading.fault is not None
        assert reading.fault.reason == "corrupt_record"
        assert reading.fault.message.startswith(said)
    path.write_bytes(whole + bytes(2**20))
    assert read(path)[1].fault is None


def test_values_of_flent_that_are_none_leave_the_other_members(tmp_path: Path) -> None:
    polls = b'[{"t": 1600000000.5, "tcp_rtt": 20.0}, {"t": 1600000001.0, "tcp_rtt": 30.0}]'
    queue = b'"qdisc_stats_a": [{"t": %b, "dropped": %b}]'
    huge = b"9" * 400
    damaged = [
        flent(1).replace(polls, b"5"),
        flent(1).replace(polls, b'[{"t": %b, "tcp_rtt": 1}, {"t": NaN, "tcp_rtt": 1}]' % huge),
        flent(0).replace(b'"raw_values": {', b'"raw_values": {' + queue % (huge, b"1")),
        flent(0).replace(b'"raw_values": {', b'"raw_values": {' + queue % (b"1", huge)),
    ]
    assert all(content not in (flent(0), flent(1)) for content in damaged)
    batches, reading = read(archive(tmp_path / "flent.tar", [ndt7(), *damaged, ndt7()]))
    assert len(rows_of(batches)) == 2
    assert reading.refused == {"no_raw_polls": 2, "malformed_queue_poll": 2, "member: no_measurement": 4}


def test_a_name_longer_than_any_is_not_read(tmp_path: Path) -> None:
    long = tarfile.TarInfo("././@LongLink")
    long.type, long.size = tarfile.GNUTYPE_LONGNAME, 2**34
    whole = archive(tmp_path / "whole.tar", [ndt7()]).read_bytes()
    with tarfile.open(tmp_path / "whole.tar") as tar:
        (member,) = tar.getmembers()
        end = member.offset_data + 512 * -(-member.size // 512)
    path = tmp_path / "long.tar"
    path.write_bytes(whole[:end] + long.tobuf(tarfile.GNU_FORMAT) + bytes(2**21))
    batches, reading = read(path)
    assert len(rows_of(batches)) == 1
    assert reading.fault is not None
    assert reading.fault.message.startswith(
        "tar archive is damaged after member 1: header of a member: its name is too long"
    )
    # Names that are long and no longer than that are read.
    assert len(rows_of(read(archive(path, [ndt7()], lambda _: "x" * 5000))[0])) == 1
