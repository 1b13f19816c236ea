"""Queue logs, event by event."""

from __future__ import annotations

from pathlib import Path

import pytest
from native_inputs import (
    decode,
    event,
)

from sojourn_ingest import _native


def test_packets_are_paired_with_their_ends(log_path: Path) -> None:
    log_path.write_text(
        "Attaching 4 probes...\n# queue.bt start 1\n"
        + event("E", 1000, 1)
        + event("E", 1100, 2)
        + event("D", 5000, 1, sojourn=4050)
        + event("X", 6000, 2, sojourn=4900, reason=1, location="codel_dequeue")
        + event("X", 7000, 3, reason=45, location="bfifo_enqueue")
        + event("D", 8000, 4)
        + event("E", 9000, 5)
        + "Lost 3 events\nLost 4 events\n"
    )
    decoder = _native.QueueLogDecoder(str(log_path), form="bpftrace")
    tables = decode(decoder)
    packets = [
        (row["fate"], row["sojourn_ns"], row["drop_kind"], row["drop_location"]) for row in tables["queue_packet"]
    ]
    assert packets == [
        ("dequeued", 4050, None, None),
        ("dropped_in_queue", None, "aqm", "codel_dequeue"),
        ("dropped_at_enqueue", None, "overlimit", "bfifo_enqueue"),
        ("dequeued", None, None, None),
        ("queued_at_end", None, None, None),
    ]
    first = tables["queue_packet"][0]
    assert (first["source_address"], first["source_port"], first["destination_port"]) == ("10.0.1.2", 40001, 5201)
    assert (first["ip_id"], first["transport_word"], first["ethertype"]) == (0x0300, 0x01020304, 0x0800)
    assert tables["queue_log"] == [
        {
            "enqueue_events": 3,
            "dequeue_events": 2,
            "drop_events": 2,
            "lost_events": 7,
            "lost_events_is_minimum": False,
            "probe_failed": False,
            "first_event_ns": 1000,
            "last_event_ns": 9000,
            "clock": "monotonic",
            "clock_offset_ns": None,
            "open_enqueues": 1,
            "open_dequeues": 1,
            "stated_open_enqueues": None,
            "stated_open_dequeues": None,
        }
    ]
    assert (decoder.summary().records_read, decoder.summary().refused, decoder.summary().fault) == (7, {}, None)


def test_damaged_lines_are_counted_and_the_first_is_told(log_path: Path) -> None:
    first = event("E", 1, 1)
    log_path.write_text(first + "E 2 zz\n" + event("D", 3, 1) + "what\n" + event("E", 4, 1)[:-6])
    decoder = _native.QueueLogDecoder(str(log_path), form="bpftrace")
    assert [row["fate"] for row in decode(decoder)["queue_packet"]] == ["dequeued"]
    summary = decoder.summary()
    assert summary.refused == {"malformed_line": 2, "truncated_line": 1}
    assert isinstance(summary.fault, _native.CorruptRecordError)
    assert summary.fault.args[1] == len(first)


def test_a_cut_log_is_truncated(log_path: Path) -> None:
    first = event("E", 1, 1)
    log_path.write_text(first + event("D", 3, 1)[:-1])
    decoder = _native.QueueLogDecoder(str(log_path), form="bpftrace")
    assert [row["fate"] for row in decode(decoder)["queue_packet"]] == ["queued_at_end"]
    fault = decoder.summary().fault
    assert isinstance(fault, _native.TruncatedError)
    assert fault.args[1] == len(first)


@pytest.mark.parametrize("content", ["hello\n" * 60 + event("E", 1, 1), "# only a header\n"])
def test_a_text_without_events_is_no_queue_log(log_path: Path, content: str) -> None:
    log_path.write_text(content)
    with pytest.raises(_native.UnrecognisedFormatError):
        _native.QueueLogDecoder(str(log_path), form="bpftrace")
