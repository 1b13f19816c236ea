"""Every discipline that marks, as real kernels and two versions of iproute2 print it: tc's JSON against tc's own text.

recordings/record.sh makes the files; recordings/README.md says on what.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, Reading, Source
from sojourn_ingest.formats.queue.tc_polls import TcPolls
from sojourn_ingest.formats.registry import Registry

RECORDINGS = Path(__file__).parent / "recordings"
OLD, NEW = "iproute2-6.1.0", "iproute2-7.3.0"
FILES = sorted(path.relative_to(RECORDINGS).as_posix() for path in RECORDINGS.glob("*/*.txt"))
#: Columns by the words before their numbers in tc's text, beside those that all disciplines have.
IN_TEXT = {
    "ecn_mark": "ecn_marked_packets",
    "marked": "ecn_marked_packets",
    "ce_mark": "ecn_marked_packets",
    "step_mark": "step_marked_packets",
    "early": "dropped_aqm_packets",
    "pkts_in": "enqueued_packets",
    "maxq": "backlog_max_packets",
    "new_flow_count": "new_flow_count",
    "credit": "credit_bytes",
    "memory_used": "memory_used_bytes",
    "lended:": "lent_packets",
    "borrowed:": "borrowed_packets",
}
#: Lines of CAKE's table of tins that are whole numbers in text too.
OF_TINS = {
    "pkts": "sent_packets",
    "bytes": "sent_bytes",
    "drops": "dropped_packets",
    "marks": "ecn_marked_packets",
    "ack_drop": "dropped_acknowledgements",
    "way_inds": "way_indirect_hits",
    "way_miss": "way_misses",
    "way_cols": "way_collisions",
    "sp_flows": "sparse_flows",
    "bk_flows": "bulk_flows",
    "un_flows": "unresponsive_flows",
    "max_len": "max_packet_bytes",
    "quantum": "flow_quantum_bytes",
}
BLOCK = re.compile(r"^(qdisc|class) (\w+) ([0-9a-f]+:[0-9a-f]*)", re.MULTILINE)
SENT = re.compile(
    r"Sent (\d+) bytes (\d+) pkt \(dropped (\d+), overlimits (\d+) requeues (\d+)\)\s*\n backlog (\d+)b (\d+)p"
)
SENT_COLUMNS = (
    "sent_bytes",
    "sent_packets",
    "dropped_packets",
    "overlimits",
    "requeues",
    "backlog_bytes",
    "backlog_packets",
)


def read(path: Path) -> tuple[dict[str, list[dict[str, Any]]], Reading]:
    content = path.read_bytes()
    source = Source(path, "none", content[:65536], len(content))
    assert Registry().recognise(source).name == "tc_polls"
    reading = Reading()
    rows: dict[str, list[dict[str, Any]]] = {"queue_counter": [], "queue_counter_part": []}
    for table, batch in TcPolls().read(source, Context(Pseudonymiser(b"key"), lambda _: ""), reading):
        rows[table] += batch.to_pylist()
    return rows, reading


def blocks(path: Path) -> dict[tuple[bool, str], str]:
    """Return tc's text of each discipline and class by whether it is a class, and its handle."""
    text = path.with_suffix(".tc").read_text()
    starts = [*BLOCK.finditer(text)]
    ends = [*(match.start() for match in starts[1:]), len(text)]
    return {(m[1] == "class", m[3]): text[m.start() : end] for m, end in zip(starts, ends, strict=True)}


def test_every_discipline_was_recorded_with_both_versions() -> None:
    names = {"pie", "fq_pie", "red", "fq", "codel", "fq_codel"}
    names |= {f"cake-{mode}" for mode in ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence")}
    assert {path.split("/")[1].removesuffix(".txt") for path in FILES if path.startswith(OLD)} == names
    # No kernel of Debian's has DualPI2; the newer one had a module made for it.
    assert {path.split("/")[1].removesuffix(".txt") for path in FILES if path.startswith(NEW)} == names | {"dualpi2"}


@pytest.mark.parametrize("name", FILES)
def test_the_last_poll_is_what_tc_says_in_text(name: str) -> None:
    path = RECORDINGS / name
    rows, _ = read(path)
    last = {(row["is_class"], row["handle"]): row for row in rows["queue_counter"]}
    compared = 0
    for key, text in blocks(path).items():
        sent = SENT.search(text)
        row = last.get(key)
        if row is None:
            # Classes that this version of tc has no JSON for, or no counters.
            assert key[0]
            assert name.startswith(OLD) or sent is None
            continue
        if sent is not None:
            # The memory of a token bucket moves on between two calls; counters do not, since no packets pass any more.
            assert [row[column] for column in SENT_COLUMNS] == [int(number) for number in sent.groups()], key
            compared += 1
        for word, column in IN_TEXT.items():
            if (match := re.search(rf"(?<![\w-]){word} (-?\d+)\b", text)) is not None and row["kind"] != "cake":
                assert row[column] == int(match[1]), (key, column)
                compared += 1
    assert compared >= 1


@pytest.mark.parametrize("name", [name for name in FILES if "/cake" in name])
def test_the_tins_of_cake_are_the_table_that_tc_prints(name: str) -> None:
    path = RECORDINGS / name
    parts = read(path)[0]["queue_counter_part"]
    last = [row for row in parts if row["poll_index"] == max(row["poll_index"] for row in parts)]
    (text,) = [block for (is_class, _), block in blocks(path).items() if not is_class]
    table = {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}
    for label, column in OF_TINS.items():
        assert [str(row[column]) for row in last] == table[label], column
    header = re.search(r"^ +(Tin 0.*|Bulk.*)$", text, re.MULTILINE)
    assert header is not None
    # tc names one tin by its number; it takes the packets of all, which CAKE calls best effort.
    named = [word.replace(" ", "_").lower() for word in re.split(r"\s{2,}", header[1].strip())]
    assert [row["part_name"] for row in last] == (["best_effort"] if named == ["tin_0"] else named)
    marked = next(
        row for row in reversed(read(path)[0]["queue_counter"]) if row["kind"] == "cake" and not row["is_class"]
    )
    assert marked["ecn_marked_packets"] == sum(int(count) for count in table["marks"])
    assert marked["ecn_marked_packets"] > 0


def test_the_parts_of_dualpi2_are_its_two_queues_and_marks_of_the_step_are_among_all_marks() -> None:
    path = RECORDINGS / NEW / "dualpi2.txt"
    rows, reading = read(path)
    assert (reading.refused, reading.fault) == ({}, None)
    first, last = (row for row in rows["queue_counter"] if row["kind"] == "dualpi2" and not row["is_class"])
    entered = {row["part_name"]: row["enqueued_packets"] for row in rows["queue_counter_part"]}
    text = blocks(path)[False, "10:"]
    assert entered == {
        "classic": int(re.search(r"pkts_in_c (\d+)", text)[1]),  # type: ignore[index]
        "l4s": int(re.search(r"pkts_in_l (\d+)", text)[1]),  # type: ignore[index]
    }
    assert 0 < last["step_marked_packets"] < last["ecn_marked_packets"]
    # Were they counted apart, more marks than packets would have left the queue.
    assert last["ecn_marked_packets"] <= last["sent_packets"] < last["ecn_marked_packets"] + last["step_marked_packets"]
    assert 0 < first["marking_probability_ratio"] < 1


def test_text_in_place_of_json_is_one_refusal_for_each_output() -> None:
    """The classes of iproute2 6.1 are text even with -j."""
    for name in (name for name in FILES if name.startswith(OLD)):
        rows, reading = read(RECORDINGS / name)
        assert {row["poll_index"] for row in rows["queue_counter"]} == {0, 1}
        assert reading.refused["text_without_json"] == 2
        assert "malformed_poll" not in reading.refused
        assert reading.fault is not None
        assert "tc printed text here" in str(reading.fault)


@pytest.mark.parametrize("name", ["pie", "fq_pie", "red", "codel", "dualpi2"])
def test_no_key_of_these_disciplines_is_without_a_column(name: str) -> None:
    assert read(RECORDINGS / NEW / f"{name}.txt")[1].refused == {}
