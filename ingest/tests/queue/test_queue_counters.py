"""Polled counters of queue disciplines: tc's JSON in two forms, and what flent kept of them."""

from __future__ import annotations

import gzip
import io
import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, InputError, Reading, Source
from sojourn_ingest.formats.queue.tc_counters import read_counters
from sojourn_ingest.formats.queue.tc_poll_stream import Begin, Discipline, End, poll_events
from sojourn_ingest.formats.queue.tc_polls import TcPolls, counter_row, queue_counter_batch
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.formats.series.flent.document import FlentDocument
from sojourn_ingest.formats.series.flent.queue_counters import counter_rows

CODEL: dict[str, Any] = {
    "kind": "codel", "handle": "b1:", "parent": "b0:1", "options": {"limit": 8, "target": 4999}, "bytes": 476,
    "packets": 6, "drops": 2, "overlimits": 1, "requeues": 0, "backlog": 98, "qlen": 1, "count": 3, "lastcount": 2,
    "ldelay": 38445, "dropping": True, "drop_next": -120, "maxpacket": 98, "ecn_mark": 4, "drop_overlimit": 5,
}  # fmt: skip
RAW_CAKE: dict[str, Any] = {
    "kind": "cake", "handle": "b0:", "root": True, "refcnt": 2,
    "options": {"bandwidth": 250000, "diffserv": "besteffort", "rtt": 50000, "raw": True, "overhead": 0}, "bytes": 672,
    "packets": 732, "drops": 5, "overlimits": 0, "requeues": 0, "backlog": 0, "qlen": 0, "memory_used": 768,
    "tins": [{"threshold_rate": 250000, "sent_bytes": 672, "sent_packets": 732, "drops": 5, "ecn_mark": 0}],
}  # fmt: skip
MQ = [{"kind": "fq_codel", "handle": "0:", "dev": "eth0", "parent": f":{queue}", "bytes": queue} for queue in (1, 2)]


TIMES = ["poll_start_ns", "poll_end_ns"]
CONTEXT = Context(Pseudonymiser(b"key"), lambda _: "")
START_NS = 1_700_000_000 * 10**9


def read(path: Path) -> tuple[list[dict[str, Any]], Reading]:
    content = path.read_bytes()
    source = Source(path, "none", content[:65536], len(content))
    assert TcPolls().recognises(source)
    reading = Reading()
    facts = TcPolls().facts(source, Context(Pseudonymiser(b"key"), lambda _: ""), reading)
    return [row for table, batch in facts for row in batch.to_pylist() if table == "queue_counter"], reading


def poll(time_ns: int, *qdiscs: dict[str, Any]) -> str:
    """A poll of some time after the start."""
    times = {"ts_ns": START_NS + time_ns, "ts_end_ns": START_NS + time_ns + 5}
    return json.dumps({**times, "qdiscs": qdiscs}, separators=(",", ":")) + "\n"


def test_codel_counters_have_the_units_of_the_lake() -> None:
    row = counter_row(CODEL)
    assert (row["device"], row["kind"], row["handle"], row["parent"], row["root"]) == (
        "-",
        "codel",
        "b1:",
        "b0:1",
        False,
    )
    assert (row["sent_packets"], row["dropped_packets"], row["backlog_bytes"]) == (6, 2, 98)
    assert (row["codel_delay_us"], row["codel_dropping"], row["codel_drop_next_us"]) == (38445, True, -120)
    assert (row["ecn_marked_packets"], row["dropped_overlimit_packets"], row["new_flows"]) == (4, 5, None)
    calm = counter_row({key: value for key, value in CODEL.items() if key != "dropping"})
    assert (calm["codel_dropping"], calm["codel_drop_next_us"]) == (False, None)


def test_disciplines_without_a_handle_are_told_apart_by_their_parent(tmp_path: Path) -> None:
    path = tmp_path / "tc.jsonl"
    path.write_text(poll(10, *MQ) + poll(20, *MQ, MQ[0]))
    rows, reading = read(path)
    assert [(row["poll_index"], row["handle"], row["sent_bytes"]) for row in rows] == [
        (0, "0:@:1", 1), (0, "0:@:2", 2), (1, "0:@:1", 1), (1, "0:@:2", 2),
    ]  # fmt: skip
    assert (reading.records_read, reading.refused) == (2, {"duplicate_qdisc": 1})


def test_polls_of_cake_are_of_tc_and_not_of_ss(tmp_path: Path) -> None:
    """CAKE's options have a key "raw", and so have polls of ss."""
    path = tmp_path / "qdisc_stats.jsonl"
    path.write_text(poll(10, RAW_CAKE) + poll(20, RAW_CAKE))
    content = path.read_bytes()
    source = Source(path, "none", content, len(content))
    assert Registry().recognise(source).name == "tc_polls"
    rows, reading = read(path)
    assert [(row["kind"], row["dropped_packets"], row["sent_packets"]) for row in rows] == [("cake", 5, 732)] * 2
    assert reading.refused == {}
    # The same key one level up is the text that ss printed.
    path.write_text('{"ts_ns":10,"ts_end_ns":15,"raw":"ESTAB 0 0 10.0.1.2:40001 10.0.2.2:5201 cubic rtt:50/1"}\n')
    content = path.read_bytes()
    assert Registry().recognise(Source(path, "none", content, len(content))).name == "ss_polls"


def test_outputs_one_after_the_other_have_the_times_before_them(tmp_path: Path) -> None:
    path = tmp_path / "tc.txt"
    pretty = json.dumps([CODEL], indent=4)
    path.write_text(
        f"1700000000.5\n{json.dumps([CODEL])}\n1700000001.000000007\n{pretty}\n1700000002\n1700000003\n[]\n"
    )
    rows, reading = read(path)
    assert [(row["poll_start_ns"], row["poll_end_ns"], row["sent_packets"]) for row in rows] == [
        (1_700_000_000_500_000_000, None, 6),
        (1_700_000_001_000_000_007, None, 6),
    ]
    assert (reading.records_read, reading.fault) == (3, None)


def test_polls_by_a_clock_that_was_not_set_are_refused_and_counted(tmp_path: Path) -> None:
    """Of a router without a clock, and of a writer of seconds: their rates would be of a span that is none."""
    path = tmp_path / "tc.jsonl"
    undated = [poll(5 * 10**9 - START_NS, CODEL), poll(1_700_000_000 - START_NS, CODEL)]
    path.write_text("".join(undated) + poll(0, CODEL))
    rows, reading = read(path)
    assert [row["poll_start_ns"] for row in rows] == [START_NS]
    assert (reading.records_read, reading.refused) == (1, {"clock_not_set": 2})
    path.write_text("".join(undated))
    with pytest.raises(InputError, match="2 clock_not_set"):
        read(path)


def test_an_output_may_begin_with_what_tc_complained_of(tmp_path: Path) -> None:
    path = tmp_path / "tc.txt"
    path.write_text(f"1700000000\nCannot find device eth0\n1700000001\n{json.dumps([CODEL])}\n")
    rows, reading = read(path)
    assert [row["poll_start_ns"] for row in rows] == [START_NS + 10**9]
    assert reading.refused == {"text_without_json": 1}


def test_damaged_polls_are_left_out_and_told_of(tmp_path: Path) -> None:
    path = tmp_path / "tc.jsonl"
    good = poll(10, CODEL)
    bad = [
        poll(20, CODEL | {"packets": "six"}),
        '{"ts_ns": 1, "qdiscs": [7]}\n',
        '{"ts_ns":1,\n',
        poll(-1 - START_NS, CODEL),
    ]
    path.write_text(good + "".join(bad) + poll(30, CODEL))
    rows, reading = read(path)
    assert [row["poll_start_ns"] - START_NS for row in rows] == [10, 30]
    assert reading.refused == {"malformed_poll": 4}
    assert reading.fault is not None
    assert reading.fault.offset == len(good)
    path.write_text("1700000000.5\n[\n")
    with pytest.raises(InputError, match="not a poll of tc at byte 0"):
        read(path)


@pytest.mark.integration
def test_the_testbed_counters_end_with_those_of_the_validation(testbed: Path, tmp_path: Path) -> None:
    for folder in sorted(item for item in testbed.iterdir() if item.is_dir()):
        stored = folder / "qdisc_stats.jsonl"
        content = stored.read_bytes() if stored.exists() else gzip.decompress(Path(f"{stored}.gz").read_bytes())
        path = tmp_path / "qdisc_stats.jsonl"
        path.write_bytes(content)
        rows, reading = read(path)
        assert (reading.refused, reading.fault) == ({}, None)
        assert reading.records_read == len(content.splitlines())
        last = max((row for row in rows if row["root"]), key=lambda row: row["poll_index"])
        validation = json.loads((folder / "manifest.json").read_text())["validation"]
        assert last["dropped_packets"] <= validation["drops_total_tc"]
        # After the last poll the queue drains, for a second at most.
        assert 0 <= validation["tc_sent"] - last["sent_packets"] <= 330


@pytest.mark.integration
def test_flent_files_give_the_counters_of_their_hosts(shared: Path) -> None:
    folder = shared / "data" / "public" / "tohojo__flent" / "unittests" / "test_data"
    document = json.loads(gzip.decompress((folder / "test-rrul.flent.gz").read_bytes()))
    rows, refused = counter_rows(FlentDocument(document))
    assert refused == 0
    queue_counter_batch(rows)
    assert {(row["device"], row["kind"]) for row in rows} == {
        ("testbed-02:eth2", "codel"),
        ("testbed-04:eth1", "codel"),
    }
    for host in ("testbed-02", "testbed-04"):
        raw = document["raw_values"][f"qdisc_stats_{host}"]
        own = [row for row in rows if row["device"].startswith(host)]
        assert len(own) == len(raw)
        # Before version 4 flent kept tc's own counter, which is at the end what tc listed after the test.
        listed = json.dumps(document["metadata"]["REMOTE_METADATA"][host])
        assert own[-1]["dropped_packets"] == raw[-1]["dropped"]
        assert f"(dropped {raw[-1]['dropped']:.0f}," in listed
        assert max(row["codel_delay_us"] or 0 for row in own) == round(
            max(value.get("delay", 0) for value in raw) * 1000
        )
    polls = [{"t": 1.0, "sent_bytes": "many"}, {"t": 2.0}]
    assert counter_rows(FlentDocument({"version": 3, "raw_values": {"qdisc_stats_x": polls}}))[1] == 1


@pytest.mark.parametrize(("version", "dropped"), [(3, [2, 5, 5]), (4, [2, 7, 12])])
def test_drops_of_flent_count_from_the_start_before_version_4_and_since_the_last_poll_from_then_on(
    version: int, dropped: list[int]
) -> None:
    polls = [{"t": float(time), "dropped": count} for time, count in enumerate((2, 5, 5))]
    rows, refused = counter_rows(FlentDocument({"version": version, "raw_values": {"qdisc_stats_x": polls}}))
    assert ([row["dropped_packets"] for row in rows], refused) == (dropped, 0)


def test_a_flent_file_without_counters_gives_none() -> None:
    assert counter_rows(FlentDocument({"version": 4, "raw_values": {"ping": []}, "metadata": None})) == ([], 0)


# Keys as iproute2 prints them (q_cake.c, q_dualpi2.c, q_pie.c, q_fq_pie.c, q_red.c, q_fq.c, q_htb.c).
# Values are synthetic.
TIN: dict[str, Any] = {
    "threshold_rate": 1_250_000, "sent_bytes": 9000, "backlog_bytes": 1514, "target_us": 5000, "interval_us": 100_000,
    "peak_delay_us": 7000, "avg_delay_us": 3000, "base_delay_us": 20, "sent_packets": 6, "way_indirect_hits": 1,
    "way_misses": 2, "way_collisions": 3, "drops": 4, "ecn_mark": 5, "ack_drops": 6, "sparse_flows": 7, "bulk_flows": 8,
    "unresponsive_flows": 9, "max_pkt_len": 1514, "flow_quantum": 300,
}  # fmt: skip
CAKE: dict[str, Any] = {
    "kind": "cake", "handle": "b0:", "root": True, "refcnt": 2,
    "options": {"bandwidth": 1_250_000, "diffserv": "diffserv3"}, "bytes": 27000, "packets": 18, "drops": 12,
    "overlimits": 1, "requeues": 0, "backlog": 4542, "qlen": 3, "memory_used": 8000, "memory_limit": 4_194_304,
    "capacity_estimate": 100, "min_network_size": 28, "tins": [TIN, TIN | {"ecn_mark": 7}, TIN | {"newer_key": 1}],
}  # fmt: skip
DUALPI2: dict[str, Any] = {
    "kind": "dualpi2", "handle": "1:", "root": True, "options": {"limit": 10000, "split-gso": None}, "bytes": 1,
    "packets": 1, "drops": 0, "overlimits": 0, "requeues": 0, "backlog": 0, "qlen": 0, "prob": 0.25, "delay-c": 15000,
    "delay-l": 900, "pkts-in-c": 70, "pkts-in-l": 80, "maxq": 40, "ecn-mark": 33, "step-mark": 11, "credit": -300,
    "memory-used": 1, "max-memory-used": 2, "memory-limit": 3,
}  # fmt: skip
PIE = {"prob": 0.5, "delay": 20_000, "avg_dq_rate": 9, "pkts_in": 10, "overlimit": 1, "dropped": 2, "maxq": 3}
OTHERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"kind": "pie"} | PIE | {"ecn_mark": 4}, {
        "marking_probability_ratio": 0.5, "queue_delay_us": 20_000, "enqueued_packets": 10,
        "dropped_overlimit_packets": 1, "dropped_aqm_packets": 2, "backlog_max_packets": 3, "ecn_marked_packets": 4,
    }),
    ({"kind": "fq_pie", "pkts_in": 9, "overlimit": 1, "overmemory": 2, "dropped": 3, "ecn_mark": 4, "new_flow_count": 5,
      "new_flows_len": 6, "old_flows_len": 7, "memory_used": 8},
     {"enqueued_packets": 9, "dropped_overmemory_packets": 2, "dropped_aqm_packets": 3, "new_flow_count": 5,
      "new_flows": 6, "old_flows": 7, "memory_used_bytes": 8, "ecn_marked_packets": 4}),
    ({"kind": "red", "marked": 1, "early": 2, "pdrop": 3, "other": 4},
     {"ecn_marked_packets": 1, "dropped_aqm_packets": 2, "dropped_overlimit_packets": 3,
      "dropped_otherwise_packets": 4}),
    ({"kind": "fq", "ce_mark": 6}, {"ecn_marked_packets": 6}),
]  # fmt: skip


def test_the_tins_of_cake_are_parts_of_it() -> None:
    counts = read_counters(CAKE)
    assert (counts.row["shaper_rate_bps"], counts.row["diffserv_mode"]) == (10_000_000, "diffserv3")
    assert (counts.row["ecn_marked_packets"], counts.row["memory_used_bytes"]) == (17, 8000)
    assert [part["part_name"] for part in counts.parts] == ["bulk", "best_effort", "voice"]
    tin = counts.parts[1]
    assert (tin["ecn_marked_packets"], tin["dropped_packets"], tin["dropped_acknowledgements"]) == (7, 4, 6)
    assert (tin["peak_delay_us"], tin["mean_delay_us"], tin["base_delay_us"]) == (7000, 3000, 20)
    assert (tin["threshold_rate_bps"], tin["target_us"], tin["bulk_flows"]) == (10_000_000, 5000, 8)
    assert counts.unknown == {"cake.tins.newer_key": 1}


def test_dualpi2_has_two_queues_and_two_ways_of_marking() -> None:
    counts = read_counters(DUALPI2)
    row = counts.row
    assert (row["ecn_marked_packets"], row["step_marked_packets"], row["credit_bytes"]) == (33, 11, -300)
    assert (row["marking_probability_ratio"], row["backlog_max_packets"]) == (0.25, 40)
    assert [(part["part_name"], part["queue_delay_us"], part["enqueued_packets"]) for part in counts.parts] == [
        ("l4s", 900, 80),
        ("classic", 15000, 70),
    ]
    assert counts.unknown == {}


@pytest.mark.parametrize(("qdisc", "columns"), OTHERS)
def test_each_discipline_has_its_own_keys(qdisc: dict[str, Any], columns: dict[str, Any]) -> None:
    counts = read_counters({"handle": "2:"} | qdisc)
    assert {column: counts.row[column] for column in columns} == columns
    assert counts.unknown == {}


def test_a_class_of_htb_is_not_a_discipline() -> None:
    htb = {"class": "htb", "handle": "1:10", "parent": "1:1", "leaf": "10:", "prio": 0, "rate": 625_000}
    stats = {"bytes": 3, "packets": 2, "drops": 1, "lended": 5, "borrowed": 6, "giants": 0, "tokens": -7, "ctokens": 8}
    for form in (htb | stats, htb | {"stats": stats}):
        counts = read_counters(form)
        assert (counts.row["is_class"], counts.row["root"], counts.row["kind"]) == (True, False, "htb")
        assert (counts.row["sent_packets"], counts.row["lent_packets"], counts.row["borrowed_packets"]) == (2, 5, 6)
        assert (counts.row["shaper_rate_bps"], counts.unknown) == (5_000_000, {})


def test_keys_without_a_column_are_named_in_the_outcome_and_rows_of_parts_have_their_poll(tmp_path: Path) -> None:
    path = tmp_path / "tc.jsonl"
    # What tc would not call a key may name a host.
    path.write_text(poll(10, CAKE, DUALPI2 | {"alice-pc.example.org": 1}) + poll(20, CAKE))
    content = path.read_bytes()
    reading = Reading()
    source = Source(path, "none", content[:65536], len(content))
    facts = TcPolls().facts(source, Context(Pseudonymiser(b"key"), lambda _: ""), reading)
    parts = [row for table, batch in facts for row in batch.to_pylist() if table == "queue_counter_part"]
    assert [(row["poll_index"], row["handle"], row["part_number"]) for row in parts] == [
        (0, "b0:", 0), (0, "b0:", 1), (0, "b0:", 2), (0, "1:", 0), (0, "1:", 1), (1, "b0:", 0), (1, "b0:", 1),
        (1, "b0:", 2),
    ]  # fmt: skip
    # Once, however many polls and tins have it.
    assert reading.refused == {"key_without_column cake.tins.newer_key": 1, "key_without_column": 1}
    assert read_counters(CAKE).row["network_min_bytes"] == CAKE["min_network_size"]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_poll_of_many_circuits_is_read_whole(tmp_path: Path, indent: int | None) -> None:
    circuits = [CAKE | {"dev": f"circuit{number}", "packets": number} for number in range(1500)]
    output = json.dumps(circuits, indent=indent)
    assert len(output) > 2**21
    path = tmp_path / "tc.txt"
    path.write_text(f"1700000000.5\n{output}\n1700000001.5\n{json.dumps([CAKE], indent=indent)}\n")
    rows, reading = read(path)
    assert (len(rows), reading.records_read, reading.fault) == (1501, 2, None)
    assert rows[1499]["sent_packets"] == 1499


def write_poll_of(circuits: int, path: Path) -> Source:
    text = json.dumps(CAKE)[:-1]
    listed = (f'{text}, "dev": "circuit{number}"}}' for number in range(circuits))
    path.write_text(f'{{"ts_ns": {START_NS}, "qdiscs": [{",".join(listed)}], "ts_end_ns": {START_NS + 5}}}\n')
    return Source(path, "none", path.read_bytes()[:65536], path.stat().st_size)


def test_the_memory_of_a_poll_does_not_grow_with_its_text(tmp_path: Path) -> None:
    """All disciplines on one line, as tc prints them; the times may stand at its end."""
    peaks = []
    for circuits in (3_000, 6_000):
        source = write_poll_of(circuits, tmp_path / "tc.jsonl")
        rows = parts = 0
        times = set()
        tracemalloc.start()
        for name, batch in TcPolls().facts(source, CONTEXT, Reading()):
            if name == "queue_counter":
                rows += batch.num_rows
                times |= {(row["poll_start_ns"], row["poll_end_ns"]) for row in batch.select(TIMES).to_pylist()}
            else:
                parts += batch.num_rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (rows, parts, times) == (circuits, 3 * circuits, {(START_NS, START_NS + 5)})
    # The text is 4.5 MB longer; names and places are kept of every circuit.
    assert peaks[1] - peaks[0] < 1.3 * 10**6


def test_nothing_is_kept_of_a_poll_that_is_cut_after_a_part_of_its_rows(tmp_path: Path) -> None:
    source = write_poll_of(3_000, tmp_path / "tc.jsonl")
    with source.path.open("r+b") as file:
        file.truncate(source.plain_bytes - 30)
    with pytest.raises(InputError, match="not a list of objects"):
        list(TcPolls().facts(source, CONTEXT, Reading()))


@pytest.mark.parametrize(
    "damage", ['"ts_end_ns": 1, "qdiscs": [0]', '"qdiscs": [[{"kind": "pie"}]]', '"qdiscs": {"a": [{}]}']
)
def test_what_is_not_a_list_of_objects_is_no_poll(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "tc.jsonl"
    path.write_text(poll(10, CODEL) + f'{{"ts_ns": 20, {damage}}}\n' + poll(30, CODEL))
    rows, reading = read(path)
    times = [row["poll_start_ns"] - START_NS for row in rows]
    assert (times, reading.refused) == ([10, 30], {"malformed_poll": 1})


def test_time_grows_with_a_poll_and_not_with_its_square() -> None:
    poll = b'{"ts_ns":1,' + b'"a":[],' * 150_000 + b'"qdiscs":[]}\n'
    before_s = time.process_time()
    assert [type(event) for event in poll_events(io.BytesIO(poll))] == [Begin, End]
    # A twentieth of a second; half a minute when all before each list was looked at.
    assert time.process_time() - before_s < 5


def test_a_counter_or_delay_out_of_range_costs_itself_alone(tmp_path: Path) -> None:
    # 2^64 - 1 is what the kernel shows of a counter that fell below zero by one: of the discipline, of a class whose
    # counters are apart, and of a tin.
    below_zero = 2**64 - 1
    shaped = {"class": "htb", "handle": "1:10", "stats": {"bytes": 9, "backlog": below_zero}}
    an_hour_us = 3_600_000_000
    tins = [TIN | {"peak_delay_us": an_hour_us, "avg_delay_us": an_hour_us + 1}, TIN | {"backlog_bytes": below_zero}]
    path = tmp_path / "tc.jsonl"
    path.write_text(
        poll(10, CODEL | {"qlen": below_zero}) + poll(20, CODEL) + poll(30, CAKE | {"tins": tins}) + poll(40, shaped)
    )
    rows, reading = read(path)
    assert [row["poll_start_ns"] - START_NS for row in rows[:2]] == [10, 20]
    assert [row["backlog_packets"] is None for row in rows[:2]] == [True, False]
    assert rows[0]["sent_packets"] == CODEL["packets"]
    assert (rows[3]["sent_bytes"], rows[3]["backlog_bytes"]) == (9, None)
    assert reading.records_read == 4
    assert reading.refused == {
        "counter_out_of_range codel.qlen": 1,
        "counter_out_of_range cake.tins.avg_delay_us": 1,
        "counter_out_of_range cake.tins.backlog_bytes": 1,
        "counter_out_of_range htb.backlog": 1,
    }
    assert reading.fault is None
    slow, part = read_counters(CAKE | {"tins": tins}).parts
    assert (part["backlog_bytes"], part["sent_bytes"]) == (None, TIN["sent_bytes"])
    assert (slow["peak_delay_us"], slow["mean_delay_us"]) == (an_hour_us, None)


def test_a_name_that_ends_like_that_of_the_list_is_another_one() -> None:
    line = json.dumps({'of "qdiscs': [{"kind": "other"}], "ts_ns": 1, "qdiscs": [CODEL]}).encode() + b"\n"
    events = list(poll_events(io.BytesIO(line)))
    assert [event.values for event in events if isinstance(event, Discipline)] == [CODEL]
    assert isinstance(events[-1], End)


def test_half_a_character_in_a_name_spoils_its_poll_alone(tmp_path: Path) -> None:
    path = tmp_path / "qdisc_stats.jsonl"
    path.write_text(poll(1, CODEL) + poll(2, CODEL | {"kind": "\ud800"}) + poll(3, CODEL))
    rows, reading = read(path)
    assert [row["poll_start_ns"] - START_NS for row in rows] == [1, 3]
    assert reading.refused["malformed_poll"] == 1


def test_brackets_and_quotes_within_names_are_no_structure(tmp_path: Path) -> None:
    named = CODEL | {"dev": 'a"]}[{\\', "options": {"list": [{"x": "\\\\"}], "qdiscs": [{}]}}
    path = tmp_path / "tc.jsonl"
    path.write_text(json.dumps({"ts_ns": START_NS, "host": [{"qdiscs": 1}], "qdiscs": [named, CODEL]}) + "\n")
    rows, reading = read(path)
    assert ([row["device"] for row in rows], reading.refused) == ([named["dev"], "-"], {})


@pytest.mark.parametrize("qdisc", [CAKE, DUALPI2])
def test_cut_and_changed_polls_end_in_an_outcome(qdisc: dict[str, Any], tmp_path: Path) -> None:
    whole = poll(10, CODEL) + poll(20, qdisc)
    first = len(poll(10, CODEL))
    path = tmp_path / "tc.jsonl"
    for end in range(first, len(whole) - 2, 7):
        path.write_text(whole[:end])
        rows, reading = read(path)
        assert len(rows) == 1
        assert (reading.fault is None) == (end == first)
    for changed in ({"tins": 7}, {"tins": [7]}, {"prob": 2.5}, {"prob": "x"}, {"tins": [TIN | {"drops": -1}]}):
        path.write_text(poll(10, CODEL) + poll(20, CAKE | changed))
        assert read(path)[1].refused["malformed_poll"] == 1
