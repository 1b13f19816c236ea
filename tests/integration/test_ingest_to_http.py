"""Bad inputs, repeated inputs and new builds, seen from the API as a user sees them."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from .conftest import Service

pytestmark = pytest.mark.integration


def outcomes(service: Service, folder: Path) -> dict[str, dict[str, object]]:
    rows = service.rows("ingest_outcome")
    return {Path(str(r["source_path"])).name: r for r in rows if Path(str(r["source_path"])).parent == folder}


def test_bad_inputs_end_in_outcomes_that_the_api_serves_without_a_restart(
    service: Service, sample: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    run = sample / "cbr_dn_bw1000_rtt50_codel-2bdp_bbr_rtp-cbr_appfirst_rep1"
    whole = gzip.decompress((run / "after.pcap.gz").read_bytes())
    (folder / "cut.pcap").write_bytes(whole[: len(whole) // 2])
    (folder / "text.pcap").write_text("not a capture at all\n")
    (folder / "empty.pcap").write_bytes(b"")
    before = service.client.get("/healthz").json()["build_id"]

    printed = service.sojourn("ingest", folder)
    assert "cut.pcap" in printed
    assert "text.pcap" in printed
    assert "empty.pcap" in printed
    service.sojourn("build")

    assert service.client.get("/healthz").json()["build_id"] != before
    served = outcomes(service, folder)
    assert {name: row["status"] for name, row in served.items()} == {
        "cut.pcap": "partial",
        "text.pcap": "rejected",
        "empty.pcap": "rejected",
    }
    assert int(str(served["cut.pcap"]["records_read"])) > 1000
    assert int(str(served["cut.pcap"]["fault_offset_bytes"])) <= len(whole) // 2
    for row in served.values():
        assert row["message"]
    # Later tests see the warehouse as it was before.
    shutil.rmtree(folder)


def test_the_same_folder_twice_adds_no_row(service: Service, sample: Path, tma23: Path) -> None:
    def row_counts() -> dict[str, int]:
        content = service.client.get("/v1/datasets").json()
        return {entry["name"]: entry["rows"] for entry in content["datasets"]}

    before = row_counts()
    build_id = service.client.get("/healthz").json()["build_id"]
    service.sojourn("ingest", sample, tma23)
    assert "nothing changed" in service.sojourn("build")
    service.sojourn("build", "--force")
    assert row_counts() == before
    # The same input gives the same bytes, and so the same build.
    assert service.client.get("/healthz").json()["build_id"] == build_id


def test_every_format_carries_the_same_rows(service: Service) -> None:
    import io

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    url = "/v1/datasets/run_harm/rows"
    parameters = {"study_id": "vca-fairness-vm-2026", "select": "run_id,role,harm_ratio", "limit": "1000"}

    def body(name: str) -> bytes:
        answer = service.client.get(url, params={**parameters, "format": name})
        assert answer.status_code == 200, answer.text
        return answer.content

    expected = service.client.get(url, params=parameters).json()["rows"]
    assert len(expected) == 16
    assert pa.ipc.open_stream(body("arrow")).read_all().to_pylist() == expected
    assert pq.read_table(io.BytesIO(body("parquet"))).to_pylist() == expected
    assert pyarrow.csv.read_csv(io.BytesIO(body("csv"))).to_pylist() == expected
