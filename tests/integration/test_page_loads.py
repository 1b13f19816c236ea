"""Page loads that curl and wget made, from the flows of their capture, against the tools' own times."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from sojourn_statistics.quality.web import mos_of_page_load_time
from sojourn_transforms.validation_report import Snapshot

from .test_queue_marts import built

pytestmark = pytest.mark.integration

RECORDED = Path(__file__).parents[2] / "ingest/tests/golden/page_loads"
#: Of the decoder's intervals: the last data of a load are in one.
INTERVAL_MS = 100
#: From the capture's first SYN to curl's own beginning, and from the last answer to its end.
AROUND_MS = 15
MANIFEST = {
    "schema": "testbed-manifest/1",
    "study": "recorded",
    "direction": "downlink",
    "bandwidth_bps": 1_000_000_000,
    "rtt_ms": 0.05,
    "queue": {"discipline": "noqueue"},
    "app": "page",
    "order": "solo",
    "workload": "page",
    "flows": [],
}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The capture on its own, and as the capture of a run whose tool's times are beside it."""
    folder = tmp_path_factory.mktemp("loads")
    (folder / "web").mkdir()
    # The same content is one recording: a packet of another time tells the two apart.
    capture = (RECORDED / "page_loads.pcap").read_bytes()
    (folder / "web" / "page_loads.pcap").write_bytes(capture[:-1] + bytes([capture[-1] ^ 1]))
    for run in ("measured", "flows_alone"):
        (folder / run).mkdir()
        (folder / run / "manifest.json").write_text(json.dumps({**MANIFEST, "run_id": run}))
    shutil.copy(RECORDED / "page_loads.pcap", folder / "measured" / "after.pcap")
    shutil.copy(RECORDED / "curl.jsonl", folder / "measured" / "page_loads.jsonl")
    (folder / "flows_alone" / "after.pcap").write_bytes(capture[:-1] + bytes([capture[-1] ^ 2]))
    return Snapshot(built(folder / "var", folder))


@pytest.fixture(scope="module")
def loads() -> list[dict[str, Any]]:
    """Return what was loaded, in order, with the tool's own time in ms; wget's is rounded to 100 ms."""
    curl = [json.loads(line)["time_total"] * 1000 for line in (RECORDED / "curl.jsonl").read_text().splitlines()]
    log = (RECORDED / "wget.log").read_text()
    wget = [float(time) * 1000 for time in re.findall(r"Total wall clock time: ([0-9.]+)s", log)]
    result = json.loads((RECORDED / "loads.json").read_text())
    for load in result:
        if "not there" in load["what"]:
            load["time_ms"] = None
        else:
            load["time_ms"] = (curl if load["tool"] == "curl" else wget).pop(0)
    return result


def test_each_load_of_the_tools_is_one_load_of_the_flows(snapshot: Snapshot, loads: list[dict[str, Any]]) -> None:
    rows = snapshot.rows("select * from capture_page_load where dataset = 'captures:web' order by load_number")
    assert [row["connections"] for row in rows] == [load["connections"] + _of_robots(load) for load in loads]
    assert {(row["load_basis"], row["load_null_reason"]) for row in rows} == {("estimated_from_flows", None)}


def _of_robots(load: dict[str, Any]) -> int:
    """Wget also asks for robots.txt; where it keeps connections, the 404 closes the first one."""
    return 1 if load["tool"] == "wget" and "not there" not in load["what"] else 0


def test_times_of_flows_are_those_of_the_tools(snapshot: Snapshot, loads: list[dict[str, Any]]) -> None:
    rows = snapshot.rows("select * from capture_page_load where dataset = 'captures:web' order by load_number")
    for row, load in zip(rows, loads, strict=True):
        if load["time_ms"] is None:
            # Packets do not show that the answer is an error: the flows have a load that the tool does not.
            assert row["page_load_time_ms"] - row["resolution_ms"] < load["process_ms"]
            continue
        rounding = 50 if load["tool"] == "wget" else 0
        measured, estimated = load["time_ms"], row["page_load_time_ms"]
        assert estimated >= measured - rounding - AROUND_MS, load["what"]
        assert estimated - row["resolution_ms"] <= measured + rounding, load["what"]
        assert estimated <= load["process_ms"] + row["resolution_ms"]
        assert 0 < row["resolution_ms"] <= INTERVAL_MS


def test_waiting_longer_than_the_quiet_does_not_split_a_load(snapshot: Snapshot, loads: list[dict[str, Any]]) -> None:
    (number,) = [number for number, load in enumerate(loads) if "longer than the quiet" in load["what"]]
    (row,) = snapshot.rows(f"select * from capture_page_load where dataset = 'captures:web' and load_number = {number}")
    assert row["page_load_time_ms"] == pytest.approx(loads[number]["time_ms"], abs=AROUND_MS + row["resolution_ms"])


def test_bytes_and_handshakes_of_a_load(snapshot: Snapshot) -> None:
    rows = snapshot.rows("select * from capture_page_load where dataset = 'captures:web' order by load_number")
    # 15 kB of text with its header; with the objects of the page, 80.8 kB.
    assert rows[0]["answer_bytes"] == pytest.approx(15_000 + 150, abs=150)
    assert rows[5]["answer_bytes"] == pytest.approx(80_800 + 600, abs=600)
    for row in rows:
        assert 0 < row["loaded_rtt_ms"] < 1


def test_measured_and_estimated_loads_of_a_run_are_never_pooled(
    snapshot: Snapshot, loads: list[dict[str, Any]]
) -> None:
    rows = snapshot.rows("select run_id, load_basis, count(*) as loads from run_page_load group by 1, 2 order by 1, 2")
    assert [(row["run_id"], row["load_basis"], row["loads"]) for row in rows] == [
        ("flows_alone", "estimated_from_flows", len(loads)),
        ("measured", "estimated_from_flows", len(loads)),
        ("measured", "measured", 4),
    ]
    scored = snapshot.rows("select * from run_quality where qoe_model_id like 'g1030%'")
    bases = {(row["qoe_model_id"] == "g1030-one-page-flows", row["score_basis"]) for row in scored}
    assert bases == {(True, "estimated_from_flows"), (False, "scores")}
    (pooled,) = snapshot.rows("select * from configuration_quality where qoe_model_id = 'g1030-one-page-flows'")
    assert (pooled["runs"], pooled["items"]) == (2, 2 * len(loads))
    (alone,) = snapshot.rows("select * from configuration_quality where qoe_model_id = 'g1030-one-page-own'")
    assert (alone["runs"], alone["items"]) == (1, 4)


def test_mos_of_flows_is_relative_to_the_least_load_of_flows(snapshot: Snapshot) -> None:
    rows = snapshot.rows("select score, mos from run_quality where qoe_model_id = 'g1030-one-page-flows'")
    least = min(row["score"] for row in rows)
    expected = mos_of_page_load_time([row["score"] for row in rows], least)
    assert [row["mos"] for row in rows] == pytest.approx(expected.tolist())
