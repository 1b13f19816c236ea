"""Polled counters of queue disciplines: tc's JSON in two forms, and what flent kept of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, InputError, Reading, Source
from sojourn_ingest.formats.queue.tc_polls import TcPolls, counter_row, queue_counter_batch
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.formats.series.flent.document import FlentDocument
from sojourn_ingest.formats.series.flent.queue_counters import counter_rows

CODEL: dict[str, Any] = {
    "kind": "codel", "handle": "b1:", "parent": "b0:1", "options": {"limit": 8, "target": 4999}, "bytes": 476,
    "packets": 6, "drops": 2, "overlimits": 1, "requeues": 0, "backlog": 98, "qlen": 1, "count": 3, "lastcount": 2,
    "ldelay": 38445, "dropping": True, "drop_next": -120, "maxpacket": 98, "ecn_mark": 4, "drop_overlimit": 5,
}  # fmt: skip
CAKE: dict[str, Any] = {
    "kind": "cake", "handle": "b0:", "root": True, "refcnt": 2,
    "options": {"bandwidth": 250000, "diffserv": "besteffort", "rtt": 50000, "raw": True, "overhead": 0}, "bytes": 672,
    "packets": 732, "drops": 5, "overlimits": 0, "requeues": 0, "backlog": 0, "qlen": 0, "memory_used": 768,
    "tins": [{"threshold_rate": 250000, "sent_bytes": 672, "sent_packets": 732, "drops": 5, "ecn_mark": 0}],
}  # fmt: skip
MQ = [{"kind": "fq_codel", "handle": "0:", "dev": "eth0", "parent": f":{queue}", "bytes": queue} for queue in (1, 2)]


def read(path: Path) -> tuple[list[dict[str, Any]], Reading]:
    content = path.read_bytes()
    source = Source(path, "none", content[:65536], len(content))
    assert TcPolls().recognises(source)
    reading = Reading()
    facts = TcPolls().read(source, Context(Pseudonymiser(b"key"), lambda _: ""), reading)
    return [row for table, batch in facts for row in batch.to_pylist() if table == "queue_counter"], reading


def poll(time_ns: int, *qdiscs: dict[str, Any]) -> str:
    return json.dumps({"ts_ns": time_ns, "ts_end_ns": time_ns + 5, "qdiscs": qdiscs}, separators=(",", ":")) + "\n"


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
    path.write_text(poll(10, CAKE) + poll(20, CAKE))
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


def test_damaged_polls_are_left_out_and_told_of(tmp_path: Path) -> None:
    path = tmp_path / "tc.jsonl"
    good = poll(10, CODEL)
    bad = [poll(20, CODEL | {"packets": "six"}), '{"ts_ns": 1, "qdiscs": [7]}\n', '{"ts_ns":1,\n', poll(-1, CODEL)]
    path.write_text(good + "".join(bad) + poll(30, CODEL))
    rows, reading = read(path)
    assert [row["poll_start_ns"] for row in rows] == [10, 30]
    assert reading.refused == {"malformed_poll": 4}
    assert reading.fault is not None
    assert reading.fault.offset == len(good)
    path.write_text("1700000000.5\n[\n")
    with pytest.raises(InputError, match="no poll of tc at byte 0"):
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
