"""Several hosts forgotten at once, in a folder and in an object store, from tables and from recordings."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap
from connection_tables import host_lines, host_start_ns, write_hosts
from typer.testing import CliRunner

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.cli import application
from sojourn_ingest.lake import Lake, Storage, find, forget, open_storage
from sojourn_ingest.lake.purge import host_key_columns
from sojourn_ingest.schema import TABLES
from sojourn_ingest.session import IngestSession, files_below

FIRST, SECOND, OTHER, SERVER = "8.8.8.8", "8.8.4.4", "9.9.9.9", "1.1.1.1"
KEY = b"key"


@pytest.fixture(params=["folder", "object store"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, uri: str) -> Storage:
    return open_storage(tmp_path / "lake") if request.param == "folder" else open_storage(uri, tmp_path / "cache")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with a table and a recording in two files, in which three hosts send to a server."""
    folder = tmp_path / "data"
    folder.mkdir()
    write_hosts(folder, FIRST, SECOND, OTHER, FIRST)
    for number, name in enumerate(("c.pcap", "c.pcap1")):
        frames = [udp_frame(b"%d %d" % (number, n), (host, 1000), (SERVER, 53))
                  for n, host in enumerate((FIRST, OTHER, SECOND, OTHER, FIRST))]  # fmt: skip
        write_pcap(folder / name, frames, 1_700_000_000 * 10**9 + number * 5 * 10**8, 10**8)
    return folder


def key_of(host: str) -> str:
    return Pseudonymiser(KEY).keys(host)[0]


def everything(storage: Storage) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every object of every table, whether a commit names it or not."""
    return {
        table: [
            row
            for name in storage.names(f"data/{table}")
            for row in pq.read_table(storage.local(name)).to_pylist()
        ]
        for table in TABLES
    }  # fmt: skip


def hosts_in(rows: dict[str, list[dict[str, Any]]]) -> set[str]:
    named = {row[column] for table in TABLES for column in host_key_columns(table) for row in rows[table]}
    return named - {None}


def test_a_list_of_hosts_goes_from_tables_and_recordings(storage: Storage, data: Path, tmp_path: Path) -> None:
    lake = Lake(storage)
    with lake.writing():
        IngestSession(lake, Pseudonymiser(KEY), packets=True).run(files_below([data]), lambda _: None)
    before = everything(storage)
    keys = {host: key_of(host) for host in (FIRST, SECOND, OTHER, SERVER)}
    assert hosts_in(before) == set(keys.values())
    assert {table: len(rows) for table, rows in before.items() if table in ("flow", "packet", "connection")} == {
        "flow": 3, "packet": 10, "connection": 4,
    }  # fmt: skip
    with lake.writing():
        forget(lake, find(lake, {keys[FIRST], keys[SECOND]}))
    after = everything(storage)
    assert hosts_in(after) == {keys[OTHER], keys[SERVER]}
    (flow,) = after["flow"]
    assert {row["flow_id"] for table in ("packet", "flow_interval") for row in after[table]} == {flow["flow_id"]}
    assert len(after["packet"]) == flow["fwd_packets"] == 4
    assert [row["start_ns"] for row in after["connection"]] == [host_start_ns(3)]
    # Both files of the recording, the description and the table keep their outcomes.
    assert {Path(row["source_path"]).name for row in after["ingest_outcome"]} == {
        "c.pcap", "c.pcap1", "c.pcap+continued", "made-up.yaml", "t.csv",
    }  # fmt: skip
    again = Lake(storage)
    assert again.fingerprint() == lake.fingerprint()
    # What is left is known, and not read again.
    with again.writing():
        IngestSession(again, Pseudonymiser(KEY), packets=True).run(files_below([data]), lambda _: None)
    assert again.fingerprint() == lake.fingerprint()


def test_the_command_on_a_lake_in_an_object_store(
    uri: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_LAKE", uri)
    app, var = application(), tmp_path / "var"
    assert CliRunner().invoke(app, ["ingest", str(data), "--var", str(var)]).exit_code == 0
    assert len(everything(open_storage(uri, tmp_path / "before"))["connection"]) == 4
    for host in (FIRST, SECOND):
        done = CliRunner().invoke(app, ["forget", host, "--yes", "--var", str(var)])
        assert done.exit_code == 0, done.output
    left = everything(open_storage(uri, tmp_path / "after"))
    assert len(left["connection"]) == len(left["flow"]) == 1
    assert len(hosts_in(left)) == 2
    # Copies that this machine had fetched are gone too.
    assert not list((var / "lake-cache").rglob("*.parquet"))
    (data / "t.csv").write_text("start,host\n" + host_lines(5, FIRST, SECOND, OTHER))
    assert CliRunner().invoke(app, ["ingest", str(data), "--var", str(var)]).exit_code == 0
    left = everything(open_storage(uri, tmp_path / "later"))
    # The object of the table's former content may still lie there, until the next writer removes it.
    assert {row["start_ns"] for row in left["connection"]} <= {host_start_ns(3), host_start_ns(7)}
    assert host_start_ns(7) in {row["start_ns"] for row in left["connection"]}
