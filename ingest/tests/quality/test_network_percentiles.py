"""Percentiles of tests become rows by quantity; what lies off its scale is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from decoded_inputs import NETWORK_PERCENTILES

from sojourn_ingest.formats.interface import InputError, Reading, Source
from sojourn_ingest.formats.quality.network_percentiles import NetworkPercentiles


def read(folder: Path, content: bytes) -> tuple[list[dict[str, object]], Reading]:
    path = folder / "xx_2024_10.json"
    path.write_bytes(content)
    source = Source(path, "none", content[:65_536], len(content))
    assert NetworkPercentiles().recognises(source)
    reading = Reading()
    rows = []
    for _, batch in NetworkPercentiles().facts(source, None, reading):  # type: ignore[arg-type]
        rows += batch.to_pylist()
    return rows, reading


def test_each_quantity_has_its_percentiles_and_tests(tmp_path: Path) -> None:
    rows, reading = read(tmp_path, json.dumps(NETWORK_PERCENTILES).encode())
    assert reading.records_read == len(rows) == 8
    assert rows[1] == {
        "network_metric": "download_throughput_mbps", "percentile": 95.0, "metric_value": 77.9, "tests": 482
    }  # fmt: skip
    assert {row["tests"] for row in rows if row["network_metric"] == "upload_throughput_mbps"} == {359}


def test_values_off_their_scale_are_refused_and_counted(tmp_path: Path) -> None:
    metrics = {
        "latency_ms": {"p50": -1, "p95": 20.0, "mean": 3, "p99": True, "p5": 10**400},
        "packet_loss": {"p50": 1.5, "p95": None},
        "jitter_ms": {"p50": 1},
    }
    rows, reading = read(tmp_path, json.dumps({"sample_counts": {}, "metrics": metrics}).encode())
    assert [(row["network_metric"], row["percentile"], row["tests"]) for row in rows] == [("latency_ms", 95.0, None)]
    assert reading.refused == {
        "percentile: not a number on the quantity's scale": 6,
        "metric: not one that is known": 1,
    }


def test_a_document_has_so_many_percentiles(tmp_path: Path) -> None:
    values = {f"p{number / 100:g}": 1 for number in range(9_999)}
    content = {"sample_counts": {}, "metrics": {"latency_ms": values, "download_throughput_mbps": values}}
    rows, reading = read(tmp_path, json.dumps(content).encode())
    assert len(rows) == reading.records_read == 10_000
    assert reading.refused == {"percentile: more than 10,000 of a document": 2 * 9_999 - 10_000}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (json.dumps(NETWORK_PERCENTILES).encode()[:-30], "corrupt_record"),
        (b'{"sample_counts": {}, "metrics": {"latency_ms": {}}}', "no_measurement"),
    ],
)
def test_a_document_without_percentiles_is_rejected(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, content)
    assert error.value.reason == reason
