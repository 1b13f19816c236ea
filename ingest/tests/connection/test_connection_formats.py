"""Readers of connections: what each makes of a source, and the traps seen in real files."""

import csv
import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, InputError, Reading, Source
from sojourn_ingest.formats.registry import Registry

UNSET = 2**32 - 1
Row = dict[str, Any]


def context() -> Context:
    return Context(pseudonymiser=Pseudonymiser(b"key"), fingerprint=lambda _: "")


def read(path: Path, *described: Path) -> tuple[list[Row], Reading, str]:
    """Return the rows of connection, what the reading came to, and the format."""
    content = _native.fingerprint(str(path))
    source = Source(path=path, compression=content.compression, head=content.head, plain_bytes=content.plain_bytes)
    chosen = Registry(described).recognise(source)
    reading = Reading()
    rows = [
        row
        for name, batch in chosen.facts(source, context(), reading)
        if name == "connection"
        for row in batch.to_pylist()
    ]
    return rows, reading, chosen.name


def columns(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


# ---------------------------------------------------------------- tcp-info


def tcp_info_files(shared: Path) -> Iterator[tuple[Path, Path]]:
    public = shared / "data" / "public"
    files = {path.name.removesuffix(".zst"): path for path in public.glob("m-lab__*/**/*.jsonl.zst")}
    for oracle in sorted((public / "oracle" / "tcp-info-csvtool").glob("*.csv")):
        yield files[oracle.name.removesuffix(".csv")], oracle


AGREE = {
    "rtt_us": "TCP.RTT", "rttvar_us": "TCP.RTTVar", "min_rtt_us": "TCP.MinRTT", "state": "TCP.State",
    "retransmitted_packets": "TCP.TotalRetrans", "acked_bytes": "TCP.BytesAcked", "received_bytes": "TCP.BytesReceived",
    "sent_bytes": "TCP.BytesSent", "retransmitted_bytes": "TCP.BytesRetrans", "cwnd_packets": "TCP.SndCwnd",
    "unacked_packets": "TCP.Unacked", "lost_packets": "TCP.Lost", "mss_bytes": "TCP.SndMSS",
    "delivery_rate_bytes_per_s": "TCP.DeliveryRate", "congestion_control": "CongestionAlgorithm",
    "local_port": "IDM.SockID.SPort", "peer_port": "IDM.SockID.DPort", "peer_address": "IDM.SockID.Dst",
}  # fmt: skip


def test_every_poll_agrees_with_csvtool(shared: Path) -> None:
    """Every tcp-info file, row for row, with M-Lab's own tool; a field that a kernel does not have is 0 there."""
    polls, files = 0, 0
    for path, oracle in tcp_info_files(shared):
        decoder = _native.TcpInfoDecoder(polls=True)
        decoder.open(str(path))
        while decoder.read():
            pass
        ours = decoder.take_batch(last=True).to_pylist()
        # csvtool gives the metadata of a connection a row of its own, with every field empty.
        theirs = [row for row in csv.DictReader(io.StringIO(oracle.read_text())) if row["IDM.Family"]]
        assert len(ours) == len(theirs), path.name
        for mine, row in zip(ours, theirs, strict=True):
            for name, column in AGREE.items():
                assert str(mine[name] if mine[name] is not None else 0) == row[column], (path.name, name)
        summary = decoder.summary()
        assert (summary.fault, summary.refused, summary.records_read) == (None, {}, len(theirs))
        polls, files = polls + len(theirs), files + 1
    assert (files, polls) == (203, 5256)


def test_a_connection_is_the_reduction_of_its_polls(shared: Path) -> None:
    path = next(p for p, _ in tcp_info_files(shared) if p.name.endswith("2C44.00000.jsonl.zst"))
    oracle = shared / "data/public/oracle/tcp-info-csvtool" / path.name.replace(".zst", ".csv")
    theirs = [row for row in csv.DictReader(io.StringIO(oracle.read_text())) if row["IDM.Family"]]
    rtts = [int(row["TCP.RTT"]) for row in theirs if int(row["TCP.RTT"])]
    least = [int(row["TCP.MinRTT"]) for row in theirs if int(row["TCP.MinRTT"]) not in (0, UNSET)]
    rows, reading, name = read(path)
    assert name == "tcp_info"
    (row,) = rows
    assert columns(row, "rtt_min_us", "rtt_max_us", "rtt_samples") == (min(rtts), max(rtts), len(rtts))
    assert row["rtt_avg_us"] == pytest.approx(sum(rtts) / len(rtts))
    assert row["kernel_min_rtt_us"] == min(least, default=None)
    assert row["received_bytes"] == max(int(r["TCP.BytesReceived"]) for r in theirs)
    assert columns(row, "rtt_basis", "sample_basis", "dataset") == ("smoothed", "polls", "m-lab-tcp-info")
    assert reading.records_read == len(theirs)


def test_an_empty_member_and_one_without_times_have_outcomes(shared: Path) -> None:
    public = shared / "data" / "public"
    empty = next(public.glob("m-lab__etl/*tcpinfo*/*2DEE.00000.jsonl.zst"))
    with pytest.raises(InputError) as caught:
        read(empty)
    assert caught.value.reason == "empty"
    with pytest.raises(InputError, match=r"the recorder .* set no times \(refused: 420 no_time\)"):
        read(public / "m-lab__tcp-info/netlink/testdata/archiveRecords.jsonl.zst")


def test_an_unset_minimum_is_null(shared: Path) -> None:
    """The kernel's 2^32 - 1 occurs in the polls, and never in a row."""
    seen_unset = 0
    for path, oracle in tcp_info_files(shared):
        theirs = [row for row in csv.DictReader(io.StringIO(oracle.read_text())) if row["IDM.Family"]]
        if not any(row["TCP.MinRTT"] == str(UNSET) for row in theirs) or "archiveRecords" in path.name:
            continue
        seen_unset += 1
        rows, _, _ = read(path)
        assert all(row["kernel_min_rtt_us"] != UNSET for row in rows)
    csvtool = shared / "data/public/oracle/tcp-info-csvtool/archiveRecords.jsonl.csv"
    assert seen_unset or str(UNSET) in csvtool.read_text()


# ---------------------------------------------------------------- archives


def tar_of(path: Path, members: list[tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def test_an_archive_has_one_outcome_with_its_members_counted(shared: Path, tmp_path: Path) -> None:
    folder = next((shared / "data/public/m-lab__etl").glob("*tcpinfo*"))
    files = [*sorted(folder.glob("*2C44.*")), next(folder.glob("*2DEE*")), next(folder.glob("*2C47*"))]
    ndt = next((shared / "data/public/m-lab__etl/parser/testdata/NDT5Result").glob("ndt-m9*"))
    members = [(file.name, file.read_bytes()) for file in files]
    members += [("a", b""), ("b", b"neither this nor that"), (ndt.name, gzip.compress(ndt.read_bytes()))]
    members += [("c.json", b'{"GitShortCommit":"x","ServerIP":"1.1.1.1","Control":{"broken')]
    path = tar_of(tmp_path / "several.tgz", members)
    path.write_bytes(gzip.compress(path.read_bytes()))
    rows, reading, name = read(path)
    assert name == "connection_archive"
    # The connection that the recorder split over three files is one row.
    datasets = [row["dataset"] for row in rows]
    assert datasets.count("m-lab-tcp-info") == 2
    assert datasets.count("m-lab-ndt5") == 1
    assert [row["connection_number"] for row in rows] == [0, 1, 2]
    assert reading.refused == {
        "empty_member": 2, "member: unrecognised_format": 1, "no_rtt_c2s": 1, "member: corrupt_record": 1,
    }  # fmt: skip
    assert reading.fault is not None
    assert reading.fault.message.startswith("member 9 of the archive: NDT5 result: JSON is damaged")


def test_a_plain_tar_named_gz_is_read(shared: Path) -> None:
    rows, reading, name = read(shared / "data/public/m-lab__etl/parser/testdata/sidestream-files.tar.gz")
    assert name == "connection_archive"
    assert [row["rtt_samples"] for row in rows] == [1, 10, 1, 7468, 834, 1]
    assert reading.refused == {}
    fourth = rows[3]
    assert columns(fourth, "rtt_min_us", "rtt_max_us", "retransmitted_packets") == (73_000, 148_000, 31)
    assert fourth["rtt_avg_us"] == pytest.approx(557_124 / 7468 * 1000)
    assert columns(fourth, "acked_bytes", "received_bytes", "sent_bytes") == (22_110_209, 0, None)
    assert fourth["start_ns"] == 1_486_123_201_977_002_000
    assert {columns(row, "rtt_basis", "sample_basis") for row in rows} == {("raw", "rtt_samples")}


def test_a_cut_archive_keeps_what_came_before(shared: Path, tmp_path: Path) -> None:
    folder = next((shared / "data/public/m-lab__etl").glob("*tcpinfo*"))
    members = [(str(n), file.read_bytes()) for n, file in enumerate(sorted(folder.glob("*.zst"))[:6])]
    path = tar_of(tmp_path / "cut.tar", members)
    whole, _, _ = read(path)
    path.write_bytes(path.read_bytes()[:4000])
    rows, reading, _ = read(path)
    assert 0 < len(rows) < len(whole)
    assert reading.fault is not None


# ---------------------------------------------------------------- SideStream


def test_web100_minimum_that_is_unset_or_zero_is_null(tmp_path: Path) -> None:
    names = "cid RemAddress StartTimeSec StartTimeUsec Duration MinRTT MaxRTT SumRTT CountRTT ThruBytesAcked"
    path = tmp_path / "x.web100"
    path.write_text(
        f"K: {names} ThruBytesReceived PktsRetrans\n"
        f"C: 1 192.0.2.1 1500000000 5 2000 {UNSET} 0 0 0 1 2 3\n"
        "C: 2 192.0.2.2 1500000000 6 2000 0 9 18 2 1 2 3\n"
        "C: 3 192.0.2.3 1500000000 7 2000 4 9\n"
        "C: 4 nowhere 1500000000 7 2000 4 9 18 2 1 2 3\n"
    )
    rows, reading, _ = read(path)
    assert [columns(row, "rtt_samples", "rtt_min_us", "rtt_avg_us", "rtt_max_us") for row in rows] == [
        (0, None, None, None),
        (2, None, 9_000.0, 9_000),
    ]
    assert rows[0]["duration_ms"] == 2.0
    assert reading.refused == {"wrong_number_of_columns": 1, "client_address: not an address": 1}


# ---------------------------------------------------------------- NDT


def test_ndt5_summaries_are_told_apart(shared: Path) -> None:
    folder = shared / "data/public/m-lab__etl/parser/testdata/NDT5Result"
    (old,), _, _ = read(next(folder.glob("ndt-5h*")))
    assert columns(old, "rtt_basis", "sample_basis", "rtt_samples") == ("kernel_minimum", "unknown", None)
    assert columns(old, "rtt_min_us", "rtt_max_us", "kernel_min_rtt_us") == (2000, None, 2000)
    (new,), reading, _ = read(next(folder.glob("ndt-m9*")))
    assert columns(new, "rtt_basis", "sample_basis", "rtt_samples") == ("smoothed", "polls", 102)
    assert columns(new, "rtt_min_us", "rtt_max_us", "kernel_min_rtt_us") == (40_000, 75_000, 40_788)
    assert new["rtt_avg_us"] == pytest.approx(6_964_000 / 102)
    assert reading.refused == {"no_rtt_c2s": 1}


def test_ndt7_polls_are_reduced(shared: Path) -> None:
    path = next((shared / "data/public/m-lab__etl/parser/testdata/NDT7Result").glob("ndt7-download*"))
    polls = [poll["TCPInfo"] for poll in json.loads(path.read_text())["Download"]["ServerMeasurements"]]
    (row,), _, name = read(path)
    rtts = [poll["RTT"] for poll in polls]
    assert name == "ndt7"
    assert columns(row, "rtt_min_us", "rtt_max_us", "rtt_samples") == (min(rtts), max(rtts), len(polls))
    assert columns(row, "kernel_min_rtt_us", "sent_bytes", "congestion_control") == (285_804, 57_838_400, "bbr")
    assert row["duration_ms"] == pytest.approx(10_483.484471)
    assert row["client_host_key"].startswith("hk-")


def test_ndt7_of_rtt_zero_has_no_rtt(tmp_path: Path) -> None:
    path = tmp_path / "ndt7.json"
    info = {"RTT": 0, "MinRTT": UNSET, "BytesSent": 5}
    measured = {"StartTime": "2020-01-01T00:00:00Z", "ServerMeasurements": [{"TCPInfo": info}]}
    path.write_text(
        json.dumps({"GitShortCommit": "x", "ClientIP": "192.0.2.1", "Download": measured}, separators=(",", ":"))
    )
    (row,), _, _ = read(path)
    assert columns(row, "rtt_samples", "rtt_min_us", "kernel_min_rtt_us", "sent_bytes") == (0, None, None, 5)
    path.write_text('{"GitShortCommit":"x","Upload":{"ServerMeasurements":null}}')
    with pytest.raises(InputError, match="aborted"):
        read(path)


# ---------------------------------------------------------------- ss and flent

SOCKET = "ESTAB 0      0      10.0.1.2:40001 192.0.2.9:443"
DETAILS = "\t cubic wscale:7,7 rto:304 rtt:{rtt}/2 mss:1448 cwnd:5 bytes_sent:{sent} bytes_received:7 minrtt:50"


def test_ss_text_of_two_lines_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "ss.txt"
    header = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
    # The last poll has fewer bytes sent: another connection on the same ports.
    polls = [("1700000000.5", 60, 100), ("# 1700000001.5", 80, 200), ("2023-11-14T22:13:22.5+00:00", 70, 20)]
    path.write_text("".join(f"{t}\n{header}{SOCKET}\n{DETAILS.format(rtt=r, sent=s)}\n" for t, r, s in polls))
    rows, reading, name = read(path)
    assert name == "ss_text"
    assert [columns(row, "rtt_samples", "rtt_min_us", "rtt_avg_us", "rtt_max_us") for row in rows] == [
        (2, 60_000, 70_000.0, 80_000),
        (1, 70_000, 70_000.0, 70_000),
    ]
    assert [row["start_ns"] for row in rows] == [1_700_000_000_500_000_000, 1_700_000_002_500_000_000]
    assert columns(rows[0], "duration_ms", "sent_bytes", "received_bytes", "client_host_key") == (
        1000.0, 200, 7, "192.0.2.9",
    )  # fmt: skip
    assert reading.refused == {}


def test_text_among_polls_of_ss_is_no_congestion_control(tmp_path: Path) -> None:
    path = tmp_path / "ss.txt"
    path.write_text(f"1700000000.5\n{SOCKET}\n 8.8.8.8  1.2 ms\n1700000001.5\n{SOCKET}\n\t ino:1 sk:2 <-> ts cubic\n")
    rows, _, _ = read(path)
    assert [row["congestion_control"] for row in rows] == ["cubic"]
    path.write_text(f"1700000000.5\n{SOCKET}\n 8.8.8.8\n")
    with pytest.raises(InputError, match="without TCP details"):
        read(path)


def test_ss_text_without_times_says_the_mend(tmp_path: Path) -> None:
    path = tmp_path / "ss.txt"
    path.write_text(f"State Recv-Q Send-Q Local Address:Port\n{SOCKET}\n{DETAILS}\n")
    with pytest.raises(InputError, match=r"date \+%s.%N"):
        read(path)


def test_connections_of_testbed_polls_are_those_of_its_polls(testbed: Path) -> None:
    path = testbed / "cbr_dn_bw1000_rtt50_fq_codel-2bdp_cubic_rtp-cbr_appfirst_rep1" / "ss_raw.jsonl"
    decoded = [json.loads(line) for line in path.with_name("tcp_snapshots.jsonl").read_text().splitlines()]
    rows, _, _ = read(path)
    by_port = {port: [d["srtt_ms"] for d in decoded if d["sport"] == port] for port in {d["sport"] for d in decoded}}
    assert len(rows) == len(by_port)
    expected = {tuple(sorted(round(v * 1000) for v in rtts if v is not None)) for rtts in by_port.values()}
    assert {columns(row, "rtt_min_us", "rtt_max_us", "rtt_samples") for row in rows} == {
        (rtts[0], rtts[-1], len(rtts)) for rtts in expected
    }


def test_flent_series(shared: Path) -> None:
    folder = shared / "data/public/tohojo__flent/unittests/test_data"
    content = json.loads(gzip.decompress((folder / "test-rrul.flent.gz").read_bytes()))
    rows, reading, _ = read(folder / "test-rrul.flent.gz")
    assert len(rows) == 4
    # Four flows, the polls of the queue disciplines of two hosts, and every series.
    polls_of_queues = sum(len(content["raw_values"][f"qdisc_stats_testbed-0{n}"]) for n in (2, 4))
    assert reading.records_read == 4 + polls_of_queues + len(content["results"])
    polls = [v for v in content["raw_values"]["TCP upload BE2"] if "tcp_rtt" in v]
    second = next(row for row in rows if row["start_ns"] == round(min(v["t"] for v in polls) * 1e9))
    assert second["rtt_max_us"] == round(max(v["tcp_rtt"] for v in polls) * 1000)
    assert columns(second, "rtt_samples", "client_host_key", "ip_version") == (len(polls), None, 4)
    assert read(folder / "test-voip-1up.flent.gz")[0] == []
