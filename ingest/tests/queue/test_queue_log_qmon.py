"""The binary record stream of the BCC queue monitor: what was planted is found again, whatever the order and damage."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import qmon
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sojourn_ingest import _native

WINDOW_NS = 1_000_000_000
Rows = list[dict[str, Any]]

PROPERTY = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def decode(path: Path, content: bytes, batch_rows: int = 64) -> tuple[dict[str, Rows], _native.Summary]:
    path.write_bytes(content)
    decoder = _native.QueueLogDecoder(str(path), form="qmon", batch_rows=batch_rows)
    tables: dict[str, Rows] = {"queue_packet": [], "queue_interval": [], "queue": [], "queue_log": []}
    for table, batch in decoder:
        tables[table] += batch.to_pylist()
    tables["queue_packet"].sort(key=lambda row: row["packet_index"])
    return tables, decoder.summary()


def found_packets(rows: Rows) -> list[tuple[Any, ...]]:
    columns = ("transport_word", "fate", "enqueue_ns", "dequeue_ns", "sojourn_ns", "source_port", "ecn_ce")
    return [tuple(row[column] for column in columns) for row in rows]


def planted_packets(run: qmon.Simulation) -> list[tuple[Any, ...]]:
    return [
        (
            packet.identification,
            packet.fate,
            None if packet.enqueue_ns is None else packet.enqueue_ns + qmon.CLOCK_OFFSET_NS,
            None if packet.dequeue_ns is None else packet.dequeue_ns + qmon.CLOCK_OFFSET_NS,
            packet.sojourn_ns,
            4000 + packet.flow,
            packet.marked,
        )
        for packet in run.packets
    ]


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    return tmp_path / "queue.qmon"


@PROPERTY
@given(seed=st.integers(0, 10**6), order_seed=st.integers(0, 10**6), within_ms=st.sampled_from([1, 30, 999]))
def test_what_was_planted_is_found_in_any_interleaving_of_processors(
    log_path: Path, seed: int, order_seed: int, within_ms: int
) -> None:
    run = qmon.simulate(seed)
    order = qmon.interleaved(run, order_seed, within_ns=within_ms * 1_000_000)
    end = qmon.record(4, f"lengths 0:{_open_enqueues(run)}".encode())
    tables, summary = decode(log_path, qmon.write([run.events[place][2] for place in order], end=end))
    assert summary.fault is None
    assert found_packets(tables["queue_packet"]) == planted_packets(run)
    (log,) = tables["queue_log"]
    assert (log["clock"], log["clock_offset_ns"], log["lost_events"]) == ("utc", qmon.CLOCK_OFFSET_NS, 0)
    (queue,) = tables["queue"]
    assert (queue["interface_name"], queue["handle"]) == ("enp3s0", "8001:")
    assert queue["counted_drops"] <= run.drops


def _open_enqueues(run: qmon.Simulation) -> int:
    """Return how many buffers the probe would hold open: packets without dequeue whose buffer did not come again."""
    held: set[int] = set()
    for (_, _, written), (owner, enqueue) in zip(run.events, run.owners, strict=True):
        skb = int.from_bytes(written[52:60], "little")
        if enqueue and run.packets[owner].fate != "dropped_at_enqueue":
            held.add(skb)
        else:
            held.discard(skb)
    return len(held)


@PROPERTY
@given(seed=st.integers(0, 10**6))
def test_intervals_add_up_to_the_packets(log_path: Path, seed: int) -> None:
    run = qmon.simulate(seed, packets=400, limit=5)
    tables, _ = decode(log_path, qmon.write([written for _, _, written in run.events]))
    intervals = tables["queue_interval"]
    fates = Counter(packet.fate for packet in run.packets)
    sums = {name: sum(row[name] for row in intervals) for name in intervals[0] if name.endswith(("_packets", "_ns"))}
    assert sums["arrived_packets"] == len(run.packets)
    assert sums["departed_packets"] == fates["dequeued"]
    assert sums["dropped_at_enqueue_packets"] == fates["dropped_at_enqueue"]
    assert sums["dropped_in_queue_packets"] == fates["dropped_in_queue"]
    assert sums["observed_ns"] == run.events[-1][0] - run.events[0][0]
    starts = [row["interval_start_ns"] for row in intervals]
    assert starts == list(range(starts[0], starts[-1] + 1, 100_000_000))
    # The integral of the length over time, from the events themselves.
    packet_ns = sum(
        int.from_bytes(run.events[place][2][19:23], "little") * (run.events[place + 1][0] - run.events[place][0])
        for place in range(len(run.events) - 1)
    )
    means = sum((row["occupancy_mean_packets"] or 0) * row["observed_ns"] for row in intervals)
    assert means == pytest.approx(packet_ns, rel=1e-9)
    least = [packet.sojourn_ns for packet in run.packets if packet.sojourn_ns is not None]
    assert min(row["sojourn_min_us"] for row in intervals if row["sojourn_min_us"] is not None) == min(least) // 1000


@PROPERTY
@given(
    seed=st.integers(0, 10**6), cuts=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 12)), min_size=1, max_size=4)
)
def test_lost_records_never_make_up_a_delay_or_a_drop(log_path: Path, seed: int, cuts: list[tuple[float, int]]) -> None:
    run = qmon.simulate(seed)
    gone: dict[int, int] = {}
    for share, length in cuts:
        start = int(share * (len(run.events) - 1))
        for place in range(start, min(start + length, len(run.events))):
            gone[place] = start
    kept: list[bytes] = []
    for place, (_, _, written) in enumerate(run.events):
        if place not in gone:
            kept.append(written)
        elif place + 1 not in gone:
            # The report stands where the buffer had room again: after the run of what it lost.
            first = place
            while first - 1 in gone:
                first -= 1
            kept.append(qmon.lost_record(place + 1 - first))
    tables, summary = decode(log_path, qmon.write(kept))
    assert tables["queue_log"][0]["lost_events"] == len(gone)
    assert sum(row["lost_events"] for row in tables["queue_interval"]) == len(gone)
    assert summary.fault is None
    seen = {owner: set() for owner in range(len(run.packets))}  # type: dict[int, set[bool]]
    for place, (owner, enqueue) in enumerate(run.owners):
        if place not in gone:
            seen[owner].add(enqueue)
    rows = {row["transport_word"]: row for row in tables["queue_packet"]}
    for owner, packet in enumerate(run.packets):
        if not seen[owner]:
            assert owner not in rows
            continue
        row = rows[owner]
        if packet.fate == "dequeued":
            expected = {
                frozenset((True, False)): ("dequeued", packet.sojourn_ns),
                frozenset((False,)): ("dequeued", None),
                frozenset((True,)): ("queued_at_end", None),
            }[frozenset(seen[owner])]
            assert (row["fate"], row["sojourn_ns"]) == expected
        elif packet.fate == "dropped_in_queue":
            # Whether it was dropped or its dequeue was lost cannot be told where events were lost meanwhile.
            assert row["fate"] in ("dropped_in_queue", "queued_at_end")
        else:
            assert row["fate"] == packet.fate


def test_a_loss_count_that_stands_at_its_largest_is_a_minimum(log_path: Path) -> None:
    run = qmon.simulate(1)
    events = [written for _, _, written in run.events]
    log = decode(log_path, qmon.write([*events, qmon.lost_record(255), qmon.lost_record(3)]))[0]["queue_log"][0]
    assert (log["lost_events"], log["lost_events_is_minimum"]) == (258, True)
    log = decode(log_path, qmon.write([*events, qmon.lost_record(254)]))[0]["queue_log"][0]
    assert (log["lost_events"], log["lost_events_is_minimum"]) == (254, False)


def test_events_of_no_real_queue_are_ignored_and_queues_are_told_apart(log_path: Path) -> None:
    events = [
        qmon.event_record(10, enqueue=True, skb=1, queued=1),
        qmon.event_record(20, enqueue=True, skb=2, queued=1, handle=0),
        qmon.event_record(30, enqueue=True, skb=1, queued=1, handle=0x70000, interface=b"eth7"),
        qmon.event_record(40, enqueue=False, skb=1, queued=0),
    ]
    tables, summary = decode(log_path, qmon.write(events, offset=False))
    assert summary.refused == {"no_real_queue": 1}
    assert [(row["queue_number"], row["fate"], row["sojourn_ns"]) for row in tables["queue_packet"]] == [
        (0, "dequeued", 30),
        (1, "queued_at_end", None),
    ]
    assert [(row["interface_name"], row["handle"]) for row in tables["queue"]] == [("enp3s0", "8001:"), ("eth7", "7:")]
    assert tables["queue_log"][0]["clock"] == "monotonic"


def test_what_the_probe_says_it_held_open_is_checked(log_path: Path) -> None:
    events = [qmon.event_record(10, enqueue=True, skb=1, queued=1)]
    tables, summary = decode(log_path, qmon.write(events, end=qmon.record(4, b"lengths 2:1")))
    assert isinstance(summary.fault, _native.CorruptRecordError)
    assert "records are missing" in str(summary.fault.args[0])
    log = tables["queue_log"][0]
    assert (log["stated_open_dequeues"], log["open_dequeues"], log["open_enqueues"]) == (2, 0, 1)
    # With a loss report the difference is explained.
    lost = [*events, qmon.lost_record(2)]
    assert decode(log_path, qmon.write(lost, end=qmon.record(4, b"lengths 2:1")))[1].fault is None


EVENTS = [
    qmon.event_record(1000 + 10 * number, enqueue=number % 2 == 0, skb=7, queued=1 - number % 2) for number in range(8)
]
GOOD = qmon.write(EVENTS)

DAMAGE = {
    "size 0": (b"\0\0\0" + EVENTS[0], "corrupt", "impossible_length"),
    "size below its header": (b"\2\0\0" + EVENTS[0], "corrupt", "impossible_length"),
    "size too large": (b"\xff\xff\0" + EVENTS[0], "corrupt", "impossible_length"),
    "a loss report of two bytes": (qmon.record(1, b"\1\2"), "corrupt", "impossible_length"),
    "lengths that differ": (qmon.record(0, EVENTS[0][3:] + b"\0"), "corrupt", "impossible_length"),
    "unknown type": (qmon.record(9, b"what"), "corrupt", "unknown_type"),
    "neither enqueue nor dequeue": (EVENTS[0][:43] + b"\7" + EVENTS[0][44:], "corrupt", "malformed_record"),
    "probe failure": (qmon.record(3, b""), "corrupt", "probe_failed"),
    "a second clock offset": (qmon.record(2, b"12"), "corrupt", "late_clock_offset"),
    "a clock offset that is no number": (qmon.record(2, b"noon"), "corrupt", "malformed_record"),
    "open counts that are none": (qmon.record(4, b"lengths many"), "corrupt", "malformed_record"),
    "a time beyond the clock": (qmon.event_record(2**63, enqueue=True, skb=1, queued=1), "corrupt", "impossible_time"),
    "a time far ahead": (qmon.event_record(10**15, enqueue=True, skb=1, queued=1), "corrupt", "impossible_time"),
    "a cut record": (EVENTS[0][:40], "truncated", "truncated_record"),
    "a cut header": (b"\1", "truncated", "truncated_record"),
}


@pytest.mark.parametrize(("damage", "kind", "reason"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_told_with_its_offset_and_nothing_before_it_is_lost(
    log_path: Path, damage: bytes, kind: str, reason: str
) -> None:
    tables, summary = decode(log_path, GOOD + damage)
    expected = _native.TruncatedError if kind == "truncated" else _native.CorruptRecordError
    assert isinstance(summary.fault, expected)
    assert summary.fault.args[1] == len(GOOD)
    assert summary.refused == {reason: 1}
    assert summary.records_read == len(EVENTS)
    assert [row["sojourn_ns"] for row in tables["queue_packet"]] == [10] * 4
    assert tables["queue_log"][0]["probe_failed"] == (reason == "probe_failed")


def test_time_that_goes_back_further_than_the_window_is_refused(log_path: Path) -> None:
    late = qmon.event_record(1005, enqueue=True, skb=9, queued=1)
    ahead = qmon.event_record(1000 + 2 * WINDOW_NS, enqueue=True, skb=7, queued=1)
    tables, summary = decode(log_path, GOOD + ahead + late)
    assert summary.refused == {"time_backwards": 1}
    assert summary.fault is not None
    assert summary.fault.args[1] == len(GOOD + ahead)
    assert len(tables["queue_packet"]) == 5


@PROPERTY
@given(
    st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(0, len(GOOD)),
)
def test_any_damage_ends_in_a_summary(log_path: Path, changes: list[tuple[int, int]], length: int) -> None:
    content = bytearray(GOOD[:length])
    for place, byte in changes:
        if place < length:
            content[place] = byte
    try:
        _, summary = decode(log_path, bytes(content))
    except (_native.UnrecognisedFormatError, _native.TruncatedError):
        return
    assert summary.records_read <= len(EVENTS)


@pytest.mark.parametrize("content", [b"", b"\0" * 400, b"\1\2\3\4" * 100, b"text\n" * 50])
def test_other_content_is_not_taken_for_records(content: bytes) -> None:
    assert _native.queue_log_form(content) is None


def test_records_are_recognised_with_and_without_an_offset() -> None:
    assert _native.queue_log_form(GOOD) == "qmon"
    assert _native.queue_log_form(b"".join(EVENTS)) == "qmon"
