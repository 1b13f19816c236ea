"""Each document is checked by the validator of its own format, and DuckDB alone reads the folder over HTTP."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from api.tests.publication.range_server import serving

CONTEXT = """
import io, sys
from importlib.resources import files
import requests, requests_cache
from urllib3 import HTTPResponse
class Bundled(requests.adapters.HTTPAdapter):
    def send(self, request, **_):
        body = files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
        kind = {"Content-Type": "application/ld+json"}
        raw = HTTPResponse(io.BytesIO(body), kind, 200, preload_content=False, request_method="GET")
        return self.build_response(request, raw)
session = requests_cache.CachedSession(sys.argv[1], expire_after=-1)
session.mount("https://", Bundled())
for headers in ({}, {"Accept": "application/ld+json"}):
    assert session.get("https://w3id.org/ro/crate/1.1/context", headers=headers).status_code == 200
"""


def run(*command: object, status: int = 0) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_crate_is_valid_and_a_missing_file_is_not(site: Path, publication_tools: Path, tmp_path: Path) -> None:
    # The validator asks for the context of RO-Crate, which ro-crate-py ships: no test needs a network.
    run(publication_tools / "python", "-c", CONTEXT, tmp_path / "cache")
    report = tmp_path / "report.json"
    command = (
        publication_tools / "rocrate-validator", "--no-interactive", "validate", "--cache-path", tmp_path / "cache",
        "--offline", "-p", "ro-crate-1.1", "-l", "required", "-f", "json", "-o", report, "--no-paging", site,
    )  # fmt: skip
    run(*command)
    document = json.loads(report.read_bytes())
    assert document["passed"]
    assert document["issues"] == []
    (site / "data" / "run.parquet").unlink()
    run(*command, status=1)


def test_the_citation_is_valid(site: Path, cffconvert: Path) -> None:
    assert "valid" in run(cffconvert, "--validate", "-i", site / "CITATION.cff")
    assert "title" in run(cffconvert, "-f", "bibtex", "-i", site / "CITATION.cff")


def test_the_citation_of_sojourn_itself_is_valid(repository: Path, cffconvert: Path) -> None:
    assert "valid" in run(cffconvert, "--validate", "-i", repository / "CITATION.cff")


def test_checksums_are_those_of_sha256sum(site: Path) -> None:
    done = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=site, check=False)
    assert done.returncode == 0


QUERIES = [
    "select count(*) from s.run",
    "select count(distinct study_id) from s.study",
    "select median(harm_ratio) from s.run_harm where role = 'app'",
    "select aqm, count(*) from s.run group by all order by all",
    "select max(packets) from s.queuing_delay_histogram",
    "select sum(packets) from s.queuing_delay_histogram where run_id = 'codel-bbr-0' and role = 'app'",
    "select r.aqm, avg(h.harm_ratio) from s.run r join s.run_harm h using (study_id, run_id) group by all order by all",
    "select unit from s.catalogue_column where dataset = 'run_harm' and column_name = 'harm_ratio'",
    "select grain, rows from s.catalogue_dataset where dataset = 'run_harm'",
    "select run_id from s.run_harm where harm_ratio is not null order by harm_ratio desc, run_id limit 3",
]
CLIENT = """
import json, sys, duckdb, importlib.metadata as m
extension = next(f for f in m.files("duckdb-extension-httpfs") if f.name == "httpfs.duckdb_extension")
c = duckdb.connect()
# Its bar, of queries that take over two seconds, would stand among the answers.
c.execute("set enable_progress_bar = false")
c.execute("load '" + str(extension.locate()) + "'")
c.execute("attach '" + sys.argv[1] + "/sojourn.duckdb' as s (read_only)")
c.execute("set variable sojourn_url = '" + sys.argv[1] + "'")
print(json.dumps([c.execute(q).fetchall() for q in json.load(sys.stdin)], default=str))
"""


def test_duckdb_alone_answers_ten_queries_over_http_with_range_requests(
    site: Path, publication_tools: Path, build: object
) -> None:
    import duckdb

    with serving(site) as host:
        done = subprocess.run(
            [publication_tools / "python", "-c", CLIENT, host.url],
            input=json.dumps(QUERIES), capture_output=True, text=True, timeout=1800, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) == 10
    with duckdb.connect() as connection:
        # The same from the files, without the views.
        connection.execute("create schema s")
        for path in (site / "data").iterdir():
            connection.execute(f"create view s.{path.stem} as select * from read_parquet('{path}')")
        expected = [connection.execute(q).fetchall() for q in QUERIES if "catalogue_" not in q]
    of_data = [answer for query, answer in zip(QUERIES, answers, strict=True) if "catalogue_" not in query]
    for mine, theirs in zip(of_data, expected, strict=True):
        assert [list(map(_comparable, row)) for row in mine] == [list(map(_comparable, row)) for row in theirs]
    assert answers[QUERIES.index(next(q for q in QUERIES if "unit" in q))] == [["ratio"]]
    assert host.ranges > 10
    assert "data/types.parquet" not in host.sent


def _comparable(value: object) -> object:
    return pytest.approx(float(value), rel=1e-12) if isinstance(value, int | float) else str(value)
