"""Forms of queue logs beside the binary one: declared tables, perf text, and how each is found out."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from decoded_inputs import QUEUE_LOG

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, InputError, Reading, Source
from sojourn_ingest.formats.queue.queue_log import QueueLog
from sojourn_ingest.formats.queue.queue_log_table import QueueLogTable, parse_queue_log_description
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession

CSV = """t;what;flow;seq;size;queue
1700000000.000000001;in;video;1;1000;1
1700000000.100000001;in;web;1;500;1.5
1700000000.200000001;lost;;;3;
1700000000.250000001;drop;web;1;500;1
1700000000.350000001;out;video;1;1000;0
"""
PERF = Path(__file__).parents[1] / "golden" / "queue_perf.txt"


def source_of(path: Path) -> Source:
    content = path.read_bytes()
    return Source(path, "none", content[:65536], len(content))


def read(reader: Any, path: Path) -> tuple[dict[str, list[dict[str, Any]]], Reading]:
    reading = Reading()
    tables: dict[str, list[dict[str, Any]]] = {}
    for table, batch in reader.read(source_of(path), Context(Pseudonymiser(b"key"), lambda _: ""), reading):
        tables.setdefault(table, []).extend(batch.to_pylist())
    return tables, reading


def table_reader(text: str = QUEUE_LOG) -> QueueLogTable:
    return QueueLogTable(parse_queue_log_description(text.encode()))


def test_a_declared_csv_is_read_in_its_units(tmp_path: Path) -> None:
    path = tmp_path / "router.csv"
    path.write_text(CSV)
    assert table_reader().recognises(source_of(path))
    tables, reading = read(table_reader(), path)
    video, web = tables["queue_packet"]
    assert (video["flow_label"], video["sojourn_ns"], video["clock"]) == ("video", 350_000_000, "utc")
    assert (video["enqueue_ns"], video["enqueue_queue_bytes"]) == (1_700_000_000_000_000_001, 1000)
    assert (web["fate"], web["drop_queue_bytes"]) == ("dropped_in_queue", 1000)
    assert tables["queue_log"][0]["lost_events"] == 3
    assert (reading.records_read, reading.fault) == (4, None)


def test_of_descriptions_that_recognise_a_log_the_nearest_counts_and_then_the_one_with_more_columns(
    tmp_path: Path,
) -> None:
    fewer = QUEUE_LOG.replace("router", "fewer").replace("  queue_bytes: {from: queue, unit: kB}\n", "")
    assert fewer.count("\n") == QUEUE_LOG.count("\n") - 1
    (tmp_path / "near").mkdir()
    descriptions = {tmp_path / "a.yaml": fewer, tmp_path / "b.yaml": QUEUE_LOG}
    for path, text in descriptions.items():
        path.write_text(text)
    log = tmp_path / "near" / "router.csv"
    log.write_text(CSV)
    assert Registry(descriptions).recognise(source_of(log)).name == "queue_log_table:router"
    nearer = (tmp_path / "a.yaml").rename(tmp_path / "near" / "a.yaml")
    assert Registry([nearer, tmp_path / "b.yaml"]).recognise(source_of(log)).name == "queue_log_table:fewer"
    (tmp_path / "b.yaml").write_text(fewer.replace("fewer", "other"))
    other = (tmp_path / "b.yaml").rename(tmp_path / "near" / "b.yaml")
    with pytest.raises(InputError, match="recognised as queue_log_table:fewer and queue_log_table:other"):
        Registry([nearer, other]).recognise(source_of(log))


def test_a_malformed_row_is_left_out_with_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "router.csv"
    lines = CSV.splitlines(keepends=True)
    path.write_text("".join([*lines[:2], "noise;noise\n", *lines[2:]]))
    tables, reading = read(table_reader(), path)
    assert reading.refused == {"malformed_line": 1}
    assert reading.fault is not None
    assert reading.fault.offset == len("".join(lines[:2]))
    assert len(tables["queue_packet"]) == 2


WRONG = {
    "an unknown field": ("flow_label:", "flow_colour:", "no field flow_colour"),
    "no unit of time": ("unit: s", "unit: minutes", "is not one of s, ms, us, ns"),
    "a unit of a name": ("flow_label: {from: flow}", "flow_label: {from: flow, unit: ms}", "has no unit"),
    "no time": ("time: {from: t, unit: s}", "", "time needs a mapping"),
    "an unknown form": ("form: csv", "form: xml", "json_lines"),
}


@pytest.mark.parametrize(("old", "new", "message"), WRONG.values(), ids=WRONG)
def test_a_description_says_what_is_wrong_with_it(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_queue_log_description(QUEUE_LOG.replace(old, new).encode())


def test_perf_text_with_its_own_clock_is_utc() -> None:
    assert QueueLog("perf").recognises(source_of(PERF))
    tables, reading = read(QueueLog("perf"), PERF)
    packets = [
        (row["fate"], row["sojourn_ns"], row["drop_kind"], row["packet_bytes"]) for row in tables["queue_packet"]
    ]
    assert packets == [
        ("dequeued", 500_000, None, 1514),
        ("dropped_in_queue", None, "aqm", None),
        ("dropped_at_enqueue", None, "overlimit", None),
    ]
    assert tables["queue_packet"][0]["enqueue_ns"] == 1_700_000_000_000_002_000
    (log,) = tables["queue_log"]
    # The free of a packet that had left the queue is not of the queue.
    assert (log["drop_events"], log["lost_events"], log["clock"]) == (2, 4, "utc")
    (queue,) = tables["queue"]
    assert (queue["interface_index"], queue["handle"]) == (3, "8001:")
    (interval,) = tables["queue_interval"]
    assert (interval["occupancy_max_packets"], interval["occupancy_mean_bytes"]) == (2, None)
    assert reading.fault is None


@pytest.mark.parametrize("names_devices", [True, False])
def test_refused_packets_are_of_the_queue_of_their_device(tmp_path: Path, names_devices: bool) -> None:
    lines: list[str] = []

    def event(name: str, fields: str) -> None:
        lines.append(f" ping 12 [001] {10 + len(lines) / 1000:.9f}: {name}: {fields}\n")

    for number in range(30):
        for interface, device in ((3, "eth0"), (4, "eth1")):
            skb = f"0x{0x1000 + 2 * number + interface % 2:x}"
            if names_devices:
                event("net:net_dev_queue", f"dev={device} skbaddr={skb} len=98")
            queue = f"ifindex={interface} qdisc handle=0x10000 parent=0xFFFFFFFF"
            if interface == 3 and number % 3 == 2:
                place = "protocol=2048 location=__dev_queue_xmit+0x1 reason: QDISC_DROP"
                event("skb:kfree_skb", f"skbaddr={skb} rx_sk=(nil) {place}")
                continue
            event("qdisc:qdisc_enqueue", f"enqueue {queue} skbaddr={skb}")
            event("qdisc:qdisc_dequeue", f"dequeue {queue} txq_state=0x0 packets=1 skbaddr={skb}")
    path = tmp_path / "queue_perf.txt"
    path.write_text("".join(lines))
    tables, reading = read(QueueLog("perf"), path)
    dropped = [row["queue_number"] for row in tables["queue_packet"] if row["fate"] == "dropped_at_enqueue"]
    if names_devices:
        (of_eth0,) = (row["queue_number"] for row in tables["queue"] if row["interface_index"] == 3)
        assert (dropped, reading.refused, reading.fault) == ([of_eth0] * 10, {}, None)
    else:
        assert (dropped, reading.refused) == ([], {"drop_of_unknown_queue": 10})
        assert reading.fault is not None
        assert reading.fault.reason == "drop_of_unknown_queue"


def test_each_form_is_found_by_its_content(tmp_path: Path, testbed: Path) -> None:
    run = testbed / "cbr_dn_bw1000_rtt50_fq_codel-2bdp_cubic_rtp-cbr_appfirst_rep1"
    files = {
        "a": (run / "queue_bpftrace.txt", "bpftrace_queue_log"),
        "b": (run / "queue.jsonl", "queue_log_table:testbed"),
        "c": (run / "qdisc_stats.jsonl", "tc_polls"),
    }
    registry = Registry()
    for path, name in files.values():
        assert registry.recognise(source_of(path)).name == name


def test_a_log_with_its_description_beside_it_is_ingested(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "description.yaml").write_text(QUEUE_LOG)
    (folder / "log.gz").write_bytes(gzip.compress(CSV.encode()))
    lake = Lake(tmp_path / "lake")
    session = IngestSession(lake, Pseudonymiser(b"key"))
    with lake.writing():
        attempts = session.run(sorted(folder.iterdir()), lambda _: None)
    outcomes = {attempt.path.name: (attempt.commit.format, attempt.commit.status) for attempt in attempts}
    assert outcomes == {
        "description.yaml": ("queue_log_description", "ok"),
        "log.gz": ("queue_log_table:router", "ok"),
    }
