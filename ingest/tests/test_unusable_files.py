"""A file from which nothing becomes a fact is never ok: one rule for all readers, and a reason that says what to do."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from captures import write_pcap
from results import read
from tool_results import flent_document, iperf3, irtt

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import LONGEST_REASON, MOST_REASONS, InputError, Reading
from sojourn_ingest.lake import Lake
from sojourn_ingest.session.session import IngestSession


@pytest.fixture(scope="module")
def cases(shared: Path) -> Path:
    """Return the folder of files that went wrong once, whose right values its SOURCES.tsv states."""
    return shared / "data" / "cases"


VMAF = {"version": "3.0.0", "fps": 98.4, "frames": [], "pooled_metrics": {"vmaf": {"mean": 86.1}}}
PAGE = {"id": "page_1", "pageTimings": {"onLoad": -1}}
SOCKET = "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2"
#: A file of each kind without a fact: its name, its content, and a word of what to do or what is wrong.
UNUSABLE: dict[str, tuple[str, Any, str]] = {
    "har": ("a.har", {"log": {"version": "1.2", "pages": [PAGE, PAGE]}}, "refused: 2 page: the page did not load"),
    "lighthouse": ("a.json", {"lighthouseVersion": "12.0.0", "audits": {}}, "--output=json"),
    "curl": ("a.jsonl", {"time_total": 0.1, "exitcode": 28}, "refused: 1 load: curl failed"),
    "libvmaf": ("a.json", VMAF, "log_fmt=json"),
    "libvmaf of release 1": ("a.json", {"VMAF score": 86.1, "fps": 9.5, "version": "1.5.1"}, "log_fmt=json"),
    "frames without scores": ("a.json", {"frames": [{"frameNum": 0, "metrics": {}}]}, "score the clip again"),
    "iperf3": ("a.json", iperf3(intervals=[], end={}, error="unable to connect"), "failed before its first interval"),
    "irtt": ("a.json", irtt() | {"round_trips": [], "stats": {}}, "before its first packet"),
    "flent": ("a.flent", flent_document(results={}, raw_values={}), "ended before it measured anything"),
    "speedtest": ("a.json", {"bytes_received": None, "ping": None, "server": {}}, "failed or was aborted"),
    "percentiles": ("a.json", {"sample_counts": {}, "metrics": {"latency_ms": {}}}, "known quantity"),
    "webrtc-internals": ("a.json", {"PeerConnections": {"1": {"stats": {}}}, "UserMedia": []}, "during a call"),
    "getStats": ("a.jsonl", [{"type": "codec", "id": "c"}], "record the call"),
    "qlog": ("a.qlog", {"qlog_version": "0.3", "traces": [{"events": []}]}, "events of recovery"),
    "ss": ("a.jsonl", {"ts_ns": 1_700_000_000 * 10**9, "ts_end_ns": 1_700_000_000 * 10**9, "raw": "x"}, "ss -tin"),
    "tc": ("a.jsonl", {"ts_ns": 1_700_000_000 * 10**9, "qdiscs": [{"kind": 5}]}, "poll of tc"),
}


def _written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content) + "\n")
    return path


@pytest.mark.parametrize("kind", UNUSABLE)
def test_a_file_without_a_fact_is_refused_with_what_to_do(kind: str, tmp_path: Path) -> None:
    name, content, what_to_do = UNUSABLE[kind]
    with pytest.raises(InputError) as caught:
        read(_written(tmp_path, name, content))
    assert caught.value.reason in ("no_measurement", "corrupt_record")
    assert what_to_do in caught.value.message
    assert "known format" not in caught.value.message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pcap.bz2", b"BZh91AY&SY", "a bzip2 file; decompress it: bunzip2 FILE"),
        ("a.pcap.gz", gzip.compress(gzip.compress(b"a capture", mtime=0), mtime=0), "compressed twice; decompress it"),
        ("a.pcap.gz", gzip.compress(lzma.compress(b"a capture"), mtime=0), "compressed twice; decompress it"),
        ("a.cpio", b"070701" + b"000A1B2C" * 13 + b"a\0", "a cpio archive; unpack it and give its folder"),
        ("a.cpio", b"070707" + b"0" * 70 + b"a\0", "a cpio archive; unpack it and give its folder"),
        ("a.warts", b"\x12\x05\0\5\0\0\0\x1a", "a scamper warts file"),
        ("a.rrd", b"RRD\x000003\0", "an RRD file"),
        ("a.7z", b"7z\xbc\xaf'\x1c\0\4", "a 7-Zip archive; unpack it and give its folder"),
        ("a.cap", b"snoop\0\0\0\0\0\0\2", "a snoop capture; convert it: editcap -F pcap FILE FILE.pcap"),
        ("a.cap", b"GMBU\0\2\1\0", "a Microsoft Network Monitor capture; convert it: editcap"),
        ("a.txt", b"ping: unknown host example.test\n", "an error message of ping, which measured nothing"),
        ("a.txt", b"12:00:00.123456 IP 10.0.0.1.80 > 10.0.0.2.5: Flags [S]\n", "tcpdump's text; record with -w"),
        (
            "a.csv",
            b'"No.","Time","Source","Destination"\n"1","0.0","10.0.0.1","10.0.0.2"\n',
            "Wireshark's list of packets",
        ),
        ("a.txt", b"traceroute to 192.0.2.1 (192.0.2.1), 30 hops max\n", "traceroute's text"),
    ],
)
def test_what_no_reader_takes_is_named_with_what_to_do(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(tmp_path / name)
    assert caught.value.reason == "unrecognised_format"
    assert caught.value.message.startswith(message)


def test_a_capture_without_a_packet_says_where_to_look(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no packets; check the interface and the filter") as caught:
        read(write_pcap(tmp_path / "a.pcap", []))
    assert caught.value.reason == "no_measurement"


def test_nothing_of_such_a_file_is_in_the_lake(tmp_path: Path) -> None:
    name, content, _ = UNUSABLE["har"]
    path = _written(tmp_path, name, content)
    lake = Lake(tmp_path / "lake")
    with lake.writing():
        (attempt,) = IngestSession(lake, Pseudonymiser(b"key")).run([path], lambda _: None)
    assert (attempt.commit.status, attempt.commit.reason, attempt.commit.holds_facts) == (
        "rejected", "no_measurement", False,
    )  # fmt: skip
    assert attempt.refused_by_reason == {"page: the page did not load (its time is not positive)": 2}


@pytest.mark.parametrize(
    ("name", "reason", "message"),
    [
        ("har/sitespeedio_pagexray__frontendredirect.har", "no_measurement", "HAR without a page that loaded"),
        ("libvmaf/Eyevinn_autovmaf__vmaf.json", "no_measurement", "libvmaf's scores of a whole clip"),
    ],
)
def test_cases_that_measured_nothing(cases: Path, name: str, reason: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(cases / name)
    assert caught.value.reason == reason


# What is right of these cases is what data/cases/SOURCES.tsv says of each.


@pytest.mark.parametrize(
    ("name", "refused"),
    [("bugs/iperf3_leading_warning.json", {"line_before_the_document": 1}), ("bugs/iperf3_bom_utf8.json", {})],
)
def test_iperf3_behind_a_warning_or_a_mark_is_read(cases: Path, name: str, refused: dict[str, int]) -> None:
    format_name, tables, reading = read(cases / name)
    assert (format_name, reading.records_read, reading.refused) == ("iperf3", 5, refused)
    rows = [row for row in tables["series"] if row["sample_basis"] == "intervals" and row["metric"] == "rate_bps"]
    assert [row["value"] for row in rows] == [10_000_000.0] * 5
    assert [row["value"] for row in tables["series"] if row["metric"] == "srtt_ms"][:5] == [20, 21, 22, 23, 24]
    assert tables["run"][0]["start_ns"] == 1_700_000_000 * 10**9


def test_ndt5_is_told_with_blanks_and_zeros_are_no_rtt(cases: Path) -> None:
    format_name, tables, _ = read(cases / "bugs/ndt5_zero_web100.json")
    (row,) = tables["connection"]
    assert (format_name, row["rtt_min_us"], row["rtt_avg_us"], row["rtt_max_us"]) == ("ndt5", 7_000, None, None)


def test_the_reference_time_of_qlog_may_be_a_text(cases: Path) -> None:
    _, tables, reading = read(cases / "bugs/qlog_reference_time_rfc3339.qlog")
    trips = [row for row in tables["series"] if row["metric"] == "rtt_ms" and row["series_name"].endswith("latest_rtt")]
    assert [row["value"] for row in trips] == list(range(21, 32))
    # date -d 2020-08-16T20:53:56Z +%s is 1597611236; the first event is 10 ms after .582164977, in whole microseconds.
    first_ns = 1_597_611_236_592_165_000
    assert [row["time_ns"] for row in trips] == [first_ns + n * 10_000_000 for n in range(11)]
    assert (tables["run"][0]["start_ns"], reading.refused) == (first_ns, {})


def test_reasons_are_bounded() -> None:
    reading = Reading()
    for number in range(MOST_REASONS + 5):
        reading.refuse(f"key {number}")
    reading.refuse("x" * 1_000_000)
    assert len(reading.refused) == MOST_REASONS + 1
    assert reading.refused["other reasons"] == 6
    reading = Reading()
    reading.refuse("x" * 1_000_000)
    assert [len(reason) for reason in reading.refused] == [LONGEST_REASON]
