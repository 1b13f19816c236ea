"""Sources in an object store are read as files are: same facts, same outcomes, same rules."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from captures import udp_frame, write_pcap
from connection_tables import write_tables
from remote_folders import Bucket, put_folder
from typer.testing import CliRunner, Result

from sojourn_ingest.cli import application
from sojourn_ingest.lake import Commit, Lake
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.remote import RemotePath, as_path, copies, listing
from sojourn_ingest.remote.object_store import ObjectSources
from sojourn_ingest.remote.store import Fetched
from sojourn_ingest.schema import TABLES
from sojourn_ingest.session.repair import _state_of

START_NS = 1_700_000_000 * 10**9
#: Columns that say where and when something was read, not what it is.
OF_THE_ATTEMPT = {"modified_ns", "started_ns", "duration_ms"}


@pytest.fixture
def bucket(uri: str) -> Bucket:
    return Bucket(uri.replace("/lake", "/captures"))


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Copies go into a folder of the test, which is empty in the end, and no file of it is open."""
    folder = tmp_path / "copies"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
    assert [link for link in map(_target, list(Path("/proc/self/fd").iterdir())) if str(folder) in link] == []


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


def sojourn(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application(), [str(argument) for argument in arguments])


def same_key(one: Path, other: Path) -> tuple[Path, Path]:
    """Return two folders of an installation whose addresses become the same hashes."""
    assert sojourn("secrets", "--var", one).exit_code == 0
    other.mkdir()
    shutil.copy(one / "secrets.env", other)
    return one, other


def ingest(var: Path, *arguments: str | Path) -> Result:
    done = sojourn("ingest", *arguments, "--var", var)
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def live(var: Path) -> dict[str, Commit]:
    return {commit.source_path.rpartition("/")[2]: commit for commit in Lake(var / "lake").live()}


def facts(var: Path, prefix: str) -> dict[str, list[str]]:
    """Return all rows of a lake, with paths as they are below the folder that was ingested."""
    lake = Lake(var / "lake")
    rows_of_table = {}
    with duckdb.connect() as connection:
        for name, table in TABLES.items():
            rows: list[dict[str, Any]] = connection.sql(live_rows_sql(table, lake)).to_arrow_table().to_pylist()
            rows_of_table[name] = sorted(
                str({key: value for key, value in row.items() if key not in OF_THE_ATTEMPT}).replace(prefix, "")
                for row in rows
            )
    return rows_of_table


def capture(path: Path, number: int, packets: int = 10) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frames = [udp_frame(f"{number} {n}".encode()) for n in range(packets)]
    write_pcap(path, frames, START_NS + number * packets * 10**8, 10**8)


@pytest.fixture
def inputs(tmp_path: Path, sample: Path) -> Path:
    """Return a folder with a run, rotated captures, tables with their description, copies and damage."""
    folder = tmp_path / "inputs"
    run = next(path for path in sorted(sample.iterdir()) if path.is_dir())
    shutil.copytree(run, folder / "runs" / run.name)
    for number in range(3):
        capture(folder / "rotated" / f"t.pcap{number or ''}", number)
    capture(folder / "copy of one" / "c #1%é.pcap", 50)
    capture(folder / "a.pcap", 50)
    (folder / "a.pcap.gz").write_bytes(gzip.compress((folder / "rotated" / "t.pcap").read_bytes()[:-20]))
    (folder / "notes.txt").write_text("text of no known format")
    (folder / "empty.pcap").write_bytes(b"")
    (folder / ".hidden").mkdir()
    capture(folder / ".hidden" / "h.pcap", 60)
    capture(folder / "rotated" / ".h.pcap", 61)
    (folder / "tables").mkdir()
    write_tables(folder / "tables", 400)
    return folder


def test_a_store_gives_the_facts_and_outcomes_of_the_same_files(bucket: Bucket, inputs: Path, tmp_path: Path) -> None:
    put_folder(bucket, inputs)
    there, here = same_key(tmp_path / "there", tmp_path / "here")
    # One at a time, so that of two copies the same one is the first in both.
    shown = ingest(there, bucket.uri, "--workers", "1")
    ingest(here, inputs, "--workers", "1")
    prefix = str(as_path(bucket.uri))
    of_store, of_files = facts(there, prefix), facts(here, str(inputs))
    assert {name: len(rows) for name, rows in of_store.items() if rows != of_files[name]} == {}
    assert len(of_store["flow"]) > 3
    assert len(of_store["capture_pair"]) == 1
    assert len(of_store["connection"]) > 300
    assert "text of no known format" in shown.output
    assert len(live(there)["t.pcap+continued"].parts) == 3

    # Nothing has changed: nothing is fetched, and nothing is committed but what is looked at in any case.
    again = ingest(there, f"{bucket.uri}/", "--workers", "1")
    assert "new" not in re.sub(r"\d+ new or changed", "", again.output)
    assert facts(there, prefix) == of_store

    bucket.put("a.pcap", (inputs / "rotated" / "t.pcap1").read_bytes()[:-3])
    bucket.delete("notes.txt")
    capture(inputs / "rotated" / "t.pcap3", 3)
    bucket.put("rotated/t.pcap3", (inputs / "rotated" / "t.pcap3").read_bytes())
    ingest(there, bucket.uri)
    later = live(there)
    assert len(later["t.pcap+continued"].parts) == 4
    # What was in its place stays for the copy, which refers to it.
    of_name = [commit for commit in Lake(there / "lake").live() if commit.source_path.endswith("/captures/a.pcap")]
    assert "partial" in {commit.status for commit in of_name}
    # As of a file that is gone, what was recorded stays.
    assert later["notes.txt"].status == "rejected"


def test_what_is_unchanged_is_not_fetched_and_joins_what_comes_later(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, var = tmp_path / "in", tmp_path / "var"
    for number in range(3):
        capture(folder / f"t.pcap{number or ''}", number)
    # Names that continue one another, and times that do not.
    capture(folder / "u.pcap", 10)
    capture(folder / "u.pcap1", 900_000)
    put_folder(bucket, folder)
    fetched: list[str] = []
    fetch = copies.fetch

    def noted(path: RemotePath, *rest: Any) -> Any:
        fetched.append(path.name)
        return fetch(path, *rest)

    monkeypatch.setattr(copies, "fetch", noted)
    ingest(var, bucket.uri)
    # Once to see what continues what, once to read it.
    assert sorted(fetched) == sorted(2 * ["t.pcap", "t.pcap1", "t.pcap2", "u.pcap", "u.pcap1"])
    fetched.clear()
    assert "unchanged" in ingest(var, bucket.uri).output
    assert fetched == []
    capture(folder / "t.pcap3", 3)
    bucket.put("t.pcap3", (folder / "t.pcap3").read_bytes())
    ingest(var, f"{bucket.uri}/t.pcap3")
    assert len(live(var)["t.pcap+continued"].parts) == 4
    assert not {name for name in fetched if name.startswith("u.")}


def test_one_object_and_one_folder_are_paths_too_and_schemes_of_a_store_are_one(bucket: Bucket, tmp_path: Path) -> None:
    capture(tmp_path / "a.pcap", 1)
    for name in ("one/a.pcap", "one-more/a.pcap"):
        bucket.put(name, (tmp_path / "a.pcap").read_bytes())
    # What some tools make for a folder is not a file.
    bucket.client.put_object(Bucket=bucket.bucket, Key=f"{bucket.prefix}/one/", Body=b"")
    var = tmp_path / "var"
    ingest(var, f"{bucket.uri}/one")
    (commit,) = Lake(var / "lake").live()
    assert commit.source_path == f"s3://{bucket.bucket}/captures/one/a.pcap"
    assert "unchanged" in ingest(var, f"{bucket.uri}/one/a.pcap".replace("s3a:", "s3:")).output
    assert len(Lake(var / "lake").live()) == 1
    assert "duplicate" in ingest(var, (tmp_path / "a.pcap").as_uri()).output


def test_a_dry_run_fetches_heads_and_writes_nothing(bucket: Bucket, inputs: Path, tmp_path: Path) -> None:
    put_folder(bucket, inputs)
    done = ingest(tmp_path / "var", bucket.uri, "--dry-run")
    assert "part of t.pcap+continued" in done.output
    assert "rejected, empty" in done.output
    assert "connection_table:in-parts/connections" in done.output
    assert not (tmp_path / "var" / "lake").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [(lambda folder: folder.delete("a.pcap"), "unreadable"), (lambda folder: folder.put("a.pcap", b""), "empty")],
)
def test_what_goes_or_changes_between_listing_and_reading_is_an_outcome(
    bucket: Bucket, change: Callable[[Bucket], None], reason: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    capture(tmp_path / "a.pcap", 1)
    bucket.put("a.pcap", (tmp_path / "a.pcap").read_bytes())
    fetch = copies.fetch

    def fetch_after(*arguments: Any) -> Any:
        change(bucket)
        return fetch(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(copies, "fetch", fetch_after)
        sojourn("ingest", bucket.uri, "--var", tmp_path / "var")
    (commit,) = Lake(tmp_path / "var" / "lake").live()
    assert (commit.status, commit.reason) == ("rejected", reason)
    bucket.put("a.pcap", (tmp_path / "a.pcap").read_bytes())
    ingest(tmp_path / "var", bucket.uri)
    (commit,) = Lake(tmp_path / "var" / "lake").live()
    assert commit.status == "ok"


def test_an_object_that_changes_while_it_is_copied_gives_facts_of_one_version(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(tmp_path / "a.pcap", 1, packets=30_000)
    capture(tmp_path / "b.pcap", 2, packets=7)
    bucket.put("a.pcap", (tmp_path / "a.pcap").read_bytes())
    fetch = ObjectSources.fetch

    def fetch_and_change(self: Any, path: RemotePath) -> Fetched:
        state, pieces = fetch(self, path)

        def changed() -> Iterator[bytes]:
            yield next(pieces)
            time.sleep(0.01)
            bucket.put("a.pcap", (tmp_path / "b.pcap").read_bytes())
            yield from pieces

        return Fetched(state, changed())

    with monkeypatch.context() as patch:
        patch.setattr(ObjectSources, "fetch", fetch_and_change)
        sojourn("ingest", bucket.uri, "--var", tmp_path / "var")
    (commit,) = Lake(tmp_path / "var" / "lake").live()
    # One answer of the store is of one version, and that is what is recorded.
    assert (commit.status, commit.records_read) == ("ok", 30_000)
    assert commit.size_bytes == (tmp_path / "a.pcap").stat().st_size
    ingest(tmp_path / "var", bucket.uri)
    (commit,) = Lake(tmp_path / "var" / "lake").live()
    assert (commit.status, commit.records_read) == ("ok", 7)


def test_batches_are_of_whole_folders_and_of_all_objects(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{folder}{n}" for folder in ("", "a/", "a/b/", "a/b/c/", "a!/", "b/") for n in range(5)]
    for name in names:
        bucket.put(name, b"x")
    source = as_path(bucket.uri)
    assert isinstance(source, RemotePath)
    batches = list(listing.remote_batches([source], batch_objects=6))
    assert sorted(str(path.relative_to(source)) for batch in batches for path in batch) == sorted(names)
    assert len(batches) >= 3
    folders = [{path.parent for path in batch} for batch in batches]
    assert sum(map(len, folders)) == len(set().union(*folders)) == 6


def test_an_ingest_in_batches_keeps_what_describes_all(bucket: Bucket, inputs: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    # The description lies in the last folder, the tables before it.
    (inputs / "tables" / "in-parts.yaml").rename(inputs / "zz.yaml")
    put_folder(bucket, inputs)
    monkeypatch.setattr(listing.remote_batches, "__defaults__", (3,))
    there, here = same_key(tmp_path / "there", tmp_path / "here")
    ingest(there, bucket.uri, "--workers", "1")
    ingest(here, inputs, "--workers", "1")
    of_store, of_files = facts(there, str(as_path(bucket.uri))), facts(here, str(inputs))
    differing = {name for name, rows in of_store.items() if rows != of_files[name]}
    # A copy of a file of another batch is one of its facts' holder; which is the holder depends on the order.
    assert differing <= {"ingest_outcome", "flow", "flow_interval"}
    assert len(of_store["connection"]) == len(of_files["connection"]) > 300


def test_a_kill_leaves_no_copy_and_the_same_command_completes_the_rest(
    bucket: Bucket, tmp_path: Path, nothing_is_left: Path
) -> None:
    for number in range(12):
        capture(tmp_path / "in" / f"{'abcdefghijkl'[number]}.pcap", number, packets=2000)
    put_folder(bucket, tmp_path / "in")
    var = tmp_path / "var"
    killer = (
        "import os, sys\nfrom sojourn_ingest.session.content_attempts import ContentAttempts as C\n"
        "read, seen = C.read, []\n"
        "def killed(*a):\n    seen.append(1)\n    return read(*a) if len(seen) < 5 else os.kill(os.getpid(), 9)\n"
        "C.read = killed\nfrom sojourn_ingest.cli import main\nmain()\n"
    )
    command = [sys.executable, "-c", killer, "ingest", bucket.uri, "--var", str(var), "--workers", "2"]
    done = subprocess.run(command, env={**os.environ, "TMPDIR": str(nothing_is_left)}, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert list(nothing_is_left.iterdir()) == []
    assert 0 < len(Lake(var / "lake").live()) < 12
    ingest(var, bucket.uri)
    assert len(Lake(var / "lake").live()) == 12


def refused(*arguments: str | Path) -> str:
    """Return the one line with which a command ends."""
    done = subprocess.run(
        [sys.executable, "-m", "sojourn_ingest.cli", "ingest", *map(str, arguments)],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "250"},
    )  # fmt: skip
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "rror" in line]
    return line


def test_what_cannot_be_used_is_said_in_one_line(
    bucket: Bucket, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    var = ("--var", tmp_path / "var")
    assert "there is no such bucket" in refused("s3a://no-such-bucket-here/captures", *var)
    assert "no such object or folder" in refused(f"{bucket.uri}/nothing", *var)
    assert "needs local files" in refused(bucket.uri, "--root", tmp_path, *var)
    bucket.client.put_object(Bucket=bucket.bucket, Key="odd//name", Body=b"x")
    assert "rename the object" in refused(f"s3://{bucket.bucket}/odd", *var)
    assert "lacks the bucket" in refused("s3:///captures", *var)
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", "")
        assert "is not a URL" in refused(bucket.uri, *var)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    assert "no credentials; set those of the store" in refused(bucket.uri, *var)


def test_where_access_is_denied_it_says_so(bucket: Bucket, endpoint: str, tmp_path: Path) -> None:
    import boto3
    import requests

    bucket.put("a.pcap", b"x")
    iam = boto3.client("iam", region_name="us-east-1", endpoint_url=endpoint)
    iam.create_user(UserName="nobody")
    key = iam.create_access_key(UserName="nobody")["AccessKey"]
    environment = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        # From now on the server asks whether a user may do what it asks for.
        requests.post(f"{endpoint}/moto-api/reset-auth", data=b"0", timeout=10).raise_for_status()
        try:
            assert "access is denied" in refused(bucket.uri, "--var", tmp_path / "var")
        finally:
            requests.post(f"{endpoint}/moto-api/reset-auth", data=b"Infinity", timeout=10)


def test_a_copy_that_does_not_fit_ends_the_ingest_and_records_nothing(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(tmp_path / "a.pcap", 1)
    bucket.put("a.pcap", (tmp_path / "a.pcap").read_bytes())
    monkeypatch.setattr(copies, "free_bytes", lambda _: 1000)
    done = sojourn("ingest", bucket.uri, "--var", tmp_path / "var")
    assert "does not fit into" in str(done.exception)
    assert Lake(tmp_path / "var" / "lake").live() == []


def test_the_estimate_counts_copies(bucket: Bucket, tmp_path: Path) -> None:
    for name, size in (("a.txt", 3_000_000), ("b.txt", 2_000_000), ("c.txt", 1_000_000)):
        bucket.put(name, b"x" * size)
    done = sojourn("ingest", bucket.uri, "--var", tmp_path / "var", "--workers", "2")
    # 6 MB of plain text, and copies of the two largest.
    needed = 6e6 * 1.5 + 3 * 16_000 + 5e6
    assert f"ingest of 3 new or changed files of 6.0 MB needs about {needed / 1e6:.1f} MB" in done.output


def test_a_repair_finds_sources_in_a_store(bucket: Bucket, tmp_path: Path) -> None:
    capture(tmp_path / "a.pcap", 1)
    bucket.put("a.pcap", (tmp_path / "a.pcap").read_bytes())
    ingest(tmp_path / "var", bucket.uri)
    (commit,) = Lake(tmp_path / "var" / "lake").live()
    path = as_path(commit.source_path)
    assert _state_of(path, commit.content_hash) == "same"
    bucket.put("a.pcap", b"other")
    assert _state_of(path, commit.content_hash) == "changed"
    bucket.delete("a.pcap")
    assert _state_of(path, commit.content_hash) == "gone"
