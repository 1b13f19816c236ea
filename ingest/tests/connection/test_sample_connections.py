"""The measured connections of the sample: what the reader of NDT7 says of the files that they were made from."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from sojourn_ingest.formats.connection.connection_mapping import KnownConnections

from .test_connection_formats import Row, read

ARCHIVE = "m-lab__etl/20200318T003853.425987Z-ndt7-mlab3-syd03-ndt"
FIGURES = ("start_ns", "rtt_basis", "sample_basis", "rtt_samples", "rtt_min_us", "rtt_max_us", "sent_bytes")


@pytest.fixture(scope="module")
def folder(repository: Path) -> Path:
    return repository / "ingest" / "sample" / "connections"


@pytest.fixture(scope="module")
def bundled(folder: Path) -> list[Row]:
    rows, reading, name = read(folder / "m-lab-ndt7.csv", folder / "m-lab-ndt7.yaml")
    assert name == "connection_table:m-lab-ndt7-syd03/tests"
    assert not reading.refused
    return rows


def test_the_sample_has_what_the_reader_of_ndt7_finds_in_the_results(bundled: list[Row], shared: Path) -> None:
    results = shared / "data" / "public" / ARCHIVE
    connections = [row for path in sorted(results.glob("*.json.gz")) for row in read(path)[0]]
    assert len(connections) == len(bundled) > 0
    theirs = {row["start_ns"]: row for row in connections}
    hosts: dict[str, set[str]] = defaultdict(set)
    for row in bundled:
        other = theirs[row["start_ns"]]
        assert [row[name] for name in FIGURES] == [other[name] for name in FIGURES]
        assert row["rtt_avg_us"] == pytest.approx(other["rtt_avg_us"], abs=0.001)
        hosts[row["client_host_key"]].add(other["client_host_key"])
    # Two hosts are one in neither, and no host is two.
    assert all(len(keys) == 1 for keys in hosts.values())
    assert len(hosts) == len({row["client_host_key"] for row in connections})


def test_the_script_makes_the_bundled_table_again(folder: Path, shared: Path, tmp_path: Path) -> None:
    script, again = folder.parent / "extract_ndt7.py", tmp_path / "again.csv"
    subprocess.run([sys.executable, script, shared / "data" / "public" / ARCHIVE, again], check=True)
    assert again.read_bytes() == (folder / "m-lab-ndt7.csv").read_bytes()


def test_the_sample_is_measured_and_holds_no_address(bundled: list[Row], folder: Path) -> None:
    assert not KnownConnections.load(folder / "m-lab-ndt7.yaml").description.synthetic
    assert {row["synthetic"] for row in bundled} == {False}
    assert {row["country"] for row in bundled} == {row["client_prefix_key"] for row in bundled} == {None}
    assert "client-1," in (folder / "m-lab-ndt7.csv").read_text(encoding="utf-8")
