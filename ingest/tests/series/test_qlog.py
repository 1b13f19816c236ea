"""qlog files of every draft: the same connection gives the same facts, damage keeps what came before it."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from results import Tables, damaged, is_refused_or_read, read
from tool_results import QLOG_FORMS, START_S, qlog_document, qlog_sequence

from sojourn_ingest.formats.interface import InputError

PUBLIC = Path("data/public/quiclog__qvis/visualizations/public/standalone_data/draft-01")


def written(folder: Path, content: str | bytes, name: str = "client.qlog") -> Path:
    """Write a file into a folder that has no manifest."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def values(tables: Tables, name: str) -> list[float | None]:
    """Return the values of one series of the first connection."""
    return [row["value"] for row in tables["series"] if row["series_name"] == f"connection 1 client {name}"]


@pytest.mark.parametrize("form", QLOG_FORMS)
def test_every_draft_gives_the_same_connection(tmp_path: Path, form: str) -> None:
    reader, tables, reading = read(written(tmp_path, QLOG_FORMS[form]()))
    assert (reader, reading.fault, reading.refused) == ("qlog", None, {})
    assert values(tables, "latest_rtt") == [20.0, 30.0]
    assert (values(tables, "min_rtt"), values(tables, "smoothed_rtt")) == ([20.0], [20.0, 21.25])
    assert (values(tables, "congestion_window"), values(tables, "bytes_in_flight")) == ([12_000.0, 13_200.0], [1200.0])
    assert values(tables, "packet_lost") == [1.0]
    # The bit changed at 15 ms and at 40 ms.
    assert (values(tables, "spin_bit"), values(tables, "spin_bit rtt")) == ([1.0, 0.0], [25.0])
    times = {row["series_name"]: (row["time_ns"], row["time_s"]) for row in tables["series"]}
    assert times["connection 1 client packet_lost"] == (START_S * 10**9 + 35_000_000, pytest.approx(0.035))
    sent = {row["direction"] for row in tables["series"] if row["metric"] in ("cwnd_bytes", "lost_packets")}
    assert sent == {"uplink"}
    (row,) = tables["connection"]
    assert (row["dataset"], row["rtt_basis"], row["sample_basis"]) == ("qlog-client", "raw", "rtt_samples")
    assert (row["rtt_samples"], row["rtt_min_us"], row["rtt_avg_us"], row["rtt_max_us"]) == (2, 20_000, 25_000, 30_000)
    assert (row["start_ns"], row["duration_ms"], row["ip_version"]) == (START_S * 10**9, 40.0, 4)
    assert "8.8.8.8" not in json.dumps(tables)


def test_a_clock_without_an_epoch_has_series_but_no_connection(tmp_path: Path) -> None:
    content = qlog_document("02")
    content["traces"][0]["common_fields"]["reference_time"] = {"clock_type": "monotonic", "epoch": "unknown"}
    _, tables, reading = read(written(tmp_path, json.dumps(content)))
    assert (tables["connection"], reading.refused) == ([], {"start_ns: missing": 1})
    assert {row["time_ns"] for row in tables["series"]} == {None}
    assert values(tables, "latest_rtt") == [20.0, 30.0]


def test_metrics_that_are_logged_again_are_one_sample_and_groups_are_connections(tmp_path: Path) -> None:
    content = qlog_document("02")
    events = content["traces"][0]["events"]
    again = [event for event in events if "latest_rtt" in event["data"]]
    content["traces"][0]["events"] = [
        *(event | {"group_id": group} for event in (again[0], again[0], again[1]) for group in ("a", "b")),
        {"time": 50.0, "name": "quic:packet_lost"},
    ]
    _, tables, _ = read(written(tmp_path, json.dumps(content)))
    assert [row["rtt_samples"] for row in tables["connection"]] == [2, 2]


@pytest.mark.parametrize("form", QLOG_FORMS)
def test_a_file_cut_at_any_byte_is_refused_or_gives_what_came_before(tmp_path: Path, form: str) -> None:
    text = QLOG_FORMS[form]().encode()
    partial = 0
    for length in range(0, len(text), 61):
        path = written(tmp_path, text[:length])
        if is_refused_or_read(path):
            reading = read(path)[2]
            partial += reading.fault is not None
    assert partial > 0


@pytest.mark.parametrize("form", QLOG_FORMS)
def test_a_file_with_any_byte_changed_is_refused_or_read(tmp_path: Path, form: str) -> None:
    text = QLOG_FORMS[form]().encode()
    for place in range(0, len(text), 97):
        for byte in b"\0\xff9}":
            is_refused_or_read(written(tmp_path, text[:place] + bytes([byte]) + text[place + 1 :]))


@pytest.mark.parametrize("draft", ["01"])
def test_a_wrong_value_anywhere_is_refused_or_left_out(tmp_path: Path, draft: str) -> None:
    for changed in damaged(qlog_document(draft)):
        is_refused_or_read(written(tmp_path, json.dumps(changed)))


def test_a_damaged_record_of_a_sequence_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    first, second, *rest = qlog_sequence().split("\x1e")[1:]
    text = "\x1e".join(["", first, second, '{"time": \n', *rest])
    _, tables, reading = read(written(tmp_path, text))
    assert reading.refused == {"malformed_record": 1}
    assert reading.fault is not None
    assert reading.fault.offset == len(f"\x1e{first}\x1e{second}\x1e")
    assert values(tables, "latest_rtt") == [20.0, 30.0]


def test_a_damaged_gzip_stream_keeps_the_events_before_it(tmp_path: Path) -> None:
    head, *events = qlog_sequence().split("\x1e")[1:]
    text = "\x1e" + "\x1e".join([head, *events * 3000])
    packed = gzip.compress(text.encode(), mtime=0)
    _, tables, reading = read(written(tmp_path, packed[: len(packed) // 2], "a.sqlog.gz"))
    assert reading.fault is not None
    assert (reading.fault.reason, len(values(tables, "latest_rtt")) > 100) == ("compression", True)


def test_files_without_metrics_say_what_to_do(tmp_path: Path) -> None:
    content = qlog_document("02")
    content["traces"][0]["events"] = [{"time": 1.0, "name": "quic:packet_sent", "data": {}}]
    with pytest.raises(InputError, match="log the events of recovery") as caught:
        read(written(tmp_path, json.dumps(content)))
    assert caught.value.reason == "no_measurement"
    with pytest.raises(InputError, match="without a trace"):
        read(written(tmp_path, json.dumps({"qlog_version": "0.3", "traces": []})))


@pytest.mark.parametrize("is_sequence", [False, True])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, is_sequence: bool) -> None:
    peaks = []
    for events in (500, 4_000):
        sent = {"time": 1.0, "name": "quic:packet_sent", "data": {"frames": [{"offset": n} for n in range(60)]}}
        content = qlog_document("02")
        listed = content["traces"][0]["events"]
        if is_sequence:
            text = qlog_sequence() + f"\x1e{json.dumps(sent)}\n" * events
        else:
            content["traces"][0]["events"] = [*listed, *[sent] * events]
            text = json.dumps(content)
        path = written(tmp_path, text)
        tracemalloc.start()
        assert read(path)[2].records_read == len(listed) + events
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.integration
def test_smallest_rtt_of_published_files_is_the_end_points_own(shared: Path) -> None:
    compared = 0
    for path in sorted((shared / PUBLIC).glob("*.qlog")):
        _, tables, reading = read(path)
        assert reading.fault is None
        for row in tables.get("connection", ()):
            document = json.loads(path.read_bytes())
            events = document["traces"][row["connection_number"]]["events"]
            stated: list[Any] = [event[-1]["min_rtt"] for event in events if "min_rtt" in event[-1]]
            assert row["rtt_min_us"] == min(stated) * 1000
            compared += 1
    assert compared == 3


@pytest.mark.integration
def test_both_ends_of_a_published_connection_and_its_spin_bit_agree(shared: Path) -> None:
    _, tables, _ = read(shared / PUBLIC / "doublevantage_100ms.qlog")
    client, server = tables["connection"]
    assert (client["dataset"], server["dataset"]) == ("qlog-client", "qlog-server")
    assert client["rtt_min_us"] == pytest.approx(server["rtt_min_us"], rel=0.02)
    periods = sorted(value for value in values(tables, "spin_bit rtt") if value is not None)
    assert periods[len(periods) // 2] == pytest.approx(client["rtt_avg_us"] / 1000, rel=0.1)


@pytest.mark.parametrize(
    ("reference", "form", "times", "start_ns"),
    [
        # 2023-11-14T22:13:20Z is 1,700,000,000 s, and the first event is 12.5 ms later.
        ("2023-11-14T22:13:20Z", "relative", (12.5, 20), 1_700_000_000_012_500_000),
        ("2023-11-15T00:13:20.250+02:00", "relative_to_epoch", (0, 1), 1_700_000_000_250_000_000),
        ("1700000000000", "relative", (12.5, 20), 1_700_000_000_012_500_000),
        ("2023-11-14t22:13:20.000001z", "delta", (1, 1), 1_700_000_000_001_001_000),
        ("yesterday", "relative", (12.5, 20), None),
        ("1969-12-31T23:59:59Z", "relative", (12.5, 20), None),
    ],
)
def test_a_reference_time_may_be_a_text(
    reference: str, form: str, times: tuple[float, float], start_ns: int | None, tmp_path: Path
) -> None:
    metrics = {"name": "recovery:metrics_updated", "data": {"latest_rtt": 20.0, "smoothed_rtt": 21.0}}
    events = [{"time": time} | metrics for time in times]
    fields = {"reference_time": reference, "time_format": form}
    trace = {"vantage_point": {"type": "client"}, "common_fields": fields, "events": events}
    path = tmp_path / "a.qlog"
    path.write_text(json.dumps({"qlog_version": "0.3", "traces": [trace]}))
    _, tables, _ = read(path)
    assert min((row["time_ns"] for row in tables["series"] if row["time_ns"]), default=None) == start_ns
    assert tables["run"][0]["start_ns"] == start_ns


def test_a_number_of_64_bits_is_no_damage_and_counts_nothing(tmp_path: Path) -> None:
    """2^64 - 1 is what stacks in Rust and C write for what is not set, here at the start and within the events."""
    most = 2**64 - 1
    events = [
        {
            "time": 1,
            "name": "recovery:metrics_updated",
            "data": {"latest_rtt": 20.0, "min_rtt": most, "ssthresh": most},
        },
        {"time": 2, "name": "recovery:metrics_updated", "data": {"latest_rtt": 40.0, "congestion_window": most}},
    ]
    common = {"reference_time": 1_700_000_000_000.0, "max": most, "group_id": str(most)}
    trace = {"vantage_point": {"type": "client"}, "common_fields": common, "events": events}
    path = tmp_path / "64.qlog"
    path.write_text(json.dumps({"qlog_version": "0.3", "traces": [trace]}))
    _, tables, reading = read(path)
    assert [row["value"] for row in tables["series"]] == [20.0, 40.0]
    assert [row["rtt_max_us"] for row in tables["connection"]] == [40_000]
    assert (reading.fault, reading.refused) == (
        None,
        {"min_rtt: not a number": 1, "congestion_window: not a number": 1},
    )


def test_events_in_a_time_unit_that_no_draft_has_are_refused(tmp_path: Path) -> None:
    event = {"time": 1, "name": "recovery:metrics_updated", "data": {"latest_rtt": 0.02}}
    trace = {"vantage_point": {"type": "client"}, "common_fields": {"time_units": "s"}, "events": [event]}
    path = tmp_path / "seconds.qlog"
    path.write_text(json.dumps({"qlog_version": "0.3", "traces": [trace]}))
    with pytest.raises(InputError, match="1 event_of_a_trace_with_unknown_time_units"):
        read(path)
