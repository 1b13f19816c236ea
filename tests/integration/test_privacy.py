"""Public addresses and reverse-DNS names reach no byte of what is written from them, and none that is served.

Lake, warehouse, snapshot and log; the page of a look; a publication; every dataset over HTTP; Superset's own files.
"""

from __future__ import annotations

import base64
import gzip
import ipaddress
import json
import os
import sqlite3
import struct
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import httpx
import pyarrow.parquet as pq
import pytest
from dashboards.tests.prepared_database import put_prepared_database

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake

from .small_captures import capture_of
from .sql_lab_statements import STATEMENTS

SOJOURN = Path(sys.executable).parent / "sojourn"
HOSTS = {
    "93.184.215.14": "dns-93-184-215-14.adsl.example.net",
    "185.199.110.153": "c-185-199-110-153.hsd1.ca.comcast.net",
    "2606:2800:21f:cb07:6820:80da:af6b:8b2c": "six.ftth.example.net",
}
V4 = next(iter(HOSTS))


def _forms() -> list[bytes]:
    forms: list[bytes] = []
    for address, name in HOSTS.items():
        parsed = ipaddress.ip_address(address)
        forms += [address.encode(), parsed.exploded.encode(), name.encode()]
        # Four bytes may occur anywhere by chance; sixteen do not.
        forms += [parsed.packed] if parsed.version == 6 else []
    return forms


def _tcp_info(address: str) -> str:
    packed = ipaddress.ip_address(address).packed
    message = struct.pack("<BBBB", 2, 1, 0, 0) + struct.pack("!HH", 443, 4000) + bytes(16) + packed + bytes(12)
    info = bytearray(232)
    struct.pack_into("<I", info, 68, 20_000)
    parts = [None, None, base64.b64encode(info).decode()]
    record = {
        "Timestamp": "2026-01-01T00:00:00Z",
        "RawIDM": base64.b64encode(message + bytes(32)).decode(),
        "Attributes": parts,
    }
    return json.dumps(record, separators=(",", ":")) + "\n"


def _write_inputs(folder: Path) -> None:
    """Write one source of each kind that holds addresses, with good and damaged records."""
    folder.mkdir()
    (folder / "d.yaml").write_text(
        "sojourn_connections: 1\ndataset: made-up\ntitle: t\nlicence: CC0-1.0\nsynthetic: true\ntables:\n"
        "  - name: t\n    rtt_basis: smoothed\n    sample_basis: rtt_samples\n    fields:\n"
        "      start_ns: { from: start, unit: s }\n      client_address: { from: ip }\n"
        "      client_name: { from: name }\n      rtt_max_us: { from: rtt, unit: ms }\n"
    )
    lines = [f"1700000000,{address},{name},20" for address, name in HOSTS.items()]
    # Rows that are refused hold addresses too: too few columns, an address and a number that are none.
    bad = [f"1700000000,{V4}", f"1700000000,{V4}x,{HOSTS[V4]},5", f"1700000000,{V4},{HOSTS[V4]},{V4}"]
    (folder / "t.csv").write_text("\n".join(["start,ip,name,rtt", *lines, *bad]) + "\n")
    (folder / "cut.csv").write_bytes(f"start,ip,name,rtt\n1700000000,{V4},\xff,1\n".encode("latin-1"))
    rows = [{"start": 1_700_000_000, "ip": ip, "name": name, "rtt": 20} for ip, name in HOSTS.items()]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + f'{{"ip": "{V4}", \n')
    (folder / "polls.jsonl").write_text(_tcp_info(V4) + f'{{"Timestamp":"{V4}\n')
    socket = f"ESTAB 0 0 {V4}:443 185.199.110.153:999\n\t cubic rtt:20/1\n"
    (folder / "ss.txt").write_text(f"1700000000.5\n{socket}ESTAB 0 0 {V4}:x y\n1700000001\n{socket}")
    measured = {"ClientIP": V4, "StartTime": "2026-01-01T00:00:00Z", "ServerMeasurements": [{"TCPInfo": {"RTT": 9}}]}
    result = {"GitShortCommit": "x", "ClientIP": V4, "Download": measured}
    (folder / "ndt7.json").write_text(json.dumps(result, separators=(",", ":")))
    (folder / "ndt7-cut.json").write_text(json.dumps(result, separators=(",", ":"))[:-20])
    (folder / "t.web100").write_text(
        "K: RemAddress StartTimeSec StartTimeUsec Duration MinRTT MaxRTT SumRTT CountRTT ThruBytesAcked "
        f"ThruBytesReceived PktsRetrans\nC: {V4} 1700000000 1 1 1 2 3 2 1 1 1\nC: {V4} 17\n"
    )
    (folder / "unknown.txt").write_text(f"{V4} {HOSTS[V4]}\n")


def _run(arguments: list[str], var: Path, **more: str) -> bytes:
    """Run a command to its good end, and return all that it printed."""
    environment = {**os.environ, "SOJOURN_VAR": str(var), **more}
    done = subprocess.run(arguments, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, (done.stderr + done.stdout)[-5000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, bytes]:
    """Return the inputs, the folder of everything made of them, and what was printed."""
    base = tmp_path_factory.mktemp("privacy")
    folder, var = base / "inputs", base / "var"
    _write_inputs(folder)
    prefixes = base / "prefixes.csv"
    prefixes.write_text("prefix,asn,country\n93.184.0.0/16,64500,US\n2606:2800::/32,64501,DE\n")
    printed = _run([str(SOJOURN), "ingest", "--prefix-table", str(prefixes), str(folder)], var)
    return folder, var, printed + _run([str(SOJOURN), "build"], var)


def _searched(folder: Path) -> int:
    """Look for the forms in every byte and every compressed page below a folder; return how many files there are."""
    forms, searched = _forms(), 0
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            searched += 1
            assert not [form for form in forms if form in content], path
            if path.suffix == ".parquet":
                # Pages are compressed: their content is searched as well.
                text = "\n".join(map(str, pq.read_table(path).to_pylist())).encode()
                assert not [form for form in forms if form in text], path
            elif content.startswith(b"\x1f\x8b"):
                assert not [form for form in forms if form in gzip.decompress(content)], path
            elif zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    for name in archive.namelist():
                        assert not [form for form in forms if form in archive.read(name)], (path, name)
    return searched


@pytest.mark.integration
def test_no_raw_address_or_name_reaches_lake_warehouse_snapshot_or_log(built: tuple[Path, Path, bytes]) -> None:
    _, var, printed = built
    lake = Lake(var / "lake")
    key = Pseudonymiser(_key(var)).keys(V4)[0]
    rows = [row for path in lake.files("connection") for row in pq.read_table(path).to_pylist()]
    # The search below would find nothing either if nothing had been read.
    datasets = {"made-up", "m-lab-tcp-info", "m-lab-ndt7", "m-lab-sidestream", "ss"}
    assert {row["dataset"] for row in rows} == datasets
    assert {row["dataset"] for row in rows if row["client_host_key"] == key} == datasets - {"ss"}
    mine = [row for row in rows if row["client_host_key"] == key and row["dataset"] == "made-up"]
    assert {(row["asn"], row["country"], row["access_technology"]) for row in mine} == {(64500, "US", "adsl")}
    forms = _forms()
    assert not [form for form in forms if form in printed]
    assert _searched(var) > 20
    with duckdb.connect(str(var / "warehouse" / "warehouse.duckdb"), read_only=True) as warehouse:
        tables = warehouse.sql(
            "select table_schema, table_name from information_schema.tables where table_type = 'BASE TABLE'"
        ).fetchall()
        for schema, name in tables:
            text = "\n".join(map(str, warehouse.sql(f'select * from "{schema}"."{name}"').fetchall())).encode()
            assert not [form for form in forms if form in text], name


@pytest.mark.integration
def test_none_reaches_the_page_of_a_look_or_what_is_written_beside_it(
    built: tuple[Path, Path, bytes], tmp_path: Path
) -> None:
    folder, _, _ = built
    page, tables = tmp_path / "look" / "page.html", tmp_path / "look" / "tables"
    page.parent.mkdir()
    # A folder of its own, so that the look has a key of its own and nothing that an ingest kept.
    printed = _run(
        [str(SOJOURN), "look", str(folder), "--no-open", "--out", str(page), "--parquet", str(tables)], tmp_path / "own"
    )
    printed += _run([str(SOJOURN), "look", str(folder), "--json"], tmp_path / "own")
    assert b"t.web100" in page.read_bytes()
    assert not [form for form in _forms() if form in printed]
    assert _searched(tmp_path) > 3


@pytest.mark.integration
def test_none_reaches_a_publication(built: tuple[Path, Path, bytes], tmp_path: Path) -> None:
    _, var, _ = built
    printed = _run([str(SOJOURN), "publish", str(tmp_path / "site"), "--url", "https://data.example.org/made-up"], var)
    assert not [form for form in _forms() if form in printed]
    assert _searched(tmp_path / "site") > 20


@pytest.mark.integration
def test_none_is_served_or_kept_by_the_service_and_by_superset_whose_sql_lab_answers_as_duckdb(
    built: tuple[Path, Path, bytes], tmp_path: Path, repository: Path, superset_python: Path
) -> None:
    _, var, _ = built
    log = tmp_path / "served" / "api.log"
    log.parent.mkdir()
    with log.open("wb") as errors:
        server = subprocess.Popen(
            [str(SOJOURN), "serve", "--port", "0", "--access-log"],
            env={**os.environ, "SOJOURN_VAR": str(var), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split(" on ")[1].split(" ")[0]
            answers = 0
            with httpx.Client(base_url=url, timeout=120) as client:
                for dataset in client.get("/v1/datasets").json()["datasets"]:
                    name = dataset["name"]
                    rows = client.get(f"/v1/datasets/{name}/rows?limit=100000&excluded=include&format=ndjson")
                    assert rows.status_code == 200, rows.text
                    assert not [form for form in _forms() if form in rows.content], name
                    answers += bool(rows.content)
            assert answers > 5
            own = tmp_path / "superset"
            put_prepared_database(own)
            secret = "only-for-this-test-0123456789abcdef"
            superset = {
                "SOJOURN_API_URL": url, "SUPERSET_SECRET_KEY": secret, "SUPERSET_ADMIN_USER": "tester",
                "SUPERSET_ADMIN_PASSWORD": secret[::-1],
                "SUPERSET_CONFIG_PATH": str(repository / "infra" / "superset" / "superset_config.py"),
            }  # fmt: skip
            printed = _run(
                [str(superset_python), "-c", "from sojourn_superset import cli; cli.main()", "prepare", "--api", url],
                own,
                **superset,
            )
            program = Path(__file__).with_name("superset_queries.py")
            printed += _run([str(superset_python), str(program)], own, **superset)
        finally:
            server.terminate()
            server.wait(timeout=120)
    _compare_with_duckdb(printed, var / "snapshots")
    # Superset keeps what it was asked, and what it drew from.
    assert b"rows of connection" in printed
    with closing(sqlite3.connect(own / "superset" / "superset.db")) as database:
        assert database.execute("select count(*) from query").fetchone()[0] > 0
    assert not [form for form in _forms() if form in printed]
    assert _searched(tmp_path) > 2


def _compare_with_duckdb(printed: bytes, snapshots: Path) -> None:
    """Compare what SQL Lab answered with the same statements in DuckDB over the snapshot, names of columns included."""
    (line,) = [line for line in printed.decode().splitlines() if line.startswith("answers: ")]
    (snapshot,) = [path for path in snapshots.iterdir() if path.is_dir()]
    answers = json.loads(line.removeprefix("answers: "))
    with duckdb.connect() as connection:
        for path in snapshot.glob("*.parquet"):
            connection.execute(f"create view {path.stem} as from read_parquet('{path}')")
        for statement, (names, rows) in zip(STATEMENTS, answers, strict=True):
            expected = connection.sql(statement)
            columns = [column.replace("count_star()", "count(*)").lower() for column in expected.columns]
            assert [name.lower() for name in names] == columns, statement
            assert [tuple(row) for row in rows] == [pytest.approx(row) for row in expected.fetchall()], statement


def _holding(var: Path, key: str) -> list[str]:
    """Return the files, and the tables of the warehouse, in which a host key is."""
    places = []
    for path in sorted(var.rglob("*")):
        if path.is_file() and path.name != "secrets.env":
            content = path.read_bytes()
            if path.suffix == ".parquet":
                content += str(pq.read_table(path).to_pylist()).encode()
            elif content.startswith(b"\x1f\x8b"):
                content += gzip.decompress(content)
            if key.encode() in content:
                places.append(str(path.relative_to(var)))
    with duckdb.connect(str(var / "warehouse" / "warehouse.duckdb"), read_only=True) as warehouse:
        tables = warehouse.sql(
            "select table_schema, table_name from information_schema.tables where table_type = 'BASE TABLE'"
        ).fetchall()
        for schema, name in tables:
            if key in str(warehouse.sql(f'select * from "{schema}"."{name}"').fetchall()):
                places.append(f"{schema}.{name}")
    return places


@pytest.mark.integration
@pytest.mark.long
def test_after_the_next_build_a_forgotten_host_is_nowhere(tmp_path: Path) -> None:
    folder, var = tmp_path / "inputs", tmp_path / "var"
    _write_inputs(folder)
    (folder / "c.pcap").write_bytes(capture_of(V4, list(HOSTS)[1], 1_700_000_000))
    for command in (["ingest", str(folder)], ["build"]):
        _run([str(SOJOURN), *command], var)
    key = Pseudonymiser(_key(var)).keys(V4)[0]
    held = _holding(var, key)
    assert [name for name in held if name.startswith("lake/")]
    assert [name for name in held if name.startswith("intermediate.")]
    _run([str(SOJOURN), "maintain", "compact"], var)
    assert [name for name in _holding(var, key) if "compacted-" in name]
    _run([str(SOJOURN), "forget", V4, "--yes"], var)
    assert [name for name in _holding(var, key) if name.startswith(("lake/", "lake-cache/"))] == []
    _run([str(SOJOURN), "build"], var)
    assert _holding(var, key) == []


def _key(var: Path) -> bytes:
    settings = dict(line.split("=", 1) for line in (var / "secrets.env").read_text().splitlines() if "=" in line)
    return settings["SOJOURN_ADDRESS_KEY"].encode()
