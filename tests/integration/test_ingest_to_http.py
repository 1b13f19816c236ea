"""Bad inputs, repeated inputs and new builds, seen from the API as a user sees them."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from .conftest import Service

pytestmark = pytest.mark.integration


def outcomes(service: Service, folder: Path) -> dict[str, dict[str, object]]:
    rows = service.rows("ingest_outcome")
    return {Path(str(r["source_path"])).name: r for r in rows if Path(str(r["source_path"])).parent == folder}


def test_bad_inputs_end_in_outcomes_that_the_api_serves_without_a_restart(
    changing_service: Service, sample: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    run = sample / "1000k_rtt50_codel_bbr_video_appfirst_rep1"
    whole = lzma.decompress((run / "after.pcap.xz").read_bytes())
    (folder / "cut.pcap").write_bytes(whole[: len(whole) // 2])
    (folder / "text.pcap").write_text("not a capture at all\n")
    (folder / "empty.pcap").write_bytes(b"")
    before = changing_service.client.get("/healthz").json()["build_id"]

    printed = changing_service.sojourn("ingest", folder)
    assert "cut.pcap" in printed
    assert "text.pcap" in printed
    assert "empty.pcap" in printed
    changing_service.sojourn("build")

    assert changing_service.client.get("/healthz").json()["build_id"] != before
    served = outcomes(changing_service, folder)
    assert {name: row["status"] for name, row in served.items()} == {
        "cut.pcap": "partial",
        "text.pcap": "rejected",
        "empty.pcap": "rejected",
    }
    assert int(str(served["cut.pcap"]["records_read"])) > 1000
    assert int(str(served["cut.pcap"]["fault_offset_bytes"])) <= len(whole) // 2
    for row in served.values():
        assert row["message"]


def test_the_same_folder_twice_adds_no_row(changing_service: Service, sample: Path, tma23: Path) -> None:
    def row_counts() -> dict[str, int]:
        content = changing_service.client.get("/v1/datasets").json()
        return {entry["name"]: entry["rows"] for entry in content["datasets"]}

    before = row_counts()
    build_id = changing_service.client.get("/healthz").json()["build_id"]
    changing_service.sojourn("ingest", sample, tma23)
    assert "nothing changed" in changing_service.sojourn("build")
    changing_service.sojourn("build", "--force")
    assert row_counts() == before
    # The same input gives the same bytes, and so the same build.
    assert changing_service.client.get("/healthz").json()["build_id"] == build_id


def test_half_a_study_and_the_whole_of_it_count_each_run_once(
    changing_service: Service, tma23: Path, tmp_path: Path
) -> None:
    counted = ("run", "run_rate", "run_harm", "harm_qoe", "rate_profile")

    def row_counts() -> dict[str, int]:
        content = changing_service.client.get("/v1/datasets").json()
        return {entry["name"]: entry["rows"] for entry in content["datasets"] if entry["name"] in counted}

    def runs_in_profiles() -> int:
        profiles = changing_service.rows("rate_profile", second=0, rate_basis="study_table")
        return sum(int(str(row["runs"])) for row in profiles)

    before, profiles = row_counts(), runs_in_profiles()
    half = tmp_path / "half"
    half.mkdir()
    for name in ("index.csv", "index_avgbwdist.csv", "index_qoe.csv"):
        lines = (tma23 / name).read_text().splitlines(keepends=True)
        (half / name).write_text("".join(lines[: len(lines) // 2]))
    lines = gzip.decompress((tma23 / "bwprofiles.csv.gz").read_bytes()).decode().splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.startswith("0 days 00:00:00")]
    (half / "bwprofiles.csv").write_text("".join(lines[: starts[len(starts) // 2]]))
    changing_service.sojourn("ingest", half)
    changing_service.sojourn("build")
    assert row_counts() == before
    assert runs_in_profiles() == profiles == len(starts)


def test_a_study_without_description_is_served_and_stops_nothing(changing_service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "manifest.yaml").write_text(
        "schema: testbed-manifest/1\nrun_id: r1\nstudy: brand-new\nbandwidth_bps: 1000000\nrtt_ms: 20\n"
        "queue: {discipline: cake}\norder: app_first\n"
    )
    changing_service.sojourn("ingest", folder)
    printed = changing_service.sojourn("build")
    assert "warning: studies with shared runs and without a description: 1; nothing selects" in printed
    (study,) = changing_service.rows("study", study_id="brand-new")
    assert study["runs"] == 1
    assert "No description" in str(study["description"])
    (run,) = changing_service.rows("run", study_id="brand-new")
    assert run["queue_label"] == "CAKE"


def test_every_format_carries_the_same_rows(service: Service) -> None:
    import io

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    url = "/v1/datasets/run_harm/rows"
    parameters = {"study_id": "sojourn-sample", "select": "run_id,role,harm_ratio", "limit": "1000"}

    def body(name: str) -> bytes:
        answer = service.client.get(url, params={**parameters, "format": name})
        assert answer.status_code == 200, answer.text
        return answer.content

    expected = service.client.get(url, params=parameters).json()["rows"]
    assert len(expected) == 112
    assert pa.ipc.open_stream(body("arrow")).read_all().to_pylist() == expected
    assert pq.read_table(io.BytesIO(body("parquet"))).to_pylist() == expected
    assert pyarrow.csv.read_csv(io.BytesIO(body("csv"))).to_pylist() == expected
